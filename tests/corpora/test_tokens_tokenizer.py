"""The tokenizer: round trip, exact byte counts, determinism, equality with the library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamount.core import lineage
from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text.encoding.encoder import BpeEncoder
from seamount.corpora.text.tokenizer import END_OF_TEXT, load_tokenizer, train_tokenizer

TEXTS = [
    "def main():\n    return [x for x in range(10)]\n\n\n",
    "Ein schöner Tag im März — naïve café, 東京 and \U0001f600!",
    "it's we're I'll 1234 56   \t\t tabs\r\nand\r\n  more\n\n   \n end  ",
] * 5
# Any text a reader can hand on: no lone surrogates; white space and edges of classes often.
ODD = st.text(
    st.sampled_from("a1'!é\u0301東_ \n\t\r\x0b\x1c\x1f\x85\xa0\u2003\u2028\u200b\ufeffsté½Ⅷ")
)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"])) | ODD


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return train_tokenizer(iter(TEXTS), 400, str(tmp_path_factory.mktemp("tokenizer")))


@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT)
def test_every_text_round_trips_with_its_bytes_counted_exactly(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.bytes_per_token[ids].sum() == len(text.encode())


@settings(max_examples=400, deadline=None)
@given(text=ANY_TEXT)
def test_fast_encoding_gives_the_librarys_ids(tokenizer, text):
    assert tokenizer.encode(text) == tokenizer.backend.encode(text, add_special_tokens=False).ids


def test_fast_encoding_gives_the_librarys_ids_on_real_text(tokenizer, shared_data):
    import zstandard

    with open(shared_data / "pile_sample" / "01.jsonl.zst", "rb") as file:
        lines = zstandard.ZstdDecompressor().stream_reader(file).read().decode().split("\n")
    texts = [json.loads(line)["text"][:3000] for line in lines[:400] if line]
    assert BpeEncoder.fits(tokenizer.backend)
    plain = tokenizer.backend.encode_batch_fast(texts, add_special_tokens=False)
    assert tokenizer.encode_batch(texts) == [e.ids for e in plain]


def test_the_end_marker_is_id_0_and_never_made_from_text(tokenizer):
    assert tokenizer.prefix_id == 0
    assert tokenizer.backend.id_to_token(0) == END_OF_TEXT
    ids = tokenizer.encode(f"a{END_OF_TEXT}b")
    assert 0 not in ids
    assert tokenizer.decode(ids) == f"a{END_OF_TEXT}b"


def test_half_a_character_counts_its_own_bytes_not_those_of_u_fffd(tokenizer):
    ids = tokenizer.encode("\U0001f600")  # 4 bytes in several tokens
    assert len(ids) > 1
    assert tokenizer.bytes_per_token[ids].sum() == 4
    assert sum(len(tokenizer.decode([i]).encode()) for i in ids) > 4  # the mistake


def test_the_same_texts_give_the_same_file(tokenizer, tmp_path):
    again = train_tokenizer(iter(TEXTS), 400, str(tmp_path / "again"))
    assert again.digest == tokenizer.digest
    assert lineage.read(str(tmp_path / "again")).digest == again.digest
    assert again.vocab_size == tokenizer.vocab_size <= 400


def test_training_reads_no_more_than_the_cap(tmp_path):
    def endless():
        while True:
            yield "words and é" * 50

    found = train_tokenizer(endless(), 300, str(tmp_path), max_bytes=10_001)
    assert lineage.read(str(tmp_path)).parameters["read_bytes"] == 10_001
    assert found.vocab_size >= 257


def test_transformers_opens_it_and_agrees(tokenizer):
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(tokenizer.folder)
    text = "def main(): it's 東京"
    assert theirs(text, add_special_tokens=False)["input_ids"] == tokenizer.encode(text)
    assert theirs(text)["input_ids"] == [0, *tokenizer.encode(text)]
    assert tokenizer.encode_prompt(text) == [0, *tokenizer.encode(text)]
    assert tokenizer.encode_prompt("") == [0]


def test_a_foreign_tokenizer_has_no_byte_table(shared_data):
    with pytest.raises(UserError, match="not byte-level"):
        _ = load_tokenizer(str(shared_data / "llama_aidreams260k")).bytes_per_token


def test_bad_input_is_named(tmp_path: Path):
    with pytest.raises(UserError, match="at least 257"):
        train_tokenizer(iter(TEXTS), 100, str(tmp_path))
    with pytest.raises(UserError, match="empty"):
        train_tokenizer(iter(()), 300, str(tmp_path))
    with pytest.raises(UserError, match=r"no tokenizer\.json"):
        load_tokenizer(str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(CorruptData, match="not a tokenizer"):
        load_tokenizer(str(tmp_path))
