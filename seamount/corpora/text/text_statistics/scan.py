"""The one pass over the bytes of a text: words, lines, paragraphs."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from seamount.corpora.text.text_statistics.characters import (
    ALPHANUMERIC,
    CLOSING,
    LETTER,
    SIZE,
    SPACE,
    TERMINAL,
)

_FNV_OFFSET, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MIX_1, _MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)  # MurmurHash3
_LINE_FEED, _HASH, _DOT = 10, 35, 46
_LONGEST_STOP_WORD = 4


@numba.njit(cache=True, nogil=True, inline="always")
def joined(gram: Any, word: Any) -> Any:
    """Hash of a row of things with one more; not symmetric, since "a b" is not "b a"."""
    value = gram * _MIX_1
    value = ((value ^ (value >> np.uint64(29))) + word) * _MIX_2
    return value ^ (value >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
def _wide(data: Any, position: int) -> Any:
    """(code point, bytes) of a character beyond ASCII; a byte alone where UTF-8 is cut short."""
    first = np.int64(data[position])
    width = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if first < 0xC0 or position + width > data.size:
        return first, 1
    code = first & (0xFF >> (width + 1))
    for k in range(1, width):
        code = (code << 6) | (np.int64(data[position + k]) & 0x3F)
    return code, width


@numba.njit(cache=True, nogil=True, inline="always")
def character(data: Any, position: int, classes: Any) -> Any:
    """(class, bytes) of the character at a position."""
    first = data[position]
    if first < 128:
        return classes[first], 1
    code, width = _wide(data, position)
    return (classes[code] if code < SIZE else np.uint8(0)), width


@numba.njit(cache=True, nogil=True)
def _word(data: Any, start: int, classes: Any) -> Any:
    """The word at `start`: its end, length, letters and digits, `#`s, ellipses, hash, lower-case
    letters packed, the classes of all its characters, of the last, and of the last that closes no
    quote or bracket.
    """
    position, length, alphanumeric, hashes, ellipses, dots = start, 0, 0, 0, 0, 0
    value, packed = _FNV_OFFSET, np.uint64(0)
    every = last = core = np.uint8(0)
    while position < data.size:
        kind, width = character(data, position, classes)
        if kind & SPACE:
            break
        byte = data[position]
        value = (value ^ np.uint64(byte)) * _FNV_PRIME
        if width == 1:
            lower = byte | 32 if 65 <= byte <= 90 else byte
            packed = (packed << np.uint64(8)) | np.uint64(lower)
            dots = dots + 1 if byte == _DOT else 0
            if dots == 3:
                ellipses, dots = ellipses + 1, 0
            hashes += byte == _HASH
        else:
            for k in range(1, width):
                value = (value ^ np.uint64(data[position + k])) * _FNV_PRIME
            packed, dots = np.uint64(0xFFFF), 0
            ellipses += is_ellipsis(data, position)
        length += 1
        alphanumeric += (kind & ALPHANUMERIC) != 0
        every |= kind
        last = kind
        if not kind & CLOSING:
            core = kind
        position += width
    return (
        position, length, alphanumeric, hashes, ellipses, joined(value, _FNV_OFFSET), packed,
        every, last, core,
    )  # fmt: skip


@numba.njit(cache=True, nogil=True, inline="always")
def is_ellipsis(data: Any, position: int) -> Any:
    """Whether U+2026 stands there."""
    return (
        position >= 0
        and position + 2 < data.size
        and data[position] == 0xE2
        and data[position + 1] == 0x80
        and data[position + 2] == 0xA6
    )


@numba.njit(cache=True, nogil=True, inline="always")
def _is_bullet(data: Any, position: int) -> Any:
    """Whether a line that begins there is an item: `*`, `-` or U+2022."""
    byte = data[position]
    dot = byte == 0xE2 and position + 2 < data.size
    return (
        byte == 42
        or byte == 45
        or (dot and data[position + 1] == 0x80 and data[position + 2] == 0xA2)
    )


@numba.njit(cache=True, nogil=True, inline="always")
def _ends_in_ellipsis(data: Any, start: int, end: int) -> Any:
    """Whether the word data[start:end] ends in three dots or U+2026."""
    if end - start < 3:
        return False
    dots = data[end - 1] == _DOT and data[end - 2] == _DOT and data[end - 3] == _DOT
    return dots or is_ellipsis(data, end - 3)


@numba.njit(cache=True, nogil=True)
def repeats(hashes: Any, lengths: Any) -> Any:
    """How many values stand in `hashes` once more than before, and the sum of their lengths."""
    bits = 4
    while (1 << bits) < 2 * hashes.size:
        bits += 1
    keys, mask = np.zeros(1 << bits, np.uint64), (1 << bits) - 1
    found, characters = 0, 0
    for k in range(hashes.size):
        key = hashes[k] | np.uint64(1)  # 0 marks an empty place
        slot = np.int64(key >> np.uint64(64 - bits))
        while keys[slot] != 0 and keys[slot] != key:
            slot = (slot + 1) & mask
        if keys[slot] == key:
            found += 1
            characters += lengths[k]
        keys[slot] = key
    return found, characters


@numba.njit(cache=True, nogil=True)
def scan(data: Any, classes: Any, stop_words: Any, word_arrays: Any, line_arrays: Any) -> Any:
    """Fill hash and length of every word and of every line with something on it; the counts come
    in the order of `Counts`.
    """
    word_hashes, word_lengths = word_arrays
    line_hashes, line_lengths = line_arrays
    paragraph_hashes = np.empty(line_hashes.size, np.uint64)
    paragraph_lengths = np.empty(line_hashes.size, np.int64)
    stop_seen = np.zeros(stop_words.size, np.bool_)
    characters = newlines = alphanumeric = words = word_characters = alphabetic = 0
    hashes = ellipses = sentences = lines = longest = bullets = trailing = terminated = 0
    paragraphs, in_paragraph, unfinished = 0, 0, False
    paragraph_hash = _FNV_OFFSET
    position = 0
    while position < data.size:
        line_hash, line_length, first_word = _FNV_OFFSET, 0, words
        last = core = np.uint8(0)
        word_start = word_end = position
        while position < data.size and data[position] != _LINE_FEED:
            kind, width = character(data, position, classes)
            if kind & SPACE:
                for k in range(position, position + width):
                    line_hash = (line_hash ^ np.uint64(data[k])) * _FNV_PRIME
                position += width
                line_length += 1
                continue
            word_start = position
            position, length, alnum, marks, dots, value, packed, every, last, core = _word(
                data, position, classes
            )
            word_end = position
            if words == first_word:
                bullets += _is_bullet(data, word_start)
            word_hashes[words], word_lengths[words] = value, length
            words += 1
            line_hash = joined(line_hash, value)
            line_length += length
            word_characters += length
            alphanumeric += alnum
            hashes += marks
            ellipses += dots
            alphabetic += (every & LETTER) != 0
            unfinished |= (every & ALPHANUMERIC) != 0
            if core & TERMINAL:
                sentences, unfinished = sentences + unfinished, False
            if position - word_start <= _LONGEST_STOP_WORD:
                for k in range(stop_words.size):
                    stop_seen[k] |= stop_words[k] == packed
        longest = max(longest, line_length)
        characters += line_length
        if words > first_word:
            sentences, unfinished = sentences + unfinished, False
            trailing += _ends_in_ellipsis(data, word_start, word_end)
            terminated += word_end == position and (last & TERMINAL) != 0
            line_hashes[lines], line_lengths[lines] = line_hash, line_length
            lines += 1
            paragraph_hash = joined(paragraph_hash, line_hash)
            in_paragraph += line_length + 1
        at_end = position + 1 >= data.size
        if in_paragraph > 0 and (at_end or words == first_word):
            paragraph_hashes[paragraphs] = paragraph_hash
            paragraph_lengths[paragraphs] = in_paragraph - 1
            paragraphs, in_paragraph, paragraph_hash = paragraphs + 1, 0, _FNV_OFFSET
        if position < data.size:
            newlines += 1
            characters += 1
            position += 1
    again, again_length = repeats(line_hashes[:lines], line_lengths[:lines])
    parts, parts_length = repeats(paragraph_hashes[:paragraphs], paragraph_lengths[:paragraphs])
    return (
        characters, newlines, alphanumeric, words, word_characters, alphabetic, stop_seen.sum(),
        hashes, ellipses, sentences, lines, longest, bullets, trailing, terminated,
        again, again_length, paragraphs, parts, parts_length,
    )  # fmt: skip
