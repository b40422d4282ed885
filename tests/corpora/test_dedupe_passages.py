"""Builds whose components lose passages that stood earlier, alone and behind repeated lines."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from test_build_corpus import digests
from test_dedupe_lines import EMPTIED, check_ledger, make_source, request, survivors, texts
from test_substrings import brute

from seamount.core.errors import UserError
from seamount.corpora.text.build import build_corpus
from seamount.corpora.text.manifest import load_manifest
from seamount.corpora.text.normalise import normalise
from seamount.corpora.text.stages import cuts, passages

LEAST = 45
BOTH: dict[str, Any] = {
    "Web": {"dedupe_lines": "line", "dedupe_passages": LEAST},
    "Prose": {"dedupe_passages": LEAST},
    "Code": {},
}


def catalog(path: Path, settings: dict[str, Any], **changes: Any) -> str:
    components = {name: {"weight": 1, **one} for name, one in settings.items()}
    content = {"name": "mine", "mixture": "natural", "components": components, **changes}
    path.write_text(yaml.safe_dump(content))
    return str(path)


def without(settings: dict[str, Any], field: str) -> dict[str, Any]:
    return {n: {k: v for k, v in one.items() if k != field} for n, one in settings.items()}


def build(folder: Path, source: Path, settings: dict[str, Any], **options: Any) -> Path:
    named = catalog(folder / f"{len(list(folder.iterdir()))}.yaml", settings)
    out = folder / Path(named).stem
    build_corpus(request(source, out, named, dedupe="exact", **options))
    return out


def expected(source: Path, before: dict[str, str]) -> dict[str, str]:
    """`before` without the passages that a dictionary of all windows has seen."""
    mine = [one.id for one in survivors(source) if one.component != "Code" and one.id in before]
    data = [before[name].encode() for name in mine]
    found = dict(before)
    for number, start, end in reversed(brute(data, LEAST)):
        data[number] = data[number][:start] + data[number][end:]
    found |= {name: text.decode() for name, text in zip(mine, data, strict=True)}
    return {name: text for name, text in found.items() if text.strip()}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("source"))


def test_passages_alone(source: Path, tmp_path: Path) -> None:
    out = build(tmp_path, source, without(BOTH, "dedupe_lines"))
    before = {one.id: normalise(one.text) for one in survivors(source)}
    wanted = expected(source, before)
    assert texts(out) == wanted
    content = load_manifest(str(out))
    check_ledger(content)
    total = content["ledger"]["total"]
    size = sum(len(text.encode()) for text in before.values())
    assert total["edited"] == {
        "dedupe: passage": size - sum(len(t.encode()) for t in wanted.values())
    }
    emptied = len(before) - len(wanted)
    assert total["dropped"] == {EMPTIED: {"documents": emptied, "bytes": 0}} and emptied > 0


def test_passages_of_what_lines_left(source: Path, tmp_path: Path) -> None:
    lines = texts(build(tmp_path, source, without(BOTH, "dedupe_passages")))
    out = build(tmp_path, source, BOTH)
    wanted = expected(source, lines)
    assert texts(out) == wanted != lines
    content = load_manifest(str(out))
    check_ledger(content)
    edited = content["ledger"]["total"]["edited"]
    size = sum(len(text.encode()) for text in lines.values())
    assert edited["dedupe: passage"] == size - sum(len(t.encode()) for t in wanted.values())
    assert edited["dedupe: line"] > 0


@pytest.mark.slow
def test_worker_count_changes_no_byte(source: Path, tmp_path: Path) -> None:
    one, two = (build(tmp_path, source, BOTH, workers=n) for n in (0, 2))
    assert digests(one) == digests(two)


def test_one_length_for_all(source: Path, tmp_path: Path) -> None:
    settings = {"Web": {"dedupe_passages": 100}, "Prose": {"dedupe_passages": 200}}
    with pytest.raises(UserError, match="100 for 'Web', 200 for 'Prose': give one length"):
        build(tmp_path, source, settings)
    with pytest.raises(UserError, match="greater than or equal to 20"):
        build(tmp_path, source, {"Web": {"dedupe_passages": 1}})


borders = st.sets(st.integers(0, 30), max_size=10).map(sorted)


def spans(found: list[int], size: int) -> list[tuple[int, int]]:
    inside = [at for at in found if at <= size]
    return list(zip(inside[::2], inside[1::2], strict=False))


@given(st.text("ab \n", max_size=30), borders, borders)
def test_joined_pieces_leave_what_passages_left_of_what_lines_left(
    text: str, first: list[int], second: list[int]
) -> None:
    taken = [(*span, "line") for span in spans(first, len(text))]
    left = cuts.without(text, taken)
    later = spans(second, len(left))
    wanted = cuts.without(left, [(*span, "passage") for span in later])
    both = passages.joined(left.encode(), taken, later)
    assert cuts.without(text, both) == (wanted if wanted.strip() else "")
    ends = [(start, end) for start, end, _ in both]
    assert all(a < b <= c for (a, b), (c, _) in pairwise(ends))
    assert [span for span in both if span[2] == "line"] == taken
