"""Encodes whole texts: words are split and looked up in one compiled pass, new ones merged there.

Ids are equal to the library's for every text: the merges and the classes of characters are the
tokenizer's own. What is rare and long (a word beyond 256 bytes) the library merges itself.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import numba
import numpy as np

from seamount.corpora.text.encoding import merging, rules, splitting

_DONE, _UNKNOWN, _LONG = 0, 1, 2


class BpeEncoder:
    """Encodes texts for a tokenizer that `fits`; one instance keeps one table of words."""

    def __init__(self, backend: Any, rule: rules.Rule | None = None) -> None:
        found = rule or rules.recognise(json.loads(backend.to_str()))
        if isinstance(found, str):
            raise ValueError(f"this tokenizer is the library's: {found}")
        model = json.loads(backend.to_str())["model"]
        vocabulary = model["vocab"]
        self.rule = found
        self._backend = backend
        self._class_of = splitting.classes_of(found.single_digits)
        self._classes = splitting.ascii_classes(self._class_of)
        self._byte_ids = _byte_ids(vocabulary)
        self._pairs = merging.pair_table(_merges(model["merges"], vocabulary))
        self._table = merging.WordTable()
        self._whole = _whole_words(vocabulary if found.ignore_merges else {})

    @staticmethod
    def fits(backend: Any) -> bool:
        """Whether the compiled pass serves a tokenizer (see `rules`)."""
        return isinstance(rules.recognise(json.loads(backend.to_str())), rules.Rule)

    def encode(self, text: str) -> np.ndarray | None:
        """Token ids int32[tokens] of `text`, special tokens taken as plain letters.

        None where `text` holds an added token that is not special: that text is the library's.
        """
        prepared = self._prepared(text)
        return None if prepared is None else self._encode(prepared)

    def _prepared(self, text: str) -> str | None:
        """The text that is split into words: normalised by the library, opened by a space."""
        if any(token in text for token in self._added):
            return None
        if self.rule.nfc and not text.isascii():
            text = self._backend.normalizer.normalize_str(text)
            if any(token in text for token in self._added):
                return None
        opens = self.rule.prefix_space and text and not text.startswith(" ")
        return f" {text}" if opens else text

    @cached_property
    def _added(self) -> list[str]:
        """Added tokens as they are written and as they are normalised: a text may hold either."""
        if not self.rule.nfc:
            return list(self.rule.added)
        normalised = map(self._backend.normalizer.normalize_str, self.rule.added)
        return sorted({*self.rule.added, *normalised})

    def _encode(self, text: str) -> np.ndarray:
        data = np.frombuffer(text.encode(), np.uint8)
        ids = np.empty(len(data), np.int32)
        position = count = 0
        digits = self.rule.digits
        tables = (self._table.parts, self._whole.parts)
        state = (digits, self._classes, self._byte_ids, *self._pairs, *tables)
        while True:
            status, position, count, detail = _encode(data, position, ids, count, *state)
            if status == _DONE:
                return ids[:count]
            if status == _UNKNOWN:
                self._classes[detail] = self._class_of(int(detail))
            else:
                count += self._long_word(data[position:detail], ids[count:])
                position = detail

    def _long_word(self, word: np.ndarray, ids: np.ndarray) -> int:
        """A word that the library merges."""
        found = self._unsplit.encode(word.tobytes().decode(), add_special_tokens=False).ids
        ids[: len(found)] = found
        return len(found)

    @cached_property
    def _unsplit(self) -> Any:
        """A twin of the tokenizer that takes its whole input as one word."""
        from tokenizers import Tokenizer, pre_tokenizers

        spec = json.loads(self._backend.to_str())
        plain: dict[str, Any] = {"normalizer": None, "added_tokens": [], "post_processor": None}
        twin = Tokenizer.from_str(json.dumps(spec | plain))
        twin.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        return twin


def _byte_ids(vocabulary: dict[str, int]) -> np.ndarray:
    ids = np.empty(256, np.int32)
    for letter, byte in rules.alphabet().items():
        ids[byte] = vocabulary[letter]
    return ids


def _merges(merges: list[Any], vocabulary: dict[str, int]) -> list[tuple[int, int, int]]:
    pairs = (rules.pair(merge) for merge in merges)
    return [(vocabulary[a], vocabulary[b], vocabulary[a + b]) for a, b in pairs]


def _whole_words(vocabulary: dict[str, int]) -> merging.WordTable:
    """Words that are tokens as they stand, for models that look there before they merge."""
    letters = rules.alphabet()
    as_bytes = str.maketrans({letter: chr(byte) for letter, byte in letters.items()})
    spelled = [
        (token.translate(as_bytes).encode("latin-1"), index)
        for token, index in vocabulary.items()
        if letters.keys() >= set(token)
    ]
    return merging.whole_word_table([one for one in spelled if one[0]])


@numba.njit(cache=True, nogil=True)
def _encode(data, position, out, count, digits, classes, byte_ids, keys, values, table, whole):  # type: ignore[no-untyped-def]
    """From `position` on: (status, position, ids written, code point or end of the long word)."""
    ids = np.empty(merging.LONGEST, np.int32)
    while position < data.size:
        if digits == 0:
            end = splitting.gpt2_end(data, position, classes)
        else:
            end = splitting.cl100k_end(data, position, classes, digits)
        if end < 0:
            return _UNKNOWN, position, count, -1 - end
        if end - position > merging.LONGEST:
            return _LONG, position, count, end
        value = merging.word_hash(data, position, end)
        slot = merging.find(data, position, end, value, table)
        known = table[1][slot, 3]
        if known > 0:
            first = table[1][slot, 2]
            for k in range(known):
                out[count + k] = table[3][first + k]
            count += known
        else:
            as_it_stands = merging.find(data, position, end, value, whole)
            if whole[1][as_it_stands, 3] > 0:
                ids[0], found = whole[3][whole[1][as_it_stands, 2]], 1
            else:
                found = merging.merge(data, position, end, byte_ids, keys, values, ids)
            for k in range(found):
                out[count + k] = ids[k]
            count += found
            merging.remember(data, position, end, value, slot, ids, found, table)
        position = end
    return _DONE, position, count, 0
