"""Repeated lines and paragraphs, found out of core, against a dictionary of all of them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamount.core import storage
from seamount.core.errors import SeamountError, UserError
from seamount.core.records import Document
from seamount.corpora.text.catalog import DedupeLines
from seamount.corpora.text.dedupe import repeats, unit_files
from seamount.corpora.text.dedupe.units import units
from seamount.corpora.text.stages import cuts, deduplicate, stage, unit_index

LINES = ("alpha beta", "gamma", "}", "  }", "", " ", "\u3000", "größer", "日本語", "gamma ")
RULES = {
    "A": DedupeLines(kind="line", least_bytes=3),
    "B": DedupeLines(kind="paragraph", least_bytes=3),
    "C": DedupeLines(kind="line", least_bytes=1),
}
texts = st.lists(st.sampled_from(LINES), min_size=1, max_size=8).map("\n".join)
documents = st.tuples(st.sampled_from("ABCD"), texts, st.booleans(), st.booleans())


def pieces(text: str, kind: str) -> list[str]:
    """The text in pieces: lines with their line feeds; runs of lines with the blank ones behind."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    if kind == "line":
        return lines
    found = [
        (blank, "".join(run)) for blank, run in groupby(lines, lambda line: line.strip() == "")
    ]
    joined: list[str] = []
    for blank, run in found:
        if blank and joined:
            joined[-1] += run
        else:
            joined.append(run)
    return joined


def by_dictionary(rows: Iterable[tuple[str, str, bool]]) -> list[str]:
    """The text of each (component, text, stands) without what stood before; "" for white space."""
    seen: set[tuple[str, str]] = set()
    result = []
    for component, text, stands in rows:
        rule = RULES.get(component)
        if rule is None or not stands:
            result.append(text)
            continue
        left = []
        for piece in pieces(text, rule.kind):
            key = component, re.sub(r"(\n\s*)?\Z", "", piece) if rule.kind != "line" else (
                piece.removesuffix("\n")
            )  # fmt: skip
            long = piece.strip() and len(key[1].encode().strip()) >= rule.least_bytes
            if not (long and key in seen):
                left.append(piece)
            if long:
                seen.add(key)
        after = "".join(left)
        result.append("" if after != text and not after.strip() else after)
    return result


def found_by_files(rows: list[tuple[str, str, bool, bool]], folder: str) -> list[str]:
    """The same by sorted files; the last of a row says whether a batch ends behind it."""
    done = []
    batches: list[list[tuple[str, str]]] = [[]]
    for component, text, _, last in rows:
        batches[-1].append((component, text))
        if last:
            batches.append([])
    for number, batch in enumerate(batches):
        where = storage.join(folder, str(number))
        with unit_index.writer(where, RULES) as writer:
            for row, (component, text) in enumerate(batch):
                writer.add(row, Document(text, component, str(row), ""))
        result = {"documents": len(batch), "bytes": 0, unit_index.COUNT: writer.files}
        done.append(stage.run(where, lambda _, r=result: r))  # type: ignore[misc]
    stands = np.array([row[2] for row in rows], bool)
    files = unit_index.open_files(done)
    url = storage.join(folder, cuts.FILE_NAME)
    found = repeats.find(files, len(rows), stands.__getitem__, folder)
    cuts.write(url, deduplicate.pieces(found))
    result_texts = [text for _, text, _, _ in rows]
    reader = cuts.Reader(url)
    for number, text in enumerate(result_texts):
        spans = [(r["start"], r["end"], r["kind"]) for p in reader.until(number + 1)
                 for r in p.to_pylist()]  # fmt: skip
        result_texts[number] = cuts.without(text, spans)
    return result_texts


@given(st.lists(documents, max_size=25), st.sampled_from([(1, 1, 1), (3, 40, 2), (50, 9_000, 99)]))
@settings(max_examples=60)
def test_found_are_those_that_a_dictionary_finds(
    rows: list[tuple[str, str, bool, bool]], sizes: tuple[int, int, int]
) -> None:
    """Whatever the batches, the units in a file, the range at hand and the block put in order."""
    run, at_hand, block = sizes
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(unit_index, "RUN", run),
        mock.patch.object(repeats, "_RANGE_BYTES", at_hand * repeats._BYTES_A_UNIT),
        mock.patch.object(repeats, "_BLOCK", block),
    ):
        assert found_by_files(rows, folder) == by_dictionary(row[:3] for row in rows)


@pytest.mark.parametrize("at_hand", [2_000, 1 << 20])
def test_many_documents(at_hand: int, tmp_path: Path) -> None:
    """Digests over all slots, in several ranges, files and blocks."""
    random = Random(5)
    rows = []
    for _ in range(3_000):
        lines = [f"line {random.randrange(9_000)}" for _ in range(random.randrange(1, 9))]
        component = random.choice("AB")
        text = random.choice(["\n", "\n\n"]).join(lines)
        rows.append((component, text, random.random() < 0.9, random.random() < 0.002))
    with (
        mock.patch.object(unit_index, "RUN", 1_000),
        mock.patch.object(repeats, "_RANGE_BYTES", at_hand * repeats._BYTES_A_UNIT),
        mock.patch.object(repeats, "_BLOCK", 500),
    ):
        assert found_by_files(rows, str(tmp_path)) == by_dictionary(row[:3] for row in rows)


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("line", "a\n\n b \nc", [(0, 2, b"a"), (3, 7, b" b "), (7, 8, b"c")]),
        ("line", "é\n", [(0, 3, "é".encode())]),
        ("line", "\n \n", []),
        ("paragraph", "\na\nb\n \n\nc\n", [(1, 8, b"a\nb"), (8, 10, b"c")]),
        ("paragraph", "a\n\n", [(0, 3, b"a")]),
        ("paragraph", "", []),
    ],
)
def test_units(kind: str, text: str, wanted: list[tuple[int, int, bytes]]) -> None:
    assert list(units(text, kind)) == wanted


def test_a_text_beyond_what_a_file_can_say_is_refused(tmp_path: Path) -> None:
    writer = unit_index.UnitWriter(str(tmp_path), RULES)
    with (
        mock.patch.object(unit_files, "MOST_BYTES", 10),
        pytest.raises(UserError, match="a text of 4 GiB or more in 'A'"),
    ):
        writer.add(0, Document("long enough\nfor two", "A", "x", "somewhere"))


@pytest.mark.parametrize(
    "rows", [[(0, 0, 5), (0, 4, 9)], [(1, 0, 5), (0, 0, 5)], [(0, 3, 3)], [(0, 4, 6), (0, 1, 3)]]
)
@pytest.mark.parametrize("divided", [False, True])
def test_pieces_that_overlap_or_come_out_of_order_are_refused(
    rows: list[tuple[int, int, int]], divided: bool, tmp_path: Path
) -> None:
    import pyarrow as pa

    table = pa.table([*map(list, zip(*rows, strict=True)), ["line"] * len(rows)], cuts.SCHEMA)
    parts = [table.slice(n, 1) for n in range(len(rows))] if divided else [table]
    with pytest.raises(SeamountError, match="overlap, or are out of order"):
        cuts.write(str(tmp_path / "cuts.parquet"), parts)
    assert not (tmp_path / "cuts.parquet").exists()
