"""Passages that surviving documents repeat, behind what lines took already, as a table of cuts."""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter

import msgspec
import pyarrow as pa

from seamount.core import storage
from seamount.corpora.text.catalog import DedupePassages
from seamount.corpora.text.dedupe import substrings
from seamount.corpora.text.stages import clean, cuts, stage

KIND = "passage"
_ROWS = 1 << 16
Stands = Callable[[int], bool]


def parts(
    cleaned: Sequence[stage.Done],
    stands: Stands,
    wanted: DedupePassages,
    lines: str,
    scratch: str | None,
) -> Iterator[pa.Table]:
    """The table of cuts at `lines` (or none), joined by the passages of `wanted.least_bytes` bytes
    or more that stood earlier in a document of `wanted.components`.

    `stands` says of a document's number whether it is there at all. The texts are read three
    times. Memory: substrings.MEMORY_BYTES beside one document; scratch: see substrings.find.
    """

    def documents() -> Iterator[tuple[int, bytes]]:
        for number, text, _ in _texts(cleaned, stands, wanted, lines):
            if text is not None:
                yield number, text

    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        found = substrings.find(documents, folder, wanted.least_bytes)
        yield from _tables(_rows(_texts(cleaned, stands, wanted, lines), found))


class _Meta(msgspec.Struct):
    pile_set_name: str


class _Line(msgspec.Struct):
    text: str
    meta: _Meta


def _texts(
    cleaned: Sequence[stage.Done], stands: Stands, wanted: DedupePassages, lines: str
) -> Iterator[tuple[int, bytes | None, list[cuts.Span]]]:
    """Number, what lines left of the text, and what they took, of every document that stands.

    The text is None where the component is not one of `wanted`.
    """
    number, taken = -1, cuts.Spans(lines)
    decoder = msgspec.json.Decoder(_Line)
    for done in cleaned:
        for line in clean.lines(storage.join(done.folder, clean.DOCUMENTS)):
            number += 1
            spans = taken.of(number)
            if not stands(number):
                continue
            record = decoder.decode(line)
            mine = record.meta.pile_set_name in wanted.components
            text = cuts.without(record.text, spans).encode() if mine else None
            yield number, text, spans


def _rows(
    texts: Iterator[tuple[int, bytes | None, list[cuts.Span]]], found: Iterator[substrings.Cut]
) -> Iterator[tuple[int, int, int, str]]:
    by_number = groupby(found, itemgetter(0))
    number, passages = next(by_number, (-1, iter(())))
    for each, text, spans in texts:
        if each == number and text is not None:
            spans = joined(text, spans, [(cut.start, cut.end) for cut in passages])
            number, passages = next(by_number, (-1, iter(())))
        for span in spans:
            yield each, *span


def joined(
    left: bytes, taken: Sequence[cuts.Span], passages: Sequence[tuple[int, int]]
) -> list[cuts.Span]:
    """Pieces of the whole text: what lines took, and passages [start, end) of what they `left`.

    Where only white space would be left that goes too.
    """
    if not cuts.without(left.decode(), [(*span, KIND) for span in passages]).strip():
        passages = [(0, len(left))]
    gone = [0]
    for start, end, _ in taken:
        gone.append(gone[-1] + end - start)
    # Where in what is left a piece was taken out.
    seams = [start - before for (start, _, _), before in zip(taken, gone[:-1], strict=True)]
    found = list(taken)
    for start, end in passages:
        inside = [seam for seam in seams if start < seam < end]
        for low, high in pairwise([start, *sorted(set(inside)), end]):
            shift = gone[bisect_right(seams, low)]
            found.append((low + shift, high + shift, KIND))
    return sorted(span for span in found if span[0] < span[1])


def _tables(rows: Iterator[tuple[int, int, int, str]]) -> Iterator[pa.Table]:
    block: list[tuple[int, int, int, str]] = []
    for row in rows:
        block.append(row)
        if len(block) == _ROWS:
            yield _table(block)
            block = []
    if block:
        yield _table(block)


def _table(rows: list[tuple[int, int, int, str]]) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=cuts.SCHEMA)
