"""Word rules over UTF-8 bytes, compiled.

GPT-2's (openai/gpt-2, encoder.py):

    's|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+

and cl100k's (openai/tiktoken; Llama 3 and Qwen 2 differ in the number of digits, here k):

    (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,k}
    | ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+

What is a letter, a number or white space is not decided here but asked of the library itself, once
a code point, so both always agree whatever Unicode version each has. A DIGIT is a word of its own:
there are none but for tokenizers that first cut off single digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np

CODE_POINTS = 0x110000
UNKNOWN, LETTER, NUMBER, OTHER, SPACE, DIGIT = 0, 1, 2, 3, 4, 5
_CR, _LF, _BLANK = 13, 10, 32


def classes_of(single_digits: bool) -> Callable[[int], int]:
    """A function from a code point to its class: which neighbours the library runs it on with."""
    from tokenizers import pre_tokenizers

    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    digits = pre_tokenizers.Digits(individual_digits=True)

    def class_of(code_point: int) -> int:
        character = chr(code_point)
        if single_digits and len(digits.pre_tokenize_str(f"a{character}a")) == 3:
            return DIGIT
        for kind, neighbour in ((LETTER, "a"), (NUMBER, "1"), (OTHER, "!")):
            if len(words.pre_tokenize_str(f"{neighbour}{character}{neighbour}")) == 1:
                return kind
        return SPACE

    return class_of


def ascii_classes(class_of: Callable[[int], int]) -> np.ndarray:
    """A table uint8[code points] that knows ASCII; the rest is UNKNOWN until it occurs."""
    classes = np.zeros(CODE_POINTS, np.uint8)
    for code_point in range(128):
        classes[code_point] = class_of(code_point)
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
def gpt2_end(data, start, classes):  # type: ignore[no-untyped-def]
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
    if kind == DIGIT:
        return position
    if code_point == _BLANK and position < size:
        next_code_point, next_length = character_at(data, position)
        next_kind = classes[next_code_point]
        if next_kind == UNKNOWN:
            return -1 - next_code_point
        if next_kind != SPACE and next_kind != DIGIT:
            kind, position = next_kind, position + next_length
    last = start  # where the last character of the run begins
    while position < size:
        code_point, length = character_at(data, position)
        found = classes[code_point]
        if found == UNKNOWN:
            return -1 - code_point
        if found != kind:
            if found == DIGIT:  # cut off before: to this rule the text ends here
                return position
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


@numba.njit(cache=True, nogil=True)
def cl100k_end(data, start, classes, digits):  # type: ignore[no-untyped-def]
    """As `gpt2_end`, by cl100k's rule with at most `digits` digits a word."""
    size = data.size
    contraction = _contraction_any_case(data, start)
    if contraction:
        return start + contraction
    code_point, length = character_at(data, start)
    kind = classes[code_point]
    position = start + length
    if kind == UNKNOWN:
        return -1 - code_point
    if kind == LETTER:
        return _run_end(data, position, classes, LETTER, size)
    if kind == NUMBER:
        return _run_end(data, position, classes, NUMBER, digits - 1)
    following = SPACE
    if position < size:
        next_code_point, next_length = character_at(data, position)
        following = classes[next_code_point]
        if following == UNKNOWN:
            return -1 - next_code_point
        if following == LETTER and code_point != _CR and code_point != _LF:
            return _run_end(data, position + next_length, classes, LETTER, size)
    if kind == OTHER or (code_point == _BLANK and following == OTHER):
        position = _run_end(data, position, classes, OTHER, size)
        while 0 <= position < size and (data[position] == _CR or data[position] == _LF):
            position += 1
        return position
    return _white_end(data, start, classes)


@numba.njit(cache=True, nogil=True, inline="always")
def _contraction_any_case(data, start):  # type: ignore[no-untyped-def]
    """As `_contraction` in any case, where U+017F (bytes C5 BF) is a lower-case s too."""
    if data[start] != 39 or start + 1 >= data.size:
        return 0
    one = data[start + 1] | 32
    if one == 115 or one == 116 or one == 109 or one == 100:
        return 2
    two = data[start + 2] if start + 2 < data.size else np.uint8(0)
    if data[start + 1] == 0xC5 and two == 0xBF:
        return 3
    two |= 32
    if (one == 114 and two == 101) or (one == 118 and two == 101) or (one == 108 and two == 108):
        return 3
    return 0


@numba.njit(cache=True, nogil=True)
def _run_end(data, position, classes, kind, most):  # type: ignore[no-untyped-def]
    """Where a run of at most `most` characters of one class ends, or -1 - c as above."""
    while position < data.size and most > 0:
        code_point, length = character_at(data, position)
        found = classes[code_point]
        if found == UNKNOWN:
            return -1 - code_point
        if found != kind:
            break
        position += length
        most -= 1
    return position


@numba.njit(cache=True, nogil=True)
def _white_end(data, start, classes):  # type: ignore[no-untyped-def]
    """White space: up to its last line end, else all but the character before a word."""
    position, last, line_end = start, start, 0
    while position < data.size:
        code_point, length = character_at(data, position)
        found = classes[code_point]
        if found == UNKNOWN:
            return -1 - code_point
        if found != SPACE:
            break
        last = position
        position += length
        if code_point in (_CR, _LF):
            line_end = position
    if line_end:
        return line_end
    return last if position < data.size and last > start else position
