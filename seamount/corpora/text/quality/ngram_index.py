"""Word n-grams of benchmarks, and where a text shares them.

A word is a run of letters and digits, in lower case; signs and space between words do not matter.
Every match is compared word by word, so that no chance of a hash drops a document.

Legend: G different n-grams of the benchmarks, M matches in a text.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np
import orjson

from seamount.core import storage
from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text.text_statistics import characters
from seamount.corpora.text.text_statistics.scan import character, joined

_FNV_OFFSET, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MOST_BITS = 26
NGRAM = 13  # GPT-3 (arXiv 2005.14165, C.1) and the Pile (C.10)


class Match(NamedTuple):
    """A passage text[start:end] (characters) made of n-grams of a benchmark."""

    start: int
    end: int
    benchmark: str


@dataclass(frozen=True)
class NgramIndex:
    """Made by `build_index`.

    `keys_G` (uint64, sorted) are hashes of n-grams, `where_G2` (int64) first byte and end of each
    in `source` (UTF-8, lower case, all benchmark items), `too_short` how many items of a benchmark
    have fewer than n words and cannot be found.
    """

    n: int
    keys_G: np.ndarray
    where_G2: np.ndarray
    source: bytes
    names: tuple[tuple[int, str], ...]
    too_short: dict[str, int]

    def find(self, text: str) -> list[Match]:
        """Passages of `text` that stand in a benchmark, in order; neighbours are joined."""
        if not self.keys_G.size:
            return []
        data = _lower(text).encode()
        words = _words(data)
        grams = _hashes(words, self.n)
        likely = np.flatnonzero(self._present[grams >> self._shift])
        place = np.searchsorted(self.keys_G, grams[likely])
        place = np.minimum(place, self.keys_G.size - 1)
        equal = self.keys_G[place] == grams[likely]
        pairs = zip(likely[equal].tolist(), place[equal].tolist(), strict=True)
        spans = [self._span(data, words, k, key) for k, key in pairs]
        return _in_characters(data, _merged([span for span in spans if span]))

    @cached_property
    def _shift(self) -> np.uint64:
        bits = min(_MOST_BITS, 4 + int(self.keys_G.size).bit_length())
        return np.uint64(64 - bits)

    @cached_property
    def _present(self) -> np.ndarray:
        """Whether any key begins with these bits: a first look, ten times as fast as a search."""
        present = np.zeros(1 << (64 - int(self._shift)), np.bool_)
        present[self.keys_G >> self._shift] = True
        return present

    def _span(self, data: bytes, words: _Words, first: int, key: int) -> Match | None:
        """The n words from word `first` on, if they are those of the benchmark and no accident."""
        start, end = int(words.starts[first]), int(words.ends[first + self.n - 1])
        first_byte, last = (int(place) for place in self.where_G2[key])
        if _plain_words(data[start:end]) != _plain_words(self.source[first_byte:last]):
            return None
        name = next(name for begin, name in reversed(self.names) if begin <= first_byte)
        return Match(start, end, name)


class _Words(NamedTuple):
    hashes: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def build_index(urls: Iterable[str], n: int = NGRAM) -> NgramIndex:
    """Index of benchmark files (.jsonl or .json: all strings of a record in their order; .txt).

    Raises UserError where no item has n words.
    """
    source = io.BytesIO()
    names: list[tuple[int, str]] = []
    keys, where = [], []
    too_short: dict[str, int] = {}
    for url in urls:
        name = url.rsplit("/", 1)[-1]
        names.append((source.tell(), name))
        too_short[name] = 0
        for item in _items(url):
            data = _lower(item).encode("utf-8", "replace")
            words = _words(data)
            grams = _hashes(words, n)
            too_short[name] += grams.size == 0
            keys.append(grams)
            ends = words.ends[n - 1 :][: grams.size]
            where.append(np.stack([words.starts[: grams.size], ends], 1) + source.tell())
            source.write(data + b"\n")
    if not any(len(part) for part in keys):
        raise UserError(
            f"the benchmarks {', '.join(too_short) or '(none given)'} have no item of {n} words: "
            "give others or a smaller n"
        )
    keys_G, first = np.unique(np.concatenate(keys), return_index=True)
    where_G2 = np.concatenate(where)[first]
    return NgramIndex(n, keys_G, where_G2, source.getvalue(), tuple(names), too_short)


def _items(url: str) -> Iterator[str]:
    content = storage.read_bytes(url)
    if url.endswith(".txt"):
        yield content.decode("utf-8", "replace")
        return
    try:
        whole = url.endswith(".json")
        records = [orjson.loads(part) for part in ([content] if whole else content.splitlines())]
    except orjson.JSONDecodeError as error:
        raise CorruptData(f"benchmark {url} is not JSON: {error}") from error
    for record in records:
        for item in record if isinstance(record, list) else [record]:
            yield " ".join(_strings(item))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


def _lower(text: str) -> str:
    """Lower case with one character for one, so that places stay what they are."""
    return text.replace("\u0130", "i").lower()


def _plain_words(data: bytes) -> list[bytes]:
    words = _words(data)
    return [data[a:b] for a, b in zip(words.starts, words.ends, strict=True)]


def _words(data: bytes) -> _Words:
    most = (len(data) + 1) // 2
    arrays = np.empty(most, np.uint64), np.empty(most, np.int64), np.empty(most, np.int64)
    count = _split(np.frombuffer(data, np.uint8), characters.table(), *arrays)
    return _Words(*(array[:count] for array in arrays))


def _hashes(words: _Words, n: int) -> np.ndarray:
    """Hash (uint64) of the n-gram at each word but the last n - 1."""
    return _ngrams(words.hashes, n) if len(words.hashes) >= n else np.empty(0, np.uint64)


def _merged(spans: list[Match]) -> list[Match]:
    merged: list[Match] = []
    for span in spans:
        if merged and span.start <= merged[-1].end and span.benchmark == merged[-1].benchmark:
            merged[-1] = merged[-1]._replace(end=max(span.end, merged[-1].end))
        else:
            merged.append(span)
    return merged


def _in_characters(data: bytes, spans: list[Match]) -> list[Match]:
    def at(place: int) -> int:
        return len(data[:place].decode())

    return [Match(at(span.start), at(span.end), span.benchmark) for span in spans]


@numba.njit(cache=True, nogil=True)
def _split(data: Any, classes: Any, hashes: Any, starts: Any, ends: Any) -> int:
    count, inside = 0, False
    position = 0
    while position < data.size:
        kind, width = character(data, position, classes)
        if kind & characters.ALPHANUMERIC:
            if not inside:
                hashes[count], starts[count], inside = _FNV_OFFSET, position, True
            for k in range(position, position + width):
                hashes[count] = (hashes[count] ^ np.uint64(data[k])) * _FNV_PRIME
        elif inside:
            ends[count] = position
            count, inside = count + 1, False
        position += width
    if inside:
        ends[count] = data.size
        count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _ngrams(hashes: Any, n: int) -> Any:
    grams = np.empty(hashes.size - n + 1, np.uint64)
    for first in range(grams.size):
        value = hashes[first]
        for k in range(first + 1, first + n):
            value = joined(value, hashes[k])
        grams[first] = value
    return grams
