"""Fast exact encoding for GPT-2's word rule: each distinct word is merged once and remembered.

The tokenizers library spends most of its time on splitting, one text at a time. Words repeat, so
here Python's own regular expressions split ASCII text by the same rule, and a word's ids come from
a table. Everything else goes through the library itself, cut only where the rule always cuts:
between a character that is not white space and one that is. Ids are equal to the library's.
"""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import Any

_SPACE = r"\t-\r "
# White_Space of Unicode, which is what \s means to the library (Python's own differs).
_UNICODE_SPACE = _SPACE + r"\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_ASCII_WORD = (
    rf"'(?:[sdmt]|ll|ve|re)| ?[A-Za-z]+| ?[0-9]+| ?[^{_SPACE}A-Za-z0-9]+"
    rf"|[{_SPACE}]+(?![^{_SPACE}])|[{_SPACE}]+"
)
_CHUNK = rf"[{_UNICODE_SPACE}]*[^{_UNICODE_SPACE}]+|[{_UNICODE_SPACE}]+"
_LINE_END = r"(?<=[!-~])(?=\n)"
_REMEMBERED = 200_000
_LONGEST = 64


class WordEncoder:
    """Encodes texts for a tokenizer that `fits`; one instance keeps one table of words."""

    def __init__(self, backend: Any) -> None:
        self._splitting = backend
        self._whole = _without_splitting(backend)
        self._ids: dict[str, list[int]] = {}
        self._split_words = re.compile(_ASCII_WORD).findall
        self._split_chunks = re.compile(_CHUNK).findall
        self._split_lines = re.compile(_LINE_END).split

    @staticmethod
    def fits(backend: Any) -> bool:
        """Whether a tokenizer splits by GPT-2's rule and does nothing else to a text."""
        spec = json.loads(backend.to_str())
        splitter = spec["pre_tokenizer"] or {}
        wanted = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
        return (
            spec["model"].get("type") == "BPE"
            and spec["normalizer"] is None
            and all(splitter.get(key) == value for key, value in wanted.items())
            and all(token["special"] for token in spec["added_tokens"])
        )

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`, special tokens taken as plain letters."""
        words = self._words(text)
        distinct = set(words)
        missing = [word for word in distinct if word not in self._ids]
        if len(self._ids) + len(missing) > _REMEMBERED:
            self._ids.clear()
            missing = list(distinct)
        self._learn(missing)
        ids = list(chain.from_iterable(map(self._ids.__getitem__, words)))
        for word in missing:
            if len(word) > _LONGEST:
                del self._ids[word]
        return ids

    def _words(self, text: str) -> list[str]:
        """ASCII words, and runs with other letters between white space, in order."""
        if text.isascii():
            return list(self._split_words(text))
        words: list[str] = []
        for line in self._split_lines(text):
            if line.isascii():
                words += self._split_words(line)
                continue
            for chunk in self._split_chunks(line):
                if chunk.isascii():
                    words += self._split_words(chunk)
                else:
                    words.append(chunk)
        return words

    def _learn(self, words: list[str]) -> None:
        """Ask the library: ASCII words are one word each, the others it splits itself."""
        plain = [w for w in words if w.isascii()]
        other = [w for w in words if not w.isascii()]
        for backend, some in ((self._whole, plain), (self._splitting, other)):
            found = backend.encode_batch_fast(some, add_special_tokens=False)
            self._ids.update(zip(some, (e.ids for e in found), strict=True))


def _without_splitting(backend: Any) -> Any:
    """A twin that takes its whole input as one word."""
    from tokenizers import Tokenizer, pre_tokenizers

    twin = Tokenizer.from_str(backend.to_str())
    twin.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    twin.encode_special_tokens = True
    return twin
