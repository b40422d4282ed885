"""Builds whose components lose lines or paragraphs that stood before: texts, account, takedown."""

from __future__ import annotations

import gzip
import json
import os
import signal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
import xxhash
import yaml
from killing import count_events, in_child, kill_at_event
from test_build_corpus import digests, documents, sentence

from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.corpora.text import dry_run, jsonl_zst
from seamount.corpora.text.audit.dropped import sample_dropped
from seamount.corpora.text.build import CorpusRequest, build_corpus, plan
from seamount.corpora.text.manifest import load_manifest
from seamount.corpora.text.normalise import normalise
from seamount.corpora.text.takedown.exclude import exclude
from seamount.corpora.text.takedown.find import find
from seamount.corpora.text.takedown.rule import Rule
from seamount.corpora.text.takedown.trace import trace

SETTINGS: dict[str, Any] = {
    "Web": "line",
    "Prose": {"kind": "paragraph", "least_bytes": 30},
    "Code": None,
}
FOOTER = "All rights reserved; no part of this page may be copied."
NOTICE = "© Größe und Länge sind geschützt, 日本語のお知らせも。"
EMPTIED = "dedupe: nothing is left of it"


def make_source(folder: Path, files: int = 4, documents: int = 30) -> Path:
    """Each document has lines of its own between those that all pages have."""
    random = Random(2)
    for number in range(files):
        rows = []
        for n in range(documents):
            component = random.choice(list(SETTINGS))
            gap = "\n\n" if component == "Prose" else "\n"
            lines = [sentence(random) + " and so on, to be long" for _ in range(6)]
            lines[2:2] = [FOOTER, "}", NOTICE]
            body = gap.join(lines) + random.choice(["", "\n", "\n \n"])
            body = body.replace("\n", "\r\n") if n % 3 == 0 else body
            body = f"{FOOTER}\n\n{NOTICE}\n" if n % 10 == 9 else body
            rows.append(Document(body, component, f"{number}-{n}", ""))
        rows.append(Document(rows[1].text, rows[1].component, f"{number}-copy", ""))
        jsonl_zst.write_documents(str(folder / f"{number:02d}.jsonl.zst"), rows)
    return folder


def catalog(path: Path, settings: dict[str, Any] = SETTINGS, **changes: Any) -> str:
    components = {
        name: {"weight": 1} | ({"dedupe_lines": one} if one else {})
        for name, one in settings.items()
    }
    content = {"name": "mine", "mixture": "natural", "components": components, **changes}
    path.write_text(yaml.safe_dump(content))
    return str(path)


def request(source: Path, out: Path, named: str, **options: Any) -> CorpusRequest:
    shares = {"test_share": 0.05, "val_share": 0.05, "shard_bytes": 10_000}
    return CorpusRequest((str(source),), str(out), catalog=named, **{**shares, **options})


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def corpus(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lines")
    build_corpus(request(source, folder / "c", catalog(folder / "c.yaml"), dedupe="exact"))
    return folder / "c"


def texts(out: Path) -> dict[str, str]:
    return {d.id: d.text for found in documents(out).values() for d in found}


def survivors(source: Path) -> list[Document]:
    """What is left of the source by digest alone: of equal texts the lowest id, over components."""
    read = [
        record
        for path in sorted(source.iterdir())
        for record in jsonl_zst.read_documents(str(path))
        if isinstance(record, Document)
    ]
    lowest: dict[str, str] = {}
    for one in read:
        text = normalise(one.text)
        lowest[text] = min(lowest.get(text, one.id), one.id)
    return [one for one in read if lowest[normalise(one.text)] == one.id]


def expected(source: Path) -> dict[str, str]:
    """The texts by a set of all lines and paragraphs, in the order of reading."""
    seen: set[tuple[str, str]] = set()
    result = {}
    for one in survivors(source):
        text = normalise(one.text)
        if one.component != "Code":
            mark, least = ("\n\n", 30) if one.component == "Prose" else ("\n", 40)
            left = []
            for piece in text.split(mark):
                key = one.component, piece.strip()
                if key not in seen or len(key[1].encode()) < least:
                    left.append(piece)
                seen.add(key)
            text = mark.join(left)
        result[one.id] = text
    return result


def test_every_line_that_stood_before_is_gone_and_nothing_else(source: Path, corpus: Path) -> None:
    """White space at the ends of texts is left out: a last line goes, the feed before it stays."""
    wanted = {name: text.strip() for name, text in expected(source).items() if text.strip()}
    found = texts(corpus)
    assert {name: text.strip() for name, text in found.items()} == wanted
    everything = [d for ds in documents(corpus).values() for d in ds]
    for component, times in (("Web", 1), ("Prose", 1), ("Code", 20)):
        mine = "\n".join(d.text for d in everything if d.component == component)
        for line in (FOOTER, NOTICE):
            assert (mine.count(line) == times) if times == 1 else (mine.count(line) > times)
    assert sum(d.text.count("}") for d in everything) > 80  # short lines are not touched
    assert not any("\r" in d.text for d in everything)


def check_ledger(content: dict[str, Any]) -> None:
    for row in [*content["ledger"]["inputs"], content["ledger"]["total"]]:
        for unit in ("documents", "bytes"):
            gone = [*row["dropped"].values(), *row["duplicates"].values()]
            rest = row["kept"][unit] + row["quarantined"][unit] + sum(p[unit] for p in gone)
            if unit == "bytes":
                rest += row["normalisation_bytes"] + sum(row["edited"].values())
            assert rest == row["in"][unit]


def test_the_ledger_adds_up_and_counts_what_was_cut(source: Path, corpus: Path) -> None:
    content = load_manifest(str(corpus))
    check_ledger(content)
    total = content["ledger"]["total"]
    kept = texts(corpus)
    cut: dict[str, int] = {}
    emptied = 0
    for one in survivors(source):
        size = len(normalise(one.text).encode()) - len(kept.get(one.id, "").encode())
        kind = {"Web": "dedupe: line", "Prose": "dedupe: paragraph", "Code": ""}[one.component]
        cut[kind] = cut.get(kind, 0) + size
        emptied += one.id not in kept
    assert cut.pop("") == 0
    assert total["edited"] == cut
    assert total["dropped"] == {EMPTIED: {"documents": emptied, "bytes": 0}}
    assert emptied >= 1
    assert total["kept"] == {
        "documents": len(kept),
        "bytes": sum(len(text.encode()) for text in kept.values()),
    }


def test_rows_tell_of_the_text_that_is_left(corpus: Path) -> None:
    found = texts(corpus)
    rows = pq.read_table(corpus / "documents.parquet").to_pylist()
    assert [(r["digest"], r["bytes"]) for r in rows] == [
        (xxhash.xxh3_128_hexdigest(data), len(data))
        for data in (found[r["id"]].encode() for r in rows)
    ]
    sizes = sum(s["bytes"] for s in load_manifest(str(corpus))["shards"])
    assert sizes == sum(r["bytes"] for r in rows)


def test_metadata_and_ids_stay(source: Path, tmp_path: Path) -> None:
    mine = tmp_path / "in"
    mine.mkdir()
    meta = {"url": "http://a/b", "n": [1, {"x": None}], "big": 2.5}
    rows = [
        Document(f"{FOOTER}\nthe first one\n", "Web", "a", "", meta),
        Document(f"the second one\n{FOOTER}", "Web", "b", "", meta),
    ]
    jsonl_zst.write_documents(str(mine / "a.jsonl.zst"), rows)
    build_corpus(request(mine, tmp_path / "c", catalog(tmp_path / "c.yaml")))
    found = {d.id: d for ds in documents(tmp_path / "c").values() for d in ds}
    assert found["b"].text == "the second one\n" and found["a"].text == rows[0].text
    assert found["b"].meta == found["a"].meta == meta


@pytest.mark.slow
def test_worker_count_changes_no_byte(source: Path, corpus: Path, tmp_path: Path) -> None:
    named = catalog(tmp_path / "c.yaml")
    asked = request(source, tmp_path / "c", named, dedupe="exact", workers=2)
    build_corpus(asked)
    assert digests(tmp_path / "c") == digests(corpus)


def test_another_setting_finds_no_stale_work(source: Path, tmp_path: Path) -> None:
    """Each stage lies under a key of the setting: a build with another one begins anew."""
    named = [
        catalog(tmp_path / f"{n}.yaml", {**SETTINGS, "Web": one}, name="c")
        for n, one in enumerate([None, "line", {"kind": "line", "least_bytes": 41}, "paragraph"])
    ]
    keys = [[b.key for b in plan(request(source, tmp_path / "c", n)).batches] for n in named]
    assert len({key for found in keys for key in found}) == 4 * len(keys[0])
    found = []
    for one in named[:2]:
        assert not build_corpus(request(source, tmp_path / "c", one)).reused
        build_corpus(request(source, tmp_path / "fresh" / Path(one).stem, one))
        assert digests(tmp_path / "c") == digests(tmp_path / "fresh" / Path(one).stem)
        found.append(digests(tmp_path / "c"))
    assert found[0] != found[1]


def test_weights_and_repeats_count_the_text_that_is_left(source: Path, tmp_path: Path) -> None:
    named = catalog(tmp_path / "c.yaml", mixture="strict")
    content = yaml.safe_load(Path(named).read_text())
    content["components"]["Web"] |= {"epochs": 3, "weight": 4}
    Path(named).write_text(yaml.safe_dump(content))
    build_corpus(request(source, tmp_path / "c", named, keep_dropped=True))
    content = load_manifest(str(tmp_path / "c"))
    check_ledger(content)
    for name, part in content["mixture"].items():
        share = 2 / 3 if name == "Web" else 1 / 6
        assert part["achieved_share"] == pytest.approx(share, abs=0.02)
    found = texts(tmp_path / "c")
    again = [name for name in found if "#" in name]
    assert again and all(found[name] == found[name.partition("#")[0]] for name in again)


def test_what_was_cut_can_be_looked_at(source: Path, tmp_path: Path) -> None:
    asked = request(source, tmp_path / "c", catalog(tmp_path / "c.yaml"), keep_dropped=True)
    build_corpus(asked)
    samples = sample_dropped(str(tmp_path / "c"))
    assert set(samples["edits"]) == {"dedupe: line", "dedupe: paragraph"}
    for records in samples["edits"].values():
        for one in records:
            lines = one["diff"].splitlines()[3:]
            gone = [line[1:] for line in lines if line.startswith("-") and line[1:].strip()]
            assert gone and set(gone) <= {FOOTER, NOTICE} and one["bytes_removed"] > 0
    gone = samples["dropped"][EMPTIED]
    assert gone and all(FOOTER in one["excerpt"] for one in gone)  # as it was before
    left = texts(tmp_path / "c")
    for path in (tmp_path / "c/edited").iterdir():
        for line in gzip.decompress(path.read_bytes()).splitlines():
            assert json.loads(line)["id"] in left


def test_find_trace_and_exclude(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "c"
    build_corpus(request(source, out, catalog(tmp_path / "c.yaml"), dedupe="exact"))
    holders = list(find(str(out), FOOTER, by="text"))
    first = next(one.id for one in holders if one.component == "Web")
    told = trace(str(out), first)
    data = texts(out)[first].encode()
    assert told["documents"][0]["digest"] == xxhash.xxh3_128_hexdigest(data)
    exclude(str(out), Rule(ids=(first,)))
    content = load_manifest(str(out))
    check_ledger(content)
    assert first not in texts(out)
    dropped = content["ledger"]["total"]["dropped"]
    assert sum(part["bytes"] for part in dropped.values()) == len(data)
    exclude(str(out), Rule(match=NOTICE))
    check_ledger(load_manifest(str(out)))
    assert not any(NOTICE in text for text in texts(out).values())


def test_as_is_keeps_every_line_and_a_dry_run_takes_the_setting(
    source: Path, tmp_path: Path
) -> None:
    named = catalog(tmp_path / "c.yaml", as_is=True)
    build_corpus(request(source, tmp_path / "c", named))
    kept = list(texts(tmp_path / "c").values())
    assert sum(text.count(FOOTER) for text in kept) == len(kept)
    named = catalog(tmp_path / "d.yaml")
    shares = dry_run.predict(request(source, tmp_path / "d", named))["rules"]
    assert shares["edited, dedupe: line"] > 0 and shares["edited, dedupe: paragraph"] > 0


def test_mistakes_in_the_catalog_are_told(source: Path, tmp_path: Path) -> None:
    for wrong, says in (
        ("lines", "Web.dedupe_lines.kind: Input should be 'line' or 'paragraph'"),
        ({"kind": "line", "least_bytes": 0}, "greater than or equal to 1"),
        ({"kind": "line", "least": 3}, "Web.dedupe_lines.least"),
    ):
        named = catalog(tmp_path / "c.yaml", {**SETTINGS, "Web": wrong})
        with pytest.raises(UserError, match=says):
            build_corpus(request(source, tmp_path / "c", named))


@pytest.mark.slow
def test_killed_before_every_fifth_file_operation(
    source: Path, corpus: Path, tmp_path: Path
) -> None:
    named = catalog(tmp_path / "c.yaml")
    events = count_events(
        lambda: build_corpus(request(source, tmp_path / "count", named, dedupe="exact"))
    )
    for point in range(1, events, 5):
        out = tmp_path / f"at-{point}"
        mine = request(source, out, named, dedupe="exact")

        def killed(point: int = point, mine: CorpusRequest = mine) -> None:
            kill_at_event(point)
            build_corpus(mine)

        status = os.waitpid(in_child(killed), 0)[1]
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        build_corpus(mine)
        assert digests(out) == digests(corpus)
