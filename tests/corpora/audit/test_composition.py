"""Composition against Counter over the lines of the shards."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ElementTree
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from audited import records
from command_line import run
from hypothesis import given
from hypothesis import strategies as st

from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text.audit import decades, pictures
from seamount.corpora.text.audit.composition import audit, effective_number
from seamount.corpora.text.manifest import load_manifest
from seamount.corpora.text.split import read_split
from seamount.corpora.text.tokenizer import load_tokenizer, train_tokenizer
from seamount.corpora.text.tokens import tokenize_split


def by_hand(found: list[dict[str, Any]], key: Any) -> dict[str, dict[str, int]]:
    documents: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for record in found:
        documents[key(record)] += 1
        sizes[key(record)] += len(record["text"].encode())
    return {name: {"documents": documents[name], "bytes": sizes[name]} for name in documents}


def decade_of(record: dict[str, Any]) -> str:
    meta = record["meta"]
    if meta.get("year"):
        return f"{meta['year'] // 10 * 10}s"
    for key, decade in (("date_filed", "1990s"), ("time", "2010s")):
        if key in meta:
            return decade
    return {"2004-07-05": "2000s", "5 Jan 2012": "2010s"}.get(meta.get("date", ""), "unknown")


def entropy_number(sizes: list[int]) -> float:
    shares = [s / sum(sizes) for s in sizes if s]
    return math.prod(share ** (-share) for share in shares)


@pytest.mark.parametrize("which", ["corpus", "source"])
def test_counts(which: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(which)
    found, told = records(folder), audit(str(folder))
    components = by_hand(found, lambda r: r["meta"]["pile_set_name"])
    assert {
        n: {k: p[k] for k in ("documents", "bytes")} for n, p in told["components"].items()
    } == (components)
    assert told["decades"] == by_hand(found, decade_of)
    assert set(told["decades"]) == {"1980s", "1990s", "2000s", "2010s", "unknown"}
    pile = {"Github": "code", "Wikipedia (en)": "encyclopedia", "Books3": "books"}
    own = {"Github": "code", "Wikipedia (en)": "prose", "Books3": "prose"}
    kinds = own if which == "corpus" else pile
    assert {n: {k: p[k] for k in ("documents", "bytes")} for n, p in told["kinds"].items()} == (
        by_hand(found, lambda r: kinds.get(r["meta"]["pile_set_name"], "unknown"))
    )
    assert told["documents"] == len(found)
    sizes = [part["bytes"] for part in components.values()]
    assert told["effective"]["components"]["after"] == pytest.approx(entropy_number(sizes))
    quick = audit(str(folder), decades=False)
    assert quick == {**told, "decades": None}


def test_effective_numbers_before_and_after_mixing(corpus: Path, source: Path) -> None:
    """Before: the source's documents, each text once; after: the lines of the shards."""
    told = audit(str(corpus))["effective"]
    before: dict[str, Counter[str]] = {"components": Counter(), "sources": Counter()}
    seen = set()
    for file in sorted(source.glob("*.zst")):
        for record in records_of(file):
            size = len(record["text"].encode())
            assert record["text"] not in seen  # no copies in this source
            seen.add(record["text"])
            before["components"][record["meta"]["pile_set_name"]] += size
            before["sources"][file.name] += size
    for name, sizes in before.items():
        assert told[name]["before"] == pytest.approx(entropy_number(list(sizes.values())))
    after = Counter[str]()
    for record in records(corpus):
        after[record["meta"]["id"].partition("-")[0]] += len(record["text"].encode())
    assert told["sources"]["after"] == pytest.approx(entropy_number(list(after.values())))
    assert told["components"]["after"] != pytest.approx(told["components"]["before"])
    assert load_manifest(str(corpus))["copies"]["documents"] > 0


def records_of(path: Path) -> list[dict[str, Any]]:
    import zstandard

    text = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read().decode()
    return [json.loads(line) for line in text.split("\n")[:-1]]


def test_tokens_estimated_and_exact(corpus: Path, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    told = audit(str(corpus))
    sizes = {name: part["bytes"] for name, part in told["components"].items()}
    assert told["tokens"] == {
        "method": "estimate: bytes x tokens_per_byte of the catalog",
        "total": round(sizes["Github"] / 2) + round(sizes["Wikipedia (en)"] / 4),
        "components": {
            "Github": round(sizes["Github"] / 2),
            "Wikipedia (en)": round(sizes["Wikipedia (en)"] / 4),
        },
        "unknown_bytes": sizes["Books3"] + sizes["no\u202esuch"],
    }
    texts = (document.text for document in read_split(str(corpus), "train"))
    train_tokenizer(texts, 300, str(tmp_path / "tokenizer"))
    folder = str(tmp_path / "tokens")
    for split in ("train", "test"):
        tokenize_split(str(corpus), split, str(tmp_path / "tokenizer"), folder)
    tokenizer = load_tokenizer(str(tmp_path / "tokenizer"))
    wanted: Counter[str] = Counter()
    for split in ("train", "test"):
        for document in read_split(str(corpus), split):
            wanted[document.component] += 1 + len(tokenizer.encode(document.text))
    exact = audit(str(corpus), decades=False, tokens=folder)["tokens"]
    assert exact["components"] == dict(wanted) and exact["total"] == sum(wanted.values())
    assert exact["splits"] == ["test", "train"] and exact["method"].startswith("exact")
    assert run("corpus", "audit", corpus, "--tokens", folder, "--no-decades") == 0
    assert f"tokens: {exact['total']:,}, exact" in capsys.readouterr().out
    for url, tokens in ((tmp_path / "tokenizer", folder), (corpus, str(tmp_path / "tokenizer"))):
        with pytest.raises(UserError):
            audit(str(url), tokens=tokens)


@given(sizes=st.lists(st.integers(0, 10**12), max_size=20))
def test_effective_number_is_between_one_and_the_count(sizes: list[int]) -> None:
    number, there = effective_number(sizes), sum(s > 0 for s in sizes)
    assert number == 0 if not there else 1 - 1e-9 <= number <= there + 1e-9
    assert effective_number([7] * 5) == pytest.approx(5)


@pytest.mark.parametrize(
    ("meta", "year"),
    [
        ({"year": 1850}, 1850),
        ({"year": "c. 1850-1853"}, 1850),
        ({"year": 0}, None),
        ({"year": 3021}, None),
        ({"year": True, "date": "1999"}, 1999),
        ({"date": "2021-03-04T05:06:07Z"}, 2021),
        ({"date": "Mon, 5 Jul 2004 12:34:56 +0000"}, 2004),
        ({"date": "20040705"}, None),
        ({"time": "1300000000"}, 2011),
        ({"time": 1_300_000_000.5}, 2011),
        ({"timestamp": float("nan")}, None),
        ({"timestamp": float("inf")}, None),
        ({"year": 10**40}, None),
        ({"year": [1, 2], "created": {"x": 1}}, None),
        ({"release_year": 2001}, None),
        ({}, None),
    ],
)
def test_the_year_a_document_tells(meta: dict[str, Any], year: int | None) -> None:
    assert decades.year_of(meta) == year


@given(meta=st.dictionaries(st.sampled_from(decades.KEYS), st.one_of(
    st.none(), st.integers(), st.floats(), st.text(), st.lists(st.integers()))))  # fmt: skip
def test_no_metadata_breaks_it(meta: dict[str, Any]) -> None:
    assert decades.year_of(meta) is None or 1000 <= decades.year_of(meta) <= 2100  # type: ignore[operator]


def test_the_fast_decoder_agrees_with_json(corpus: Path) -> None:
    for path in sorted(corpus.rglob("*.zst")):
        wanted = [decades.year_of(r["meta"]) for r in records_of(path)]
        assert list(decades._years(str(path))) == wanted


def test_shards_that_do_not_agree_are_told(corpus: Path, tmp_path: Path) -> None:
    import shutil

    mine = tmp_path / "c"
    shutil.copytree(corpus, mine)
    shutil.copy(mine / "val.jsonl.zst", mine / "test.jsonl.zst")
    shutil.copy(mine / "train/00.jsonl.zst", mine / "val.jsonl.zst")
    with pytest.raises(CorruptData, match="was changed"):
        audit(str(mine))


def test_pictures(corpus: Path, source: Path, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    for folder, name in ((corpus, "a.svg"), (source, "b.html")):
        path = tmp_path / name
        assert run("corpus", "audit", folder, "--plot", path) == 0
        drawn = path.read_text()
        assert "no\\u202esuch" in drawn and "\u202e" not in drawn and "1980s" in drawn
        addresses = set(part.split('"')[0] for part in drawn.split("http")[1:])
        assert addresses <= {"://www.w3.org/2000/svg", "://www.w3.org/1999/xlink"}
        pictures.write(audit(str(folder)), str(tmp_path / f"again-{name}"))
        assert (tmp_path / f"again-{name}").read_text() == drawn
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    charts = [part for part in root if part.tag.endswith("svg")]
    tops = [(float(c.get("y", 0)), float(c.get("height", 0))) for c in charts]
    assert len(charts) == 4
    assert all(y + height <= after for (y, height), (after, _) in pairwise(tops))
    assert "drawn:" in capsys.readouterr().out
    assert run("corpus", "audit", corpus, "--plot", tmp_path / "x.png") == 2
