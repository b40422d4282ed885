"""Exact substring deduplication, out of core (Lee et al. 2022, "Deduplicating Training Data Makes
Language Models Better", there with a suffix array): every passage of `least_bytes` bytes or more
that stands earlier in the corpus is cut, the first one stays.

A *window* is `least_bytes` bytes in a row of one document. It comes again where the first window
with the same bytes, in the order of documents and positions, begins in an earlier document or ends
at or before its own beginning. Cut is the union of all windows that come again, drawn in at either
end (by at most 3 bytes) to whole characters of UTF-8. So:

- every byte that is cut stands somewhere earlier, kept, with its neighbours; no text is lost;
- no window of what is left in one piece comes again; passages that are shorter are left alone,
  and so are new neighbours where something between was cut;
- a text that repeats itself loses no part of its first window: of n equal bytes `least_bytes` stay.

How: a window's anchor is that stretch in it of three fifths of its length that has the least hash
(winnowing, Schleimer et al. 2003), so equal windows have equal anchors; windows in a row that share
one are compared as a whole (a context; one for some 40 bytes). Only where an anchor stands in
contexts that differ (at the ends of a repeated passage) single windows are sorted. Windows are
equal where 122 bits of two hashes are: two different windows of 200 bytes pass for equal in one
of 10^32 cases, and bytes are not compared again. Work grows as n log n whatever repeats how often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text.dedupe import substring_kernels as kernels
from seamount.corpora.text.dedupe.rolling_hash import powers
from seamount.corpora.text.dedupe.sorted_rows import SortedRows

# Lee et al. took 50 tokens, which are some 200 bytes of English: chance never repeats as much,
# and set phrases, licence names and addresses are shorter.
LEAST_BYTES = 200
MEMORY_BYTES = 1 << 30
# Window starts that a kernel works on at once; its arrays then stay near the processor.
_PIECE = 1 << 18

Documents = Callable[[], Iterable[tuple[int, bytes]]]


class Cut(NamedTuple):
    """Bytes `start` to below `end` of the UTF-8 text of document `number`."""

    number: int
    start: int
    end: int


@dataclass
class Work:
    """What a search did: bytes read, rows sorted in scratch and how many bytes they took."""

    documents: int = 0
    bytes: int = 0
    contexts: int = 0
    windows: int = 0
    cut_bytes: int = 0
    scratch_bytes: int = 0


def find(
    documents: Documents,
    scratch: str,
    least_bytes: int = LEAST_BYTES,
    memory_bytes: int = MEMORY_BYTES,
    work: Work | None = None,
) -> Iterator[Cut]:
    """Disjoint cuts in the order of `documents()`, which gives (number, text in UTF-8), is called
    twice and must give the same; its order says what is earlier, a number comes once.

    `scratch` is a local folder; it takes about a byte for each byte of text, and 40 for each byte
    near the end of a repeated passage (twice that while very many runs are merged). `memory_bytes`
    bounds what is held beside one document, from some 10 MB on. The outcome depends on neither.
    `work` is added to as it goes.
    Raises UserError for a length below 1, CorruptData where the documents changed between reads.
    """
    if least_bytes < 1:
        raise UserError(f"a repeated passage has at least 1 byte, not {least_bytes}: give more")
    yield from _Search(documents, scratch, least_bytes, memory_bytes, work or Work()).cuts()


class _Search:
    def __init__(
        self, documents: Documents, scratch: str, length: int, memory_bytes: int, work: Work
    ) -> None:
        self.documents, self.length, self.work = documents, length, work
        self.scratch, self.memory = scratch, memory_bytes
        # longer ones make more contexts and fewer windows; the work is least from 1/2 to 3/4
        self.anchor = max(1, 3 * length // 5)
        self.piece = max(length, min(_PIECE, memory_bytes // 1024))
        self.table = powers(2 * length)
        self.prefixes = np.empty((2, self.piece + 2 * length + 1), np.uint64)
        self.found = self._rows(2, 1)  # cuts by their edges, see `substring_kernels`
        self.texts = self._rows(3, 1)  # position in the corpus, number, size

    def _rows(self, columns: int, keys: int) -> SortedRows:
        return SortedRows(self.scratch, columns, keys, self.memory // 5)  # at most 5 at a time

    def cuts(self) -> Iterator[Cut]:
        requests = self._judge_contexts(self._contexts())
        if requests.rows:
            self._judge_windows(self._windows(requests))
        self._count(self.found)
        joined = _Cursor(self._joined())
        for texts in self.texts.blocks():
            if len(texts):
                yield from self._within(texts, joined)

    def _texts(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Position in the corpus, number and bytes of the documents that hold a window.

        Between two documents a window's length is left free, so that windows of different
        documents are never nearer than those that overlap.
        """
        position = 0
        for number, data in self.documents():
            if len(data) >= self.length:
                yield position, number, np.frombuffer(data, np.uint8)
                position += len(data) + self.length

    def _pieces(self, text: np.ndarray) -> Iterator[tuple[int, int]]:
        """Window starts of a text, from first to below last, some at a time."""
        windows = len(text) - self.length + 1
        for first in range(0, windows, self.piece):
            yield first, min(windows, first + self.piece)

    def _contexts(self) -> SortedRows:
        rows = self._rows(kernels.CONTEXT_COLUMNS, 4)
        anchors = np.empty(self.piece + self.length, np.uint64)
        out = np.empty((self.piece, kernels.CONTEXT_COLUMNS), np.uint64)
        cuts = np.empty((self.piece, 2), np.uint64)
        for position, number, text in self._texts():
            self.work.documents += 1
            self.work.bytes += len(text)
            self.texts.add(np.array([[position, number, len(text)]], np.uint64))
            for first, last in self._pieces(text):
                count, cut = kernels.contexts(
                    text,
                    position,
                    first,
                    last,
                    self.anchor,
                    self.length,
                    self.table,
                    self.prefixes,
                    anchors,
                    out,
                    cuts,
                )
                rows.add(out[:count])
                self.found.add(cuts[:cut])
        self.work.contexts += rows.rows
        return self._count(rows)

    def _judge_contexts(self, rows: SortedRows) -> SortedRows:
        requests = self._rows(2, 1)
        state = np.zeros(kernels.CONTEXT_COLUMNS + 1, np.uint64)
        for block in rows.blocks():
            cuts, asked = np.empty((2, len(block) + 1, 2), np.uint64)
            cut, count = kernels.judge_contexts(block, state, self.length, cuts, asked)
            self.found.add(cuts[:cut])
            requests.add(asked[:count])
        return self._count(requests)

    def _windows(self, requests: SortedRows) -> SortedRows:
        rows = self._rows(3, 3)
        out = np.empty((self.piece + self.length, 3), np.uint64)
        asked, seen = _Cursor(requests.blocks()), 0
        for position, _, text in self._texts():
            seen += len(text)
            for _, last in self._pieces(text):
                part = asked.below((position + last) << 4)
                if not len(part):
                    continue
                if not self._inside(part, position, len(text)):
                    raise CorruptData(_CHANGED)
                count = kernels.windows(
                    text, position, part, self.length, self.table, self.prefixes, out
                )
                rows.add(out[:count])
        if seen != self.work.bytes:
            raise CorruptData(_CHANGED)
        self.work.windows += rows.rows
        return self._count(rows)

    def _inside(self, requests: np.ndarray, position: int, size: int) -> bool:
        """Whether the windows asked for lie in the text at hand, so that a kernel may read them."""
        begin = int(requests[0, 0]) >> 4
        end = (int(requests[-1, 0]) >> 4) + int(requests[-1, 1]) - 1 + self.length
        return position <= begin and end <= position + size

    def _judge_windows(self, rows: SortedRows) -> None:
        state = np.zeros(4, np.uint64)
        for block in rows.blocks():
            cuts = np.empty((len(block), 2), np.uint64)
            self.found.add(cuts[: kernels.judge_windows(block, state, self.length, cuts)])

    def _joined(self) -> Iterator[np.ndarray]:
        """Cuts that neither overlap nor touch, by their edges."""
        state = np.zeros(2, np.uint64)
        for block in self.found.blocks():
            out = np.empty((len(block), 2), np.uint64)
            yield out[: kernels.join_cuts(block, state, out)]
        if state[1]:
            yield state[None]

    def _within(self, texts: np.ndarray, joined: _Cursor) -> Iterator[Cut]:
        """The cuts of some documents, drawn in to whole characters."""
        edges = joined.below(int(texts[-1, 0] + texts[-1, 2]) << 2)
        places, moved = edges >> np.uint64(2), edges & np.uint64(3)
        texts = texts[np.searchsorted(texts[:, 0], places[:, 0], "right") - 1]
        starts = places[:, 0] + moved[:, 0] - texts[:, 0]
        ends = places[:, 1] - moved[:, 1] - texts[:, 0]
        for row in zip(texts[:, 1].tolist(), starts.tolist(), ends.tolist(), strict=True):
            cut = Cut(*row)
            if cut.start < cut.end:
                self.work.cut_bytes += cut.end - cut.start
                yield cut

    def _count(self, rows: SortedRows) -> SortedRows:
        self.work.scratch_bytes += rows.rows * rows.columns * 8
        return rows


_CHANGED = (
    "the documents changed while repeated passages were looked for: "
    "start again and leave them alone until it is done"
)


class _Cursor:
    """Takes sorted rows from the blocks they come in, up to a bound of the first column."""

    def __init__(self, blocks: Iterator[np.ndarray]) -> None:
        self._blocks = blocks
        self._held: np.ndarray | None = next(blocks, None)

    def below(self, bound: int) -> np.ndarray:
        """The rows not taken yet whose first number is below `bound`."""
        parts = []
        while self._held is not None:
            cut = int(np.searchsorted(self._held[:, 0], np.uint64(bound)))
            parts.append(self._held[:cut])
            if cut < len(self._held):
                self._held = self._held[cut:]
                break
            self._held = next(self._blocks, None)
        return np.concatenate(parts) if parts else np.empty((0, 2), np.uint64)
