"""What was removed as a copy is found, traced, told when its survivor goes, and stays out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from command_line import run
from standing import build, digests, records, sentence

from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document
from seamount.corpora.text import document_index, jsonl_zst
from seamount.corpora.text.dedupe.exact_jaccard import jaccard
from seamount.corpora.text.manifest import load_manifest
from seamount.corpora.text.stages import deduplicate
from seamount.corpora.text.takedown import removed_copies
from seamount.corpora.text.takedown.exclude import exclude, repeat
from seamount.corpora.text.takedown.find import find, removed
from seamount.corpora.text.takedown.rule import Rule
from seamount.corpora.text.takedown.trace import trace

COPIES = {"b-near", "c-near", "d-exact"}


def long_text(random: Random, sentences: int = 20) -> str:
    return "".join(f"{sentence(random)}.\n" for _ in range(sentences))


def texts() -> dict[str, str]:
    """`a` and its copies, each near one with its own words; every other document stands alone."""
    random = Random(8)
    text = long_text(random)
    near = {f"{n}-near": text.replace("w1", f"w{n}1", 2) + f"only {n} ends so\n" for n in "bc"}
    return {"a": text, **near, "d-exact": text, "e": long_text(random)}


def write_source(folder: Path, leave_out: tuple[str, ...] = ()) -> Path:
    """A file for each of `texts`, and one with documents that have no copy."""
    random = Random(3)
    folder.mkdir(parents=True)
    for name, text in texts().items():
        if name not in leave_out:
            component = "ArXiv" if name == "c-near" else "Github"
            rows = [Document(text, component, name, "")]
            jsonl_zst.write_documents(str(folder / f"{name}.jsonl.zst"), rows)
    others = [Document(long_text(random, 6), "Github", f"other-{n}", "") for n in range(20)]
    jsonl_zst.write_documents(str(folder / "others.jsonl.zst"), others)
    return folder


def shared_catalog(folder: Path, **priority: int) -> str:
    """Components in natural proportions, `a` first of its copies unless told otherwise."""
    parts = {n: {"priority": priority.get(n, 5)} for n in ("Github", "ArXiv")}
    path = folder / f"catalog-{len(list(folder.glob('*.yaml')))}.yaml"
    content = {"name": "c", "mixture": "natural", "components": parts}
    path.write_text(yaml.safe_dump(content))
    return str(path)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:  # type: ignore[override]
    return write_source(tmp_path_factory.mktemp("copies") / "in")


@pytest.fixture(scope="module")
def untouched(source: Path) -> Path:  # type: ignore[override]
    return build(source, source.parent / "c", catalog=shared_catalog(source.parent))


def ids_in(corpus: Path) -> set[str]:
    return {r["meta"]["id"] for _, _, r in records(corpus)}


def test_a_document_is_traced_to_its_removed_copies(untouched: Path, source: Path) -> None:
    assert removed_copies.FILE_NAME == deduplicate.DUPLICATES
    found = trace(str(untouched), "a")
    table = pq.read_table(untouched / "duplicates.parquet").to_pylist()
    assert found["cluster"] == [row for row in table if row["kept_id"] == "a"]
    assert {row["id"] for row in found["cluster"]} == COPIES and found["copy_of"] == []
    for row in found["cluster"]:
        assert row["source"] == f"{source}/{row['id']}.jsonl.zst:1"
        true = jaccard(texts()["a"], texts()[row["id"]])
        assert row["similarity"] == pytest.approx(true, abs=0.12)
        assert (row["kind"] == "exact") == (true == 1)
    assert trace(str(untouched), "e")["cluster"] == []


@pytest.mark.parametrize("name", sorted(COPIES))
def test_a_removed_copy_is_traced_to_what_stands_for_it(untouched: Path, name: str) -> None:
    found, kept = trace(str(untouched), name), trace(str(untouched), "a")
    (row,) = found["copy_of"]
    assert (row["id"], row["kept_id"]) == (name, "a")
    assert found["documents"] == kept["documents"] != []
    assert found["cluster"] == kept["cluster"] and found["tokens"] == kept["tokens"]
    with pytest.raises(UserError, match="no document"):
        trace(str(untouched), f"{name}?")


def test_copies_of_a_document_repeated_by_epochs(source: Path, tmp_path: Path) -> None:
    parts = {"Github": {"weight": 1.0, "epochs": 3.0}, "ArXiv": {"weight": 1.0}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"name": "c", "components": parts}))
    fill = [Document(long_text(Random(5), 400), "ArXiv", "fill", "")]
    folder = write_source(tmp_path / "in")
    jsonl_zst.write_documents(str(folder / "fill.jsonl.zst"), fill)
    corpus = build(folder, tmp_path / "c", catalog=str(tmp_path / "c.yaml"), test_share=0)
    assert {"a", "a#2"} <= ids_in(corpus)
    for name in ("a", "a#2"):
        assert {r["id"] for r in trace(str(corpus), name)["cluster"]} == COPIES
    done = exclude(str(corpus), Rule(ids=("a#2",)))
    assert done.copies is not None and set(done.copies["ids"]) == COPIES
    assert {r["id"] for r in trace(str(corpus), "a#2")["cluster"]} == COPIES


def test_find_tells_of_a_removed_copy_and_reads_no_shard(
    corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_index, "_ROWS", 1)
    (row,) = removed(str(corpus), "b-near")
    assert row["kept_id"] == "a"
    by_regex = {r["id"] for r in removed(str(corpus), "-(NEAR|exact)$", "regex", True)}
    assert by_regex == COPIES and list(removed(str(corpus), "b-near", "text")) == []
    for path in corpus.rglob("*.zst"):
        path.write_bytes(b"no zstd")
    assert list(find(str(corpus), "b-near")) == []
    assert run("corpus", "find", "b-near", corpus) == 1  # it is not in the corpus
    out = capsys.readouterr().out
    assert "b-near  (Github): removed by the build as near copy (0." in out and ") of a" in out
    assert run("corpus", "find", "b-near", corpus, "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["matches"] == [] and told["removed"] == [row]
    with pytest.raises(CorruptData):  # an id that nobody has is looked for as text
        list(find(str(corpus), "b-nea"))
    (corpus / "duplicates.parquet").write_bytes(b"no table")
    with pytest.raises(CorruptData, match=r"duplicates\.parquet is damaged"):
        list(removed(str(corpus), "b-near"))


def test_a_corpus_built_before_says_that_it_does_not_know(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (corpus / "duplicates.parquet").unlink()
    found = trace(str(corpus), "a")
    assert found["cluster"] is None and "duplicates.parquet" in found["cluster_note"]
    with pytest.raises(UserError, match="no document"):
        trace(str(corpus), "b-near")
    assert run("corpus", "trace", "a", corpus) == 0
    assert "copies   unknown: this corpus has no duplicates.parquet" in capsys.readouterr().out
    assert run("corpus", "find", "b-near", corpus) == 1
    assert run("corpus", "exclude", corpus, "--id", "a") == 0
    assert "is unknown" in capsys.readouterr().out
    other = build(write_source(tmp_path / "in"), tmp_path / "c")
    (done,) = repeat(str(other), str(corpus))
    # nobody knew of its copies, but this build tells which of them stands in its place
    assert {n for names in done.removed_ids.values() for n in names} == {"c-near"}
    assert not ids_in(other) & {"a", *COPIES}


def test_an_exclusion_tells_of_copies_at_the_sources(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = digests(corpus)
    with pytest.raises(UserError, match="near copy of a, which stands for it"):
        exclude(str(corpus), Rule(ids=("b-near", "e")))
    assert digests(corpus) == old
    size = sum(len(texts()[n].encode()) for n in COPIES)
    told = {"documents": 3, "bytes": size}
    dry = exclude(str(corpus), Rule(ids=("a",)), dry_run=True)
    assert dry.copies is not None and dry.copies.pop("ids") and dry.copies == told
    by_text = exclude(str(corpus), Rule(match=a_line_of_a()), True)
    assert by_text.copies == {**told, "ids": None}
    assert run("corpus", "exclude", corpus, "--id", "a", "--json") == 0
    assert set(json.loads(capsys.readouterr().out)["copies"]["ids"]) == COPIES
    assert run("corpus", "exclude", corpus, "--id", "a") == 0
    out = capsys.readouterr().out
    assert "copies that the build had removed: 3 documents" in out and "    c-near\n" in out
    assert "--repeat" in out
    # what stood for it is gone, so there is nothing left to exclude
    again = exclude(str(corpus), Rule(ids=("b-near",)))
    assert again.exclusion is None
    assert load_manifest(str(corpus))["documents"] == 21
    assert trace(str(corpus), "b-near")["excluded"][0]["id"] == "a"
    assert run("corpus", "trace", "b-near", corpus) == 0
    out = capsys.readouterr().out
    assert "as near copy" in out and "a: excluded (number 1)" in out


def a_line_of_a() -> str:
    return texts()["a"].splitlines()[3].replace(".", "\\.")


@pytest.mark.parametrize(
    ("gone", "priority", "stands"),
    [
        ((), {}, "a"),  # the same sources: the document itself comes back
        (("a", "d-exact"), {}, "b-near"),  # without it a near copy does
        (("a", "b-near", "d-exact"), {}, "c-near"),
        ((), {"ArXiv": 1}, "c-near"),  # another priority keeps another one in its place
    ],
)
def test_a_rebuild_keeps_its_copies_out(
    corpus: Path, tmp_path: Path, gone: tuple[str, ...], priority: dict[str, int], stands: str
) -> None:
    exclude(str(corpus), Rule(ids=("a",)))
    catalog = shared_catalog(tmp_path, **priority)
    source = write_source(tmp_path / "in", gone)
    new = build(source, tmp_path / "new", catalog=catalog)
    assert ids_in(new) & {"a", *COPIES} == {stands}
    old = ids_in(new)
    repeat(str(new), str(corpus))
    assert ids_in(new) == old - {stands}
    before = digests(new)
    assert all(done.earlier for done in repeat(str(new), str(corpus)))
    assert digests(new) == before
    # and so on from there: the rule that is kept names all of them
    third = build(source, tmp_path / "third", catalog=catalog)
    repeat(str(third), str(new))
    assert not ids_in(third) & {"a", *COPIES}


def test_a_copy_that_is_new_to_a_rebuild_is_kept_out_too(corpus: Path, tmp_path: Path) -> None:
    """`Z` was not there at the time; in the new build it is kept in place of the excluded one."""
    exclude(str(corpus), Rule(ids=("a",)))
    source = write_source(tmp_path / "in")
    text = texts()["a"] + "and this too\n"
    jsonl_zst.write_documents(str(source / "z.jsonl.zst"), [Document(text, "Github", "Z", "")])
    new = build(source, tmp_path / "new", catalog=shared_catalog(tmp_path))
    assert "Z" in ids_in(new) and not {"a", *COPIES} & ids_in(new)
    repeat(str(new), str(corpus))
    assert not {"Z", "a", *COPIES} & ids_in(new) and len(ids_in(new)) == 21


def test_texts_of_copies_go_from_what_was_dropped(tmp_path: Path) -> None:
    options = {"catalog": shared_catalog(tmp_path), "keep_dropped": True}
    corpus = build(write_source(tmp_path / "in"), tmp_path / "c", **options)

    def kept() -> bytes:
        return b"".join(gzip.decompress(p.read_bytes()) for p in sorted(corpus.rglob("*.gz")))

    assert b"only b ends so" in kept() and b"only c ends so" in kept()
    done = exclude(str(corpus), Rule(ids=("a",)))
    assert b"ends so" not in kept()
    entry: dict[str, Any] = done.exclusion or {}
    assert entry["samples"] == 3
