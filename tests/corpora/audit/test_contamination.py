"""Overlap with benchmarks against a brute-force search of word n-grams."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from audited import records

from seamount.cli.main import main
from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.audit.contamination import contamination

N = 5


def words(text: str) -> list[tuple[str, int, int]]:
    return [(m[0].lower(), m.start(), m.end()) for m in re.finditer(r"[^\W_]+", text)]


def covered(text: str, grams: set[tuple[str, ...]]) -> set[int]:
    """Characters of `text` from the first to the last letter of an n-gram of `grams`."""
    row, found = words(text), set()
    for n in range(len(row) - N + 1):
        if tuple(w for w, _, _ in row[n : n + N]) in grams:
            found |= set(range(row[n][1], row[n + N - 1][2]))
    return found


@pytest.fixture(scope="module")
def benchmarks(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Pieces of the corpus and foreign items; one file with an item too short to be found."""
    folder, random = tmp_path_factory.mktemp("benchmarks"), Random(3)
    texts = [r["text"].split() for r in records(corpus)]
    items = [" ".join(random.choice(texts)[n : n + 9]) for n in range(0, 40, 4)]
    one, two = folder / "one.jsonl", folder / "two.txt"
    one.write_text("".join(json.dumps({"q": item.upper(), "a": 1}) + "\n" for item in items))
    two.write_text(" ".join(texts[0][:20]) + " and so on")
    with one.open("a") as stream:
        stream.write(json.dumps({"q": "too short"}) + "\n")
    return [one, two]


def grams_of(path: Path) -> set[tuple[str, ...]]:
    lines = path.read_text().splitlines()
    items = [json.loads(x)["q"] for x in lines] if path.suffix == ".jsonl" else lines
    rows = [[w for w, _, _ in words(item)] for item in items]
    return {tuple(row[n : n + N]) for row in rows for n in range(len(row) - N + 1)}


@pytest.mark.parametrize("which", ["corpus", "source"])
def test_against_brute_force(
    which: str, request: pytest.FixtureRequest, benchmarks: list[Path]
) -> None:
    folder: Path = request.getfixturevalue(which)
    told = contamination(str(folder), [str(b) for b in benchmarks], N, worst=7)
    documents, sizes, passages, per_file = Counter(), Counter(), Counter(), Counter()
    worst = []
    each = {b.name: grams_of(b) for b in benchmarks}
    for record in records(folder):
        text, name = record["text"], record["meta"]["pile_set_name"]
        places = [covered(text, grams) for grams in each.values()]
        per_file.update(b for b, p in zip(each, places, strict=True) if p)
        if any(places):
            size = sum(len(text[n].encode()) for n in set().union(*places))
            documents[name] += 1
            sizes[name] += len(text.encode())
            passages[name] += size
            worst.append(size)
    assert sum(documents.values()) > 5
    found = {n: p for n, p in told["components"].items() if p["documents"]}
    assert {n: p["documents"] for n, p in found.items()} == dict(documents)
    assert {n: p["bytes"] for n, p in found.items()} == dict(sizes)
    assert {n: p["passage_bytes"] for n, p in found.items()} == dict(passages)
    assert told["touched"]["documents"] == sum(documents.values())
    assert told["documents"] == len(records(folder))
    assert [one["passage_bytes"] for one in told["worst"]] == sorted(worst, reverse=True)[:7]
    # an n-gram in two benchmarks is told of the first file that has it
    assert told["benchmarks"]["one.jsonl"]["documents"] <= per_file["one.jsonl"]
    assert told["benchmarks"]["one.jsonl"]["too_short"] == 1
    for one in told["worst"]:
        text = next(r["text"] for r in records(folder) if r["meta"]["id"] == one["id"])
        assert all(p["text"] in text for p in one["passages"])


def test_the_command_and_mistakes(
    corpus: Path, benchmarks: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {p: p.read_bytes() for p in corpus.rglob("*") if p.is_file()}
    command = ["corpus", "audit", str(corpus), "--contamination", str(benchmarks[0])]
    main([*command, "--ngram", str(N), "--worst", "2", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told == contamination(str(corpus), [str(benchmarks[0])], N, 2)
    main([*command, "--ngram", str(N)])
    out = capsys.readouterr().out
    assert "none dropped" in out and all(c.isprintable() or c == "\n" for c in out)
    assert before == {p: p.read_bytes() for p in corpus.rglob("*") if p.is_file()}
    (tmp_path / "short.txt").write_text("a b")
    with pytest.raises(UserError, match="no item of 13 words"):
        contamination(str(corpus), [str(tmp_path / "short.txt")])
    with pytest.raises(SystemExit) as stop:
        main([*command, "--bias", "x"])
    assert stop.value.code == 2


def test_equal_documents_do_not_matter(tmp_path: Path) -> None:
    text = "one two three four five six"
    rows = [Document(text, "A", "same", "") for _ in range(5)]
    jsonl_zst.write_documents(str(tmp_path / "a.jsonl.zst"), rows)
    (tmp_path / "b.txt").write_text(text)
    told = contamination(str(tmp_path), [str(tmp_path / "b.txt")], 3, worst=2)
    assert [one["line"] for one in told["worst"]] == [1, 2]
    assert told["touched"] == {"documents": 5, "bytes": 5 * 27, "passage_bytes": 5 * 27}


def test_where_passages_of_two_benchmarks_meet_a_letter_counts_once(tmp_path: Path) -> None:
    text = "one two three four five six"
    jsonl_zst.write_documents(str(tmp_path / "a.jsonl.zst"), [Document(text, "A", "1", "")])
    (tmp_path / "a.txt").write_text("one two three four")
    (tmp_path / "b.txt").write_text("three four five six")
    told = contamination(str(tmp_path), [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")], 3)
    assert told["touched"]["passage_bytes"] == len(text)
    passages = {p["benchmark"]: p["text"] for p in told["worst"][0]["passages"]}
    assert passages == {"a.txt": "one two three four", "b.txt": "three four five six"}
