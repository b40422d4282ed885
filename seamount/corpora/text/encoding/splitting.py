"""GPT-2's word rule over UTF-8 bytes, compiled.

    's|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+

(openai/gpt-2, encoder.py.) What is a letter, a number or white space is not decided here but asked
of the library itself, once a code point, so both always agree whatever Unicode version each has.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

CODE_POINTS = 0x110000
UNKNOWN, LETTER, NUMBER, OTHER, SPACE = 0, 1, 2, 3, 4


def class_of(pre_tokenizer: Any, code_point: int) -> int:
    """The class a ByteLevel pre-tokenizer gives a character: which neighbours it runs on with."""
    character = chr(code_point)
    for kind, neighbour in ((LETTER, "a"), (NUMBER, "1"), (OTHER, "!")):
        if len(pre_tokenizer.pre_tokenize_str(f"{neighbour}{character}{neighbour}")) == 1:
            return kind
    return SPACE


def ascii_classes(pre_tokenizer: Any) -> np.ndarray:
    """A table uint8[code points] that knows ASCII; the rest is UNKNOWN until it occurs."""
    classes = np.zeros(CODE_POINTS, np.uint8)
    for code_point in range(128):
        classes[code_point] = class_of(pre_tokenizer, code_point)
    return classes


@numba.njit(cache=True, nogil=True)
def character_at(data, position):  # type: ignore[no-untyped-def]
    """(code point, bytes) of the character that begins at `position` of valid UTF-8."""
    first = np.int64(data[position])
    if first < 0x80:
        return first, 1
    second = np.int64(data[position + 1]) & 0x3F
    if first < 0xE0:
        return (first & 0x1F) << 6 | second, 2
    third = np.int64(data[position + 2]) & 0x3F
    if first < 0xF0:
        return (first & 0x0F) << 12 | second << 6 | third, 3
    fourth = np.int64(data[position + 3]) & 0x3F
    return (first & 0x07) << 18 | second << 12 | third << 6 | fourth, 4


@numba.njit(cache=True, nogil=True)
def word_end(data, start, classes):  # type: ignore[no-untyped-def]
    """Where the word that begins at `start` ends, or -1 - c where the class of c is UNKNOWN."""
    size = data.size
    contraction = _contraction(data, start)
    if contraction:
        return start + contraction
    code_point, length = character_at(data, start)
    kind = classes[code_point]
    position = start + length
    if kind == UNKNOWN:
        return -1 - code_point
    if code_point == 32 and position < size:
        next_code_point, next_length = character_at(data, position)
        next_kind = classes[next_code_point]
        if next_kind == UNKNOWN:
            return -1 - next_code_point
        if next_kind != SPACE:
            kind, position = next_kind, position + next_length
    last = start  # where the last character of the run begins
    while position < size:
        code_point, length = character_at(data, position)
        found = classes[code_point]
        if found == UNKNOWN:
            return -1 - code_point
        if found != kind:
            break
        last = position
        position += length
    # White space before a word leaves its last character to the word.
    return last if kind == SPACE and position < size and last > start else position


@numba.njit(cache=True, nogil=True, inline="always")
def _contraction(data, start):  # type: ignore[no-untyped-def]
    """Bytes of the contraction ('s, 't, 're, 've, 'm, 'll, 'd) that begins at `start`, or 0."""
    if data[start] != 39 or start + 1 >= data.size:
        return 0
    one = data[start + 1]
    if one == 115 or one == 116 or one == 109 or one == 100:
        return 2
    two = data[start + 2] if start + 2 < data.size else np.uint8(0)
    if (one == 114 and two == 101) or (one == 118 and two == 101) or (one == 108 and two == 108):
        return 3
    return 0
