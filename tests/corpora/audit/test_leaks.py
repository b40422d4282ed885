"""Leaks against the exact similarity of every held-out document to every one of train."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seamount.cli.main import main
from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.audit import leaks as leaking
from seamount.corpora.text.audit.leaks import leaks
from seamount.corpora.text.build import CorpusRequest, build_corpus


def words(random: Random, count: int) -> list[str]:
    return [f"{random.choice('abcdefgh')}{random.randrange(3_000)}" for _ in range(count)]


@cache
def shingles(text: str) -> frozenset[tuple[str, ...]]:
    row = text.split()
    return frozenset(tuple(row[n : n + 5]) for n in range(max(1, len(row) - 4)) if row)


def similarity(left: str, right: str) -> float:
    a, b = shingles(left), shingles(right)
    return len(a & b) / len(a | b) if a | b else 0.0


def edited(random: Random, row: list[str], edits: int) -> list[str]:
    row = list(row)
    for place in random.sample(range(len(row)), edits):
        row[place] = f"z{random.randrange(9_000)}"
    return row


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    """Held-out texts in every distance to train; a few short, empty or without words."""
    random = Random(1)
    train = [words(random, random.randint(40, 200)) for _ in range(300)]
    held = []
    for n in range(120):
        row = train[random.randrange(300)]
        held.append(edited(random, row, int(len(row) * 0.3 * random.random() ** 2)) if n % 4 else
                    words(random, 90))  # fmt: skip
    held += [train[7], ["one", "two"], ["..."], []]
    train += [["one", "two"], ["!?"], ["..."], train[9]]
    both = {"train": train, "val": held[::2], "test": held[1::2]}
    return {name: [" ".join(row) for row in rows] for name, rows in both.items()}


@pytest.fixture(scope="module")
def layout(texts: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As the Pile was released: train/*.jsonl.zst, val.jsonl.zst, test.jsonl.zst."""
    folder = tmp_path_factory.mktemp("layout")
    rows = {k: [Document(t, "AB"[n % 2], f"{k}-{n}", "") for n, t in enumerate(v)]
            for k, v in texts.items()}  # fmt: skip
    (folder / "train").mkdir()
    for part in (0, 1):
        jsonl_zst.write_documents(str(folder / f"train/{part}.jsonl.zst"), rows["train"][part::2])
    for split in ("val", "test"):
        jsonl_zst.write_documents(str(folder / f"{split}.jsonl.zst"), rows[split])
    return folder


def test_the_nearest_is_that_of_brute_force(layout: Path, texts: dict[str, list[str]]) -> None:
    told = leaks(str(layout), worst=10_000)
    assert told["held_out"] == {"val": 62, "test": 62} and told["train"] == 304
    found: dict[str, dict[str, Any]] = {one["held_out"]["id"]: one for one in told["worst"]}
    looked_at = 0
    best_of = []
    for split in ("val", "test"):
        for n, text in enumerate(texts[split]):
            best = max(similarity(text, other) for other in texts["train"])
            one = found.get(f"{split}-{n}")
            best_of.append(1.0 if text == "..." else best)
            if best >= 0.5:
                looked_at += 1
                assert one is not None and one["similarity"] >= best - 0.1
            if one is not None:
                other = texts["train"][int(one["train"]["id"].partition("-")[2])]
                same = 1.0 if text == other else similarity(text, other)
                assert one["exact"] == (one["similarity"] == pytest.approx(same, abs=1e-12))
                assert one["similarity"] <= best_of[-1] + 1e-12 or not one["exact"]
                check_place(layout, one["held_out"])
                check_place(layout, one["train"])
    assert looked_at > 45
    for part in told["bins"][2:]:  # from 0.5 on, and away from the edges, all are counted
        inside = sum(part["low"] <= s < part["high"] + (part["high"] == 1) for s in best_of)
        assert abs(part["documents"] - inside) <= 1
    assert sum(part["documents"] for part in told["bins"]) == 124
    sums = [sum(row) for row in zip(*told["components"].values(), strict=True)]
    assert sums == [part["documents"] for part in told["bins"]]
    # train-7 as it stands, "one two", and "..." which has no word; edits of nothing are copies too
    equal = [t for s in ("val", "test") for t in texts[s] if t in texts["train"]]
    assert told["exact"] == len(equal) >= 3


def check_place(layout: Path, place: dict[str, Any]) -> None:
    rows = list(jsonl_zst.read_documents(place["shard"]))
    document = rows[place["line"] - 1]
    assert isinstance(document, Document)
    assert (document.id, document.component) == (place["id"], place["component"])
    assert place["split"] in place["shard"].removeprefix(str(layout))


def test_beyond_the_compared_the_estimate_stands(
    layout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = {o["held_out"]["id"]: o["similarity"] for o in leaks(str(layout), 10_000)["worst"]}
    monkeypatch.setattr(leaking, "_COMPARED", 20)
    told = leaks(str(layout), 10_000)
    rest = [o for o in told["worst"] if not o["exact"]]
    assert told["compared"] == 124 - len([*rest]) - (124 - len(told["worst"])) < 40
    errors = [o["similarity"] - exact[o["held_out"]["id"]] for o in rest if o["similarity"] > 0.3]
    assert len(errors) > 20 and max(map(abs, errors)) < 0.2
    assert abs(sum(errors) / len(errors)) < 0.03


def test_the_chance_to_be_looked_at() -> None:
    import numpy as np

    drawn = np.random.default_rng(2).random((4_000, leaking.BANDS, leaking.ROWS)) < 0.4
    shown = drawn.all(axis=2).any(axis=1).mean()
    assert leaking.meet_probability(0.4) == pytest.approx(shown, abs=0.02)
    assert leaking.meet_probability(0.5) > 0.995


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus from a source in which most documents have cousins of any similarity."""
    random = Random(6)
    rows = []
    for family in range(70):
        first = words(random, random.randint(60, 160))
        for n in range(4):
            text = " ".join(edited(random, first, int(len(first) * 0.09 * n * random.random())))
            rows.append(Document(text, "A", f"{family}-{n}", ""))
    folder = tmp_path_factory.mktemp("built")
    jsonl_zst.write_documents(str(folder / "in/a.jsonl.zst"), rows)
    request = CorpusRequest(
        (str(folder / "in"),), str(folder / "c"), val_share=0.15, test_share=0.2
    )
    build_corpus(request)
    return folder / "c"


def test_a_built_corpus_keeps_near_copies_on_one_side(built: Path) -> None:
    told = leaks(str(built), worst=10_000)
    assert sum(told["held_out"].values()) > 30
    assert told["exact"] == 0
    assert [part["documents"] for part in told["bins"] if part["low"] >= 0.7] == [0, 0, 0]


def test_a_planted_leak_is_found(built: Path, tmp_path: Path) -> None:
    """Documents of test written into a train shard, one of them with a few words changed."""
    rows = [d for d in jsonl_zst.read_documents(str(built / "test.jsonl.zst"))]
    one, two = (d for d in rows[:2] if isinstance(d, Document))
    (tmp_path / "train").mkdir()
    (tmp_path / "test.jsonl.zst").write_bytes((built / "test.jsonl.zst").read_bytes())
    train = [
        d for p in sorted((built / "train").iterdir()) for d in jsonl_zst.read_documents(str(p))
    ]
    loose = " ".join(edited(Random(0), two.text.split(), 2))
    planted = [Document(one.text, "B", "copy", ""), Document(loose, "B", "near", "")]
    jsonl_zst.write_documents(str(tmp_path / "train/0.jsonl.zst"), [*train, *planted])  # type: ignore[list-item]
    told = leaks(str(tmp_path))
    assert told["exact"] == 1
    first, second = told["worst"][:2]
    assert (first["held_out"]["id"], first["train"]["id"]) == (one.id, "copy")
    assert (second["held_out"]["id"], second["train"]["id"]) == (two.id, "near")
    assert second["similarity"] == pytest.approx(similarity(two.text, loose))
    assert second["train"]["line"] == len(train) + 2


def test_the_command_and_mistakes(
    built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {p: p.read_bytes() for p in built.rglob("*") if p.is_file()}
    main(["corpus", "audit", str(built), "--leaks", "--worst", "2", "--json"])
    assert json.loads(capsys.readouterr().out) == leaks(str(built), 2)
    main(["corpus", "audit", str(built), "--leaks"])
    out = capsys.readouterr().out
    assert "each with the nearest of" in out and all(c.isprintable() or c == "\n" for c in out)
    assert before == {p: p.read_bytes() for p in built.rglob("*") if p.is_file()}
    jsonl_zst.write_documents(str(tmp_path / "a.jsonl.zst"), [Document("a", "A", "1", "")])
    with pytest.raises(UserError, match="nothing is held out"):
        leaks(str(tmp_path))
    with pytest.raises(SystemExit) as stop:
        main(["corpus", "audit", str(built), "--leaks", "--dropped", "1"])
    assert stop.value.code == 2
