"""Encodes whole texts: words are split and looked up in one compiled pass, new ones merged there.

Ids are equal to the library's for every text: the merges and the classes of characters are the
tokenizer's own. What is rare and long (a word beyond 256 bytes) the library merges itself.
"""

from __future__ import annotations

import json
from typing import Any

import numba
import numpy as np

from seamount.corpora.text.encoding import merging, splitting

_DONE, _UNKNOWN, _LONG = 0, 1, 2


class BpeEncoder:
    """Encodes texts for a tokenizer that `fits`; one instance keeps one table of words."""

    def __init__(self, backend: Any) -> None:
        model = json.loads(backend.to_str())["model"]
        vocabulary = model["vocab"]
        self._pre_tokenizer = backend.pre_tokenizer
        self._classes = splitting.ascii_classes(backend.pre_tokenizer)
        self._byte_ids = _byte_ids(vocabulary)
        self._pairs = merging.pair_table(_merges(model["merges"], vocabulary))
        self._table = merging.WordTable()
        self._whole = _without_splitting(backend)

    @staticmethod
    def fits(backend: Any) -> bool:
        """Whether a tokenizer splits by GPT-2's rule, merges bytes, and does nothing else."""
        spec = json.loads(backend.to_str())
        model, splitter = spec["model"], spec["pre_tokenizer"] or {}
        rule = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
        extras = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges")
        return (
            model.get("type") == "BPE"
            and not any(model.get(name) for name in extras)
            and spec["normalizer"] is None
            and all(splitter.get(key) == value for key, value in rule.items())
            and all(token["special"] for token in spec["added_tokens"])
            and set(_alphabet()) <= set(model["vocab"])
            and len({tuple(_pair(m)) for m in model["merges"]}) == len(model["merges"])
        )

    def encode(self, text: str) -> np.ndarray:
        """Token ids int32[tokens] of `text`, special tokens taken as plain letters."""
        data = np.frombuffer(text.encode(), np.uint8)
        ids = np.empty(len(data), np.int32)
        position = count = 0
        state = (self._classes, self._byte_ids, *self._pairs, self._table.parts)
        while True:
            status, position, count, detail = _encode(data, position, ids, count, *state)
            if status == _DONE:
                return ids[:count]
            if status == _UNKNOWN:
                self._classes[detail] = splitting.class_of(self._pre_tokenizer, int(detail))
            else:
                count += self._long_word(data[position:detail], ids[count:])
                position = detail

    def _long_word(self, word: np.ndarray, ids: np.ndarray) -> int:
        """A word that the library merges."""
        found = self._whole.encode(word.tobytes().decode(), add_special_tokens=False).ids
        ids[: len(found)] = found
        return len(found)


def _alphabet() -> dict[str, int]:
    """GPT-2's letters for the 256 bytes (openai/gpt-2, encoder.py, bytes_to_unicode)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {chr(byte): byte for byte in plain}
    return letters | {chr(256 + number): byte for number, byte in enumerate(others)}


def _byte_ids(vocabulary: dict[str, int]) -> np.ndarray:
    ids = np.empty(256, np.int32)
    for letter, byte in _alphabet().items():
        ids[byte] = vocabulary[letter]
    return ids


def _pair(merge: str | list[str]) -> list[str]:
    """Both halves of a merge, which older files write as one string."""
    return merge.split(" ") if isinstance(merge, str) else merge


def _merges(merges: list[Any], vocabulary: dict[str, int]) -> list[tuple[int, int, int]]:
    pairs = (_pair(merge) for merge in merges)
    return [(vocabulary[a], vocabulary[b], vocabulary[a + b]) for a, b in pairs]


def _without_splitting(backend: Any) -> Any:
    """A twin that takes its whole input as one word."""
    from tokenizers import Tokenizer, pre_tokenizers

    twin = Tokenizer.from_str(backend.to_str())
    twin.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    twin.encode_special_tokens = True
    return twin


@numba.njit(cache=True, nogil=True)
def _encode(data, position, out, count, classes, byte_ids, keys, values, table):  # type: ignore[no-untyped-def]
    """From `position` on: (status, position, ids written, code point or end of the long word)."""
    ids = np.empty(merging.LONGEST, np.int32)
    while position < data.size:
        end = splitting.word_end(data, position, classes)
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
            found = merging.merge(data, position, end, byte_ids, keys, values, ids)
            for k in range(found):
                out[count + k] = ids[k]
            count += found
            merging.remember(data, position, end, value, slot, ids, found, table)
        position = end
    return _DONE, position, count, 0
