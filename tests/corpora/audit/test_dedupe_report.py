"""The report against plain counting, and on a deduplication that was broken on purpose."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pyarrow.parquet as pq
import pytest
from audited import records
from hypothesis import given
from hypothesis import strategies as st

from seamount.cli.main import main
from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.audit import dedupe_report as reporting
from seamount.corpora.text.audit import planted_edits, sampling
from seamount.corpora.text.audit import removed_pairs as removing
from seamount.corpora.text.audit.dedupe_report import dedupe_report
from seamount.corpora.text.audit.proportions import bin_of, share, wilson
from seamount.corpora.text.audit.sampling import sample
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.dedupe import exact_jaccard, matching, minhash
from seamount.corpora.text.takedown.exclude import exclude
from seamount.corpora.text.takedown.rule import Rule


@given(hits=st.integers(0, 400), more=st.integers(0, 400))
def test_the_interval_is_the_one_of_scipy(hits: int, more: int) -> None:
    from scipy.stats import binomtest

    if hits + more:
        wanted = binomtest(hits, hits + more).proportion_ci(0.95, method="wilson")
        assert wilson(hits, hits + more) == pytest.approx((wanted.low, wanted.high), abs=1e-9)
    else:
        assert share(0, 0) == {"hits": 0, "of": 0, "share": None, "low": 0.0, "high": 1.0}


def split_by_hand(text: str) -> list[str]:
    """Words as minhash's first lines state them, letter by letter."""
    found, word = [], ""
    for c in f"{text} ":
        if c.isascii() and not (c.isalnum() or c == "_"):
            found += [word] if word else []
            word = ""
        else:
            word += c.lower() if c.isascii() else c
    return found


TEXTS = st.text("ab Aé_1.\nÄ\u212a\x00日", max_size=40)


@given(left=TEXTS, right=TEXTS)
def test_the_true_similarity_by_hand(left: str, right: str) -> None:
    rows = [split_by_hand(text) for text in (left, right)]
    sets = [
        {" ".join(r[n : n + 5]) for n in range(max(1, len(r) - 4))} if r else set() for r in rows
    ]
    shared, total = len(sets[0] & sets[1]), len(sets[0] | sets[1])
    assert exact_jaccard.jaccard(left, right) == (shared / total if total else 0.0)
    signer = minhash.Signer()
    signatures = [signer.sign(text.encode()) for text in (left, right)]
    # the kernel splits words alike: equal sets have equal signatures, others differ somewhere
    assert (signatures[0] == signatures[1]).all() == (sets[0] == sets[1])


def words(random: Random, count: int) -> str:
    return " ".join(f"{random.choice('abcdefgh')}{random.randrange(3_000)}" for _ in range(count))


@pytest.mark.parametrize("kind", list(planted_edits.EDITS))
def test_an_edit_comes_near_its_aim(kind: str) -> None:
    random = Random(4)
    vocabulary = [f"z{n}" for n in range(500)]
    keeps_all = kind in ("lines wrapped anew", "punctuation", "case")
    for aim in (0.3, 0.6, 0.9):
        reached = []
        for n in range(8):
            text = words(random, 600)
            twin = planted_edits.plant(text, kind, aim, str(n), vocabulary)
            assert twin == planted_edits.plant(text, kind, aim, str(n), vocabulary) != text
            reached.append(exact_jaccard.jaccard(text, twin))
        # an insertion breaks the shingles around it and adds five; a swap touches two words
        far = 0.25 if kind in ("words swapped", "words inserted") else 0.06
        assert np.mean(reached) == pytest.approx(1 if keeps_all else aim, abs=far)


@given(
    text=st.text(max_size=50), aim=st.floats(0.05, 1), kind=st.sampled_from([*planted_edits.EDITS])
)
def test_any_text_can_be_edited(text: str, aim: float, kind: str) -> None:
    assert isinstance(planted_edits.plant(text, kind, aim, "s", ["w"]), str)


@given(data=st.data(), first=st.integers(0, 14))
def test_joined_pairs_are_numbered_without_gap_or_repeat(data: st.DataObject, first: int) -> None:
    size = data.draw(st.integers(0, 14))
    labels = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    equal = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    same = np.array([labels.index(label) for label in labels], int)
    exact = np.where(equal, same, np.arange(size))
    documents = [Document("", "", str(n), "") for n in range(size)]
    joined = reporting._Joined.of(
        matching.Copies(exact, same, same, 0), first, documents.__getitem__
    )
    alone = [n for n in range(size) if exact[n] == n]
    wanted = {
        (str(a), str(b)) for b in alone for a in alone if a < b >= first and same[a] == same[b]
    }
    found = [tuple(d.id for d in joined.pair(n)) for n in range(joined.count)]
    assert len(found) == len(wanted) and set(found) == wanted


@pytest.fixture(autouse=True)
def _few_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "_MOST_ROUNDS", 5)
    monkeypatch.setattr(sampling, "MOST_CHARACTERS", 3_000)


def source(folder: Path, rows: list[Document]) -> Path:
    folder.mkdir(parents=True)
    jsonl_zst.write_documents(str(folder / "a.jsonl.zst"), rows)
    return folder


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Long, short, tiny and wordless texts; two true copies; a beginning that most share."""
    random = Random(9)
    shared = words(random, 60)
    rows = [Document(f"{shared} {words(random, 140)}", "Long", f"l{n}", "") for n in range(60)]
    rows += [Document(words(random, 8), "Short", f"s{n}", "") for n in range(12)]
    rows += [Document(text, "Tiny", f"t{n}", "") for n, text in enumerate(["a", "b c", "", "?!"])]
    rows += [Document(words(random, 900), "Huge", "huge", "")]
    rows += [Document(rows[70].text + " and so on", "Copies", "copy", "")]
    rows += [Document(rows[0].text + " and so on", "Copies", "long copy", "")]
    return source(tmp_path_factory.mktemp("mixed") / "in", rows)


def test_the_report_counts_what_stands_in_it(mixed: Path) -> None:
    told = dedupe_report(str(mixed), seed=3)
    assert told["sample"] == {"documents": 79, "of": 79, "cut": 1, "without_words": 2}
    assert told["planted"]["pairs"] + told["planted"]["unchanged"] == 77 * 5
    assert told["ok"] is True and told["recall"]["share"] >= 0.95
    assert sum(b["joined"]["of"] for b in told["bins"]) == told["planted"]["pairs"]
    for parts in (told["edits"], told["components"]):
        assert sum(p["pairs"] for p in parts.values()) == told["planted"]["pairs"]
    assert told["edits"].keys() == planted_edits.EDITS.keys()
    assert told["components"].keys() == {"Long", "Short", "Tiny", "Huge", "Copies"}
    between = [b for b in told["bins"] if 0.8 <= b["low"] < 1]
    assert told["recall"]["of"] == sum(b["joined"]["of"] for b in between)
    assert told["recall"]["hits"] == sum(b["joined"]["hits"] for b in between)
    for b in told["bins"]:
        assert b["joined"]["hits"] <= b["met"]["hits"]  # nothing is joined that never met
        if b["met"]["of"] >= 30:
            assert b["met"]["low"] - 0.05 <= b["theory"] <= b["met"]["high"] + 0.05
    assert told["precision"]["own"] == 1  # l0 and its copy; the short one is cut too far
    assert told["precision"]["pairs"] > sum(b["joined"]["hits"] for b in told["bins"]) - 1
    again = dedupe_report(str(mixed), seed=3)
    assert again == told
    assert dedupe_report(str(mixed), seed=4)["bins"] != told["bins"]


def test_a_broken_deduplication_is_seen(
    mixed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(matching, "SAME", 0.95)
    told = dedupe_report(str(mixed))
    assert told["ok"] is False and told["recall"]["share"] < 0.9
    with pytest.raises(SystemExit) as stop:
        main(["corpus", "dedupe-report", str(mixed)])
    assert stop.value.code == 1 and "bar 95 %: MISSED" in capsys.readouterr().out
    monkeypatch.setattr(matching, "SAME", 0.0)  # whoever shares a band is a copy
    told = dedupe_report(str(mixed))
    wrong = told["precision"]["below"]["0.3"]
    assert told["ok"] is False and wrong["share"] > 0.1
    worst = told["precision"]["worst"][0]
    assert worst["similarity"] < 0.3 and len(worst["ids"]) == 2


def test_the_sample(corpus: Path, mixed: Path) -> None:
    rows = [(r["meta"]["id"], r["text"]) for r in records(corpus)]
    drawn = sample(str(corpus), 10_000, 0)
    assert Counter((d.id, d.text) for d in drawn.documents) == Counter(rows)
    assert (drawn.of, drawn.cut) == (len(rows), 0)
    ids = {d.id for d in sample(str(corpus), 40, 1).documents}
    assert len(ids) == 40 and ids != {d.id for d in sample(str(corpus), 40, 2).documents}
    seen = Counter(d.id for seed in range(200) for d in sample(str(mixed), 8, seed).documents)
    assert len(seen) == 79 and 5 < min(seen.values()) <= max(seen.values()) < 45
    (huge,) = [d for d in sample(str(mixed), 100, 0).documents if d.id == "huge"]
    assert len(huge.text) == 3_000
    with pytest.raises(UserError):
        sample(str(mixed), 0, 0)


def test_the_command(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {p: p.read_bytes() for p in corpus.rglob("*") if p.is_file()}
    picture = tmp_path / "r.png"
    command = ["corpus", "dedupe-report", str(corpus), "--documents", "30", "--plot"]
    main([*command, str(picture), "--json", str(tmp_path / "r.json")])
    told = json.loads((tmp_path / "r.json").read_text())
    assert told == dedupe_report(str(corpus), 30)
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    main([*command, str(tmp_path / "r.svg")])
    out = capsys.readouterr().out
    assert "recall at 0.8 or more: " in out and all(c.isprintable() or c == "\n" for c in out)
    assert "share a band" in (tmp_path / "r.svg").read_text()
    assert before == {p: p.read_bytes() for p in corpus.rglob("*") if p.is_file()}
    with pytest.raises(SystemExit) as stop:
        main([*command, "r.pdf"])
    assert stop.value.code == 2
    with pytest.raises(SystemExit) as stop:
        main(["corpus", "dedupe-report"])
    assert stop.value.code == 2
    main(["corpus", "dedupe-report", "--curve"])
    assert f"{0.5:>12.1f} {1 - (1 - 0.5**6) ** 20:>15.4f} {1 - (1 - 0.5**3) ** 40:>17.4f}" in (
        capsys.readouterr().out
    )
    source(tmp_path / "in", [Document("?!", "A", "1", "")])
    main(["corpus", "dedupe-report", str(tmp_path / "in"), "--json"])
    assert json.loads(capsys.readouterr().out)["ok"] is None


@given(value=st.floats(0, 1))
def test_a_bin_holds_its_value(value: float) -> None:
    n = bin_of(value, reporting.EDGES)
    low, high = reporting.EDGES[n : n + 2]
    assert low <= value < high or low == value == high == 1


def test_what_a_build_removed_is_compared_with_what_it_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every near pair of the build against its own table and the source's texts."""
    random = Random(11)
    rows = [Document(words(random, 120), "A", f"d{n:02d}", "") for n in range(30)]
    rows += [
        Document(f"{d.text} {words(random, 1 + 2 * n)}", "A", f"{d.id}-copy", "")
        for n, d in enumerate(rows[:12])
    ]
    texts = {d.id: d.text for d in rows}
    request = CorpusRequest(
        (str(source(tmp_path / "in", rows)),), str(tmp_path / "c"), keep_dropped=True
    )
    build_corpus(request)
    table = pq.read_table(tmp_path / "c" / "duplicates.parquet").to_pylist()
    true = {row["id"]: jaccard_by_hand(texts[row["id"]], texts[row["kept_id"]]) for row in table}
    assert len(true) == 12
    part = dedupe_report(str(tmp_path / "c"), 10)["build"]
    assert (part["removed"], part["checked"], part["without_text"]) == (12, 12, 0)
    for limit, found in part["below"].items():
        assert found["hits"] == sum(s < float(limit) for s in true.values())
    for one in part["worst"]:
        assert one["similarity"] == pytest.approx(true[one["ids"][1]])
        assert one["ids"][0] == one["ids"][1].removesuffix("-copy")
    monkeypatch.setattr(removing, "_PAIRS", 5)
    drawn = removing.removed_pairs(str(tmp_path / "c"), 1, (0.3,), 9)
    assert drawn is not None and (drawn["removed"], drawn["checked"]) == (12, 5)
    exclude(str(tmp_path / "c"), Rule(ids=("d03",)))  # takes the texts of its copies as well
    monkeypatch.setattr(removing, "_PAIRS", 99)
    drawn = removing.removed_pairs(str(tmp_path / "c"), 1, (0.3,), 9)
    assert drawn is not None and (drawn["checked"], drawn["without_text"]) == (11, 1)
    main(["corpus", "dedupe-report", str(tmp_path / "c"), "--documents", "10"])
    assert "the build removed 12 documents as near copies; 11 compared" in capsys.readouterr().out


def jaccard_by_hand(left: str, right: str) -> float:
    a, b = ({tuple(t.split()[n : n + 5]) for n in range(len(t.split()) - 4)} for t in (left, right))
    return len(a & b) / len(a | b)
