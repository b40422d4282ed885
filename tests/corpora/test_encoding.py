"""The compiled encoder: merges by hand, tables that overflow, long words, other tokenizers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from seamount.corpora.text.encoding import merging, splitting
from seamount.corpora.text.encoding.encoder import BpeEncoder

TEXT = "the cat sat on the mat, it's 1234 and that's that\n\n  naïve café 東京 aaaaaaaa\n" * 20


def trained(vocab_size: int = 320, **model: object) -> Tokenizer:
    backend = Tokenizer(models.BPE(**model))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    backend.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend.train_from_iterator(
        [TEXT],
        trainers.BpeTrainer(
            vocab_size=vocab_size,
            initial_alphabet=alphabet,
            special_tokens=["<|endoftext|>"],
            show_progress=False,
        ),
    )
    backend.encode_special_tokens = True
    return backend


@pytest.fixture(scope="module")
def backend() -> Tokenizer:
    return trained()


@pytest.fixture(scope="module")
def encoder(backend: Tokenizer) -> BpeEncoder:
    return BpeEncoder(backend)


def test_merges_by_hand() -> None:
    # a, b, c = 0, 1, 2; "bc" first, then "ab", then "abc" from "a" + "bc".
    keys, values = merging.pair_table([(1, 2, 3), (0, 1, 4), (0, 3, 5)])
    byte_ids = np.zeros(256, np.int32)
    byte_ids[list(b"abc")] = [0, 1, 2]
    ids = np.empty(merging.LONGEST, np.int32)
    for word, expected in {b"abc": [5], b"ab": [4], b"abab": [4, 4], b"cab": [2, 4]}.items():
        data = np.frombuffer(word, np.uint8)
        found = merging.merge(data, 0, len(data), byte_ids, keys, values, ids)
        assert ids[:found].tolist() == expected


def test_of_equal_pairs_the_leftmost_is_merged_first() -> None:
    keys, values = merging.pair_table([(0, 0, 1)])
    ids = np.empty(merging.LONGEST, np.int32)
    data = np.frombuffer(b"aaa", np.uint8)
    found = merging.merge(data, 0, 3, np.zeros(256, np.int32), keys, values, ids)
    assert ids[:found].tolist() == [1, 0]


def test_classes_are_the_librarys_own() -> None:
    class_of = splitting.classes_of(single_digits=False)
    kinds = {"a": splitting.LETTER, "東": splitting.LETTER, "7": splitting.NUMBER}
    kinds |= {"½": splitting.NUMBER, "!": splitting.OTHER, "\u0301": splitting.OTHER}
    kinds |= {" ": splitting.SPACE, "\x85": splitting.SPACE, "\u200b": splitting.OTHER}
    for character, kind in kinds.items():
        assert class_of(ord(character)) == kind, character


PIECES = st.lists(
    st.sampled_from(
        ["the", "that", "'s", "'", "'ve", "'LL", " ", "  ", "\n", "\t", "a" * 300, "1", "é", "東京"]
    )
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    max_size=20,
).map("".join)


@settings(max_examples=500, deadline=None)
@given(text=PIECES)
def test_ids_are_the_librarys(backend: Tokenizer, encoder: BpeEncoder, text: str) -> None:
    assert encoder.encode(text).tolist() == backend.encode(text, add_special_tokens=False).ids


def test_a_table_that_overflows_again_and_again_changes_nothing(backend: Tokenizer) -> None:
    encoder = BpeEncoder(backend)
    encoder._table = merging.WordTable(slots=32)
    text = " ".join(f"word{n} {'x' * (n % 200)}" for n in range(500)) + TEXT
    assert encoder.encode(text).tolist() == backend.encode(text, add_special_tokens=False).ids


def test_a_megabyte_without_a_space_is_merged_by_the_library(
    backend: Tokenizer, encoder: BpeEncoder
) -> None:
    text = "abcaa" * 40_000 + " end"
    assert encoder.encode(text).tolist() == backend.encode(text, add_special_tokens=False).ids


def test_what_it_does_not_know_it_leaves_to_the_library() -> None:
    assert BpeEncoder.fits(trained())
    spec = json.loads(trained().to_str())
    changes: list[tuple[str, object]] = [
        ("normalizer", {"type": "Lowercase"}),
        ("normalizer", {"type": "NFKC"}),
        ("pre_tokenizer", {"type": "Whitespace"}),
        ("pre_tokenizer", {**spec["pre_tokenizer"], "use_regex": False}),
        ("model", {**spec["model"], "dropout": 0.1}),
        ("model", {**spec["model"], "end_of_word_suffix": "</w>"}),
    ]
    for key, value in changes:
        assert not BpeEncoder.fits(Tokenizer.from_str(json.dumps({**spec, key: value}))), key
