"""Whole builds on small corpora: accounts, reuse, worker counts, mistakes."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
import zstandard

from seamount.core import lineage
from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.build import CorpusRef, CorpusRequest, build_corpus
from seamount.corpora.text.manifest import load_manifest
from seamount.corpora.text.split import SPLITS, read_split


def sentence(random: Random) -> str:
    return " ".join(f"w{random.randrange(5_000)}" for _ in range(random.randint(5, 12)))


def text(random: Random, sentences: int) -> str:
    return "".join(f"{sentence(random)}.\n" for _ in range(sentences))


def make_source(folder: Path, files: int = 4, documents: int = 40, seed: int = 0) -> Path:
    """Some components; 4 documents a file are exact copies, 4 near copies, 2 are empty."""
    random = Random(seed)
    pool = [text(random, random.randint(4, 12)) for _ in range(30)]
    for number in range(files):
        rows = []
        for n in range(documents):
            body = text(random, random.randint(2, 20))
            near = f"{pool[(n - 1) % 30]}one more line in {number}\n"
            body = {0: pool[n % 30], 1: near, 2: " \n"}.get(n % 10, body)
            component = ("Github", "ArXiv", "My Notes")[random.randrange(3)]
            rows.append(Document(body, component, f"{number}-{n}", ""))
        jsonl_zst.write_documents(str(folder / f"{number:02d}.jsonl.zst"), rows)
    return folder


def build(source: Path | str, out: Path, **options: Any) -> CorpusRef:
    return build_corpus(CorpusRequest((str(source),), str(out), **options))


def digests(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def documents(out: Path) -> dict[str, list[Document]]:
    return {name: list(read_split(str(out), name)) for name in SPLITS}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def corpus(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built") / "corpus"
    build(source, out, shard_bytes=20_000, test_share=0.05, val_share=0.05)
    return out


def test_only_final_files_stand(corpus: Path) -> None:
    names = set(digests(corpus))
    shards = {n for n in names if n.endswith(".zst")}
    assert names - shards == {
        "manifest.json",
        "documents.parquet",
        "duplicates.parquet",
        "lineage.json",
    }
    assert all(re.fullmatch(r"train/\d\d\.jsonl\.zst|(val|test)\.jsonl\.zst", n) for n in shards)
    assert len(shards) > 4


def test_every_document_is_accounted_for(source: Path, corpus: Path) -> None:
    content = load_manifest(str(corpus))
    rows = content["ledger"]["inputs"]
    assert [r["in"]["documents"] for r in rows] == [40] * 4
    for row in [*rows, content["ledger"]["total"]]:
        for unit in ("documents", "bytes"):
            gone = [*row["dropped"].values(), *row["duplicates"].values()]
            rest = row["kept"][unit] + row["quarantined"][unit] + sum(p[unit] for p in gone)
            rest += row["normalisation_bytes"] if unit == "bytes" else 0
            assert rest == row["in"][unit]
    total = content["ledger"]["total"]
    assert total["dropped"]["empty"]["documents"] == 16
    assert total["duplicates"]["exact"]["documents"] >= 12
    assert total["duplicates"]["near"]["documents"] >= 4
    assert [r["sha256"] for r in rows] == [
        hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(source.glob("*.zst"))
    ]


def test_shards_are_what_the_manifest_says(corpus: Path) -> None:
    """Read by the zstandard library and json, not by the project's reader."""
    content = load_manifest(str(corpus))
    rows = pq.read_table(corpus / "documents.parquet").to_pylist()
    seen = []
    for shard in content["shards"]:
        raw = (corpus / shard["path"]).read_bytes()
        assert hashlib.sha256(raw).hexdigest() == shard["sha256"]
        assert len(raw) == shard["size_bytes"]
        lines = zstandard.ZstdDecompressor().stream_reader(raw).read().decode().splitlines()
        records = [json.loads(line) for line in lines]
        assert len(records) == shard["documents"]
        assert sum(len(r["text"].encode()) for r in records) == shard["bytes"]
        seen += [(shard["path"], n + 1, r["meta"]["id"]) for n, r in enumerate(records)]
    assert [(r["shard"], r["line"], r["id"]) for r in rows] == seen
    assert content["documents"] == len(seen) == len({i for _, _, i in seen})
    assert lineage.read(str(corpus)).digest == content["digest"]


def test_no_copy_is_left_and_none_crosses_the_cut(corpus: Path) -> None:
    by_split = documents(corpus)
    everything = [(d, s) for s, ds in by_split.items() for d in ds]
    sets = [
        (frozenset(zip(w, w[1:], w[2:], w[3:], w[4:], strict=False)), s)
        for w, s in ((d.text.split(), s) for d, s in everything)
    ]
    for n, (left, one) in enumerate(sets):
        for right, other in sets[:n]:
            similarity = len(left & right) / max(1, len(left | right))
            assert similarity < 0.8
            assert one == other or similarity < 0.6


def test_each_component_is_in_each_split(corpus: Path) -> None:
    for name, found in documents(corpus).items():
        assert {d.component for d in found} == {"Github", "ArXiv", "My Notes"}, name


def test_shuffled_over_the_shards(corpus: Path) -> None:
    first = [d.id.split("-")[0] for d in documents(corpus)["train"]][:40]
    assert len(set(first)) == 4 and first != sorted(first)


@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_worker_count_changes_no_byte(
    workers: int, source: Path, corpus: Path, tmp_path: Path
) -> None:
    build(
        source, tmp_path / "c", shard_bytes=20_000, test_share=0.05, val_share=0.05, workers=workers
    )
    assert digests(tmp_path / "c") == digests(corpus)


def test_unchanged_corpus_is_reused(source: Path, corpus: Path, tmp_path: Path, caplog) -> None:  # type: ignore[no-untyped-def]
    caplog.set_level("INFO")
    mine, out = tmp_path / "source", tmp_path / "c"
    shutil.copytree(source, mine)
    first = build(mine, out)
    assert not first.reused and first.shards_read == 4
    again = build(mine, out)
    assert again == replace(first, reused=True, shards_read=0, stages={})
    assert "0 shards read" in caplog.text
    for path in mine.iterdir():
        path.touch()
    assert build(mine, out).reused  # the times changed, the content did not
    extra = [Document("something quite new", "Github", "new", "")]
    jsonl_zst.write_documents(str(mine / "01.jsonl.zst"), extra)
    changed = build(mine, out)
    assert not changed.reused and changed.digest != first.digest
    assert build(mine, out, seed=1).digest != changed.digest
    (out / "val.jsonl.zst").write_bytes(b"")
    assert not build(mine, out, seed=1).reused  # a shard is not as it was


def test_a_smaller_corpus_leaves_no_shard_of_the_larger(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "c"
    build(source, out, shard_bytes=5_000)
    many = len(list(out.glob("train/*")))
    build(source, out, shard_bytes=100_000)
    assert len(list(out.glob("train/*"))) < many
    listed = {s["path"] for s in load_manifest(str(out))["shards"]}
    assert {str(p.relative_to(out)) for p in out.rglob("*.zst")} == listed


def test_any_url_and_several_sources(source: Path, corpus: Path, tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    for path in source.glob("0[01]*"):
        memory.pipe(f"/in/{source.name}/{path.name}", path.read_bytes())
    rest = tmp_path / source.name
    rest.mkdir()
    for path in source.glob("0[23]*"):
        shutil.copy(path, rest)
    request = CorpusRequest(
        (f"memory://in/{source.name}", str(rest)),
        "memory://out/corpus",
        shard_bytes=20_000,
        test_share=0.05,
        val_share=0.05,
    )
    build_corpus(request)
    content = load_manifest("memory://out/corpus")
    shards = {s["path"]: s["sha256"] for s in content["shards"]}
    assert shards == {s["path"]: s["sha256"] for s in load_manifest(str(corpus))["shards"]}
    assert sum(1 for _ in read_split("memory://out/corpus", "val")) > 0
    assert build_corpus(request).reused
    assert not memory.find("/out/corpus/.work")


def test_damaged_lines_are_quarantined_with_their_place(source: Path, tmp_path: Path) -> None:
    mine = tmp_path / "in"
    shutil.copytree(source, mine)
    frame = zstandard.ZstdCompressor().compress(b'{"text": "fine and well"}\nnot json\n{"a": 1}\n')
    (mine / "bad.jsonl.zst").write_bytes(frame)
    build(mine, tmp_path / "c")
    found = json.loads((tmp_path / "c/quarantine.json").read_text())
    assert [(f["input"], f["line"], f["bytes"]) for f in found] == [
        ("in/bad", 2, 9),
        ("in/bad", 3, 9),
    ]
    assert found[0]["file"] == str(mine / "bad.jsonl.zst")
    content = load_manifest(str(tmp_path / "c"))
    assert content["quarantined"] == 2
    assert content["components"]["unknown"]["documents"] == 1


def test_a_broken_file_stops_the_build_or_is_counted(source: Path, tmp_path: Path) -> None:
    mine = tmp_path / "in"
    shutil.copytree(source, mine)
    whole = (mine / "02.jsonl.zst").read_bytes()
    (mine / "02.jsonl.zst").write_bytes(whole[:-5])
    with pytest.raises(CorruptData, match=r"02.jsonl.zst is cut short"):
        build(mine, tmp_path / "c")
    assert [p.name for p in (tmp_path / "c").iterdir()] == [".work"]
    build(mine, tmp_path / "c", allow_broken=True)
    row = load_manifest(str(tmp_path / "c"))["ledger"]["inputs"][2]
    assert "cut short" in row["error"]


def test_dropped_documents_can_be_kept(source: Path, tmp_path: Path) -> None:
    build(source, tmp_path / "c", keep_dropped=True, max_bytes=30_000)
    total = load_manifest(str(tmp_path / "c"))["ledger"]["total"]
    found: Counter[str] = Counter()
    for path in (tmp_path / "c/dropped").iterdir():
        for line in gzip.decompress(path.read_bytes()).splitlines():
            found[json.loads(line)["meta"]["dropped"]] += 1
    wanted = {reason: part["documents"] for reason, part in total["dropped"].items()}
    wanted |= {f"{kind} duplicate": p["documents"] for kind, p in total["duplicates"].items()}
    assert dict(found) == wanted
    assert "mixture: beyond the component's share" in wanted
    assert not list((tmp_path / "c/dropped").glob("*.zst"))


def catalog(path: Path, **changes: Any) -> str:
    components = {
        "Github": {"weight": 2, "epochs": 2, "synonyms": ["My Notes"]},
        "ArXiv": {"weight": 1, "priority": 5},
    }
    content = {"name": "mine", "components": components, **changes}
    path.write_text(yaml.safe_dump(content))
    return str(path)


def test_weights_are_met_in_bytes_with_repeats(source: Path, tmp_path: Path) -> None:
    named = catalog(tmp_path / "c.yaml")
    build(source, tmp_path / "c", catalog=named, test_share=0.03)
    content = load_manifest(str(tmp_path / "c"))
    assert set(content["components"]) == {"Github", "ArXiv"}  # My Notes is a synonym
    for part in content["mixture"].values():
        assert part["achieved_share"] == pytest.approx(part["weight"], abs=0.01)
        assert 0 <= part["wanted_bytes"] - part["achieved_bytes"] < 3_000
    everything = documents(tmp_path / "c")
    held_out = {d.id for name in ("val", "test") for d in everything[name]}
    assert not any("#" in i for i in held_out)
    assert not held_out & {d.id.split("#")[0] for d in everything["train"]}


def test_repeats_are_counted_apart(source: Path, tmp_path: Path) -> None:
    components = {"Github": {"weight": 9, "epochs": 3}, "ArXiv": {"weight": 1}}
    named = catalog(tmp_path / "c.yaml", components=components, unknown_components="drop")
    build(source, tmp_path / "c", catalog=named)
    content = load_manifest(str(tmp_path / "c"))
    copies = content["copies"]["documents"]
    assert copies > 0
    assert content["documents"] == content["ledger"]["total"]["kept"]["documents"] + copies
    assert "component not in catalog" in content["ledger"]["total"]["dropped"]
    train = documents(tmp_path / "c")["train"]
    twice = [d for d in train if d.id.endswith("#2")]
    firsts = {d.id: d.text for d in train}
    assert twice and all(firsts[d.id.removesuffix("#2")] == d.text for d in twice)


def test_survivor_is_of_the_first_component_by_priority(tmp_path: Path) -> None:
    body = text(Random(1), 9)
    rows = [
        Document(body, "Github", "a", ""),
        Document(body, "ArXiv", "z", ""),
        Document(text(Random(2), 9), "Github", "b", ""),
    ]
    (tmp_path / "in").mkdir()
    jsonl_zst.write_documents(str(tmp_path / "in/a.jsonl.zst"), rows)
    named = catalog(tmp_path / "c.yaml", mixture="natural")
    build(tmp_path / "in", tmp_path / "c", catalog=named)
    found = {d.id for ds in documents(tmp_path / "c").values() for d in ds}
    assert found == {"z", "b"}
    build(tmp_path / "in", tmp_path / "c", catalog=named, dedupe="none")
    assert sum(len(ds) for ds in documents(tmp_path / "c").values()) == 3


def test_mistakes_are_one_clear_sentence(source: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "c"
    with pytest.raises(UserError, match="did you mean 'Github'"):
        components = {"Github": {"weight": 1}, "ArXiv": {"weight": 1}}
        rows = [Document("a text", "Githib", "a", "")]
        (tmp_path / "in").mkdir()
        jsonl_zst.write_documents(str(tmp_path / "in/a.jsonl.zst"), rows)
        named = catalog(tmp_path / "c.yaml", components=components)
        build(tmp_path / "in", out, catalog=named)
    with pytest.raises(UserError, match="nothing stands at '/absent'"):
        build("/absent", out)
    with pytest.raises(UserError, match=r"no \*.jsonl.zst, .* file below"):
        build(Path(__file__).parent, tmp_path / "d")
    with pytest.raises(UserError, match="matches 'pyle'"):
        build(source, out, catalog="pyle")
    with pytest.raises(UserError, match=r"is the source .* or lies in it"):
        build(source, source)
    with pytest.raises(UserError, match="or lies in it"):
        build(source, source / "corpus")
    with pytest.raises(UserError, match="are no corpus of Seamount"):
        build(corpus, source)
    with pytest.raises(UserError, match=r"test_share is 0\.9"):
        build(source, out, test_share=0.9)
    with pytest.raises(UserError, match="shard_bytes is 0"):
        build(source, out, shard_bytes=0)
    with pytest.raises(UserError, match="is a file"):
        build(source, Path(__file__))
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "a.jsonl.zst").write_bytes(b"")
    with pytest.raises(UserError, match="no document is left"):
        build(empty, tmp_path / "e")
    with pytest.raises(UserError, match="holds no finished corpus"):
        list(read_split(str(empty), "train"))
    with pytest.raises(UserError, match="unknown split 'dev'"):
        list(read_split(str(corpus), "dev"))


def test_pile_sample_gives_the_counts_its_readme_states(shared_data: Path, tmp_path: Path) -> None:
    readme = (shared_data / "README.md").read_text()
    table = readme.split("## Text: ")[1].split("## Messy")[0]
    rows = [[c.strip() for c in r.strip("|").split("|")] for r in table.splitlines()]
    stated = {r[0]: (int(r[3]), int(r[6])) for r in rows if len(r) == 8 and r[6].isdigit()}
    assert len(stated) == 20 and sum(n for n, _ in stated.values()) == 2_211

    build(shared_data / "pile_sample", tmp_path / "c", keep_dropped=True)
    content = load_manifest(str(tmp_path / "c"))
    total = content["ledger"]["total"]
    assert total["in"]["documents"] == 2_211
    assert total["dropped"]["empty"]["documents"] == sum(empty for _, empty in stated.values())
    assert total["quarantined"]["documents"] == 0
    found = Counter(d.component for ds in documents(tmp_path / "c").values() for d in ds)
    for path in (tmp_path / "c/dropped").iterdir():
        for line in gzip.decompress(path.read_bytes()).splitlines():
            found[json.loads(line)["meta"]["pile_set_name"]] += 1
    assert found == {name: n for name, (n, _) in stated.items()}
    several = {name for name, part in content["components"].items() if part["documents"] > 1}
    assert {d.component for d in read_split(str(tmp_path / "c"), "test")} == several
    assert not any("\r" in d.text for d in read_split(str(tmp_path / "c"), "train"))
