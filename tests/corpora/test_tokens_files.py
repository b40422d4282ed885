"""Token files and packed sequences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamount.core import lineage
from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst, token_parts, tokens
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.packing import PackedSequences, permuted
from seamount.corpora.text.tokenizer import train_tokenizer
from seamount.corpora.text.tokens import TokenFile, write_tokens

DOCUMENTS = [
    Document("one two three " * 20, "A", "a/1", "x"),
    Document("", "A", "a/2", "x"),
    Document("zwei wörter " * 30, "B", "b/1", "x"),
    Document("four five six\n" * 10, "A", "a/3", "x"),
]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    texts = [d.text for d in DOCUMENTS]
    return train_tokenizer(iter(texts), 280, str(tmp_path_factory.mktemp("small_tokenizer")))


def inputs(tokenizer, corpus="c0"):
    return {
        "corpus": {"path": "corpus", "digest": corpus},
        "tokenizer": {"path": tokenizer.folder, "digest": tokenizer.digest},
    }


@pytest.fixture
def file(tokenizer, tmp_path):
    write_tokens(DOCUMENTS, tokenizer, str(tmp_path), "train", inputs(tokenizer))
    return TokenFile(str(tmp_path), "train")


def test_a_file_is_every_document_after_its_prefix(tokenizer, file):
    expected = [i for d in DOCUMENTS for i in (0, *tokenizer.encode(d.text))]
    assert file.tokens.tolist() == expected
    assert file.tokens.dtype == np.uint16
    assert isinstance(file.tokens, np.memmap)
    assert file.document_ids == [d.id for d in DOCUMENTS]
    assert file.components == ["A", "A", "B", "A"]
    assert len(file.starts) == 5
    assert file.starts[-1] == len(expected)
    assert all(file.tokens[s] == 0 for s in file.starts[:-1])
    assert file.tokenizer_digest == tokenizer.digest


def test_counts_are_those_of_the_documents(tokenizer, tmp_path):
    ref = write_tokens(DOCUMENTS, tokenizer, str(tmp_path), "val", inputs(tokenizer))
    assert ref.documents == 4
    assert ref.size_bytes == sum(len(d.text.encode()) for d in DOCUMENTS)
    assert ref.components["B"] == {
        "documents": 1,
        "tokens": 1 + len(tokenizer.encode(DOCUMENTS[2].text)),
        "size_bytes": 30 * len("zwei wörter ".encode()),
    }


def test_batches_do_not_change_the_bytes(tokenizer, tmp_path, monkeypatch):
    write_tokens(DOCUMENTS, tokenizer, str(tmp_path / "a"), "train", inputs(tokenizer))
    monkeypatch.setattr(token_parts, "_BATCH_DOCUMENTS", 1)
    write_tokens(iter(DOCUMENTS), tokenizer, str(tmp_path / "b"), "train", inputs(tokenizer))
    for name in ("train.bin", "train.idx", "tokens.json", "lineage.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_large_vocabularies_take_four_bytes(tokenizer):
    from dataclasses import replace

    class Large:
        def __init__(self, largest):
            self.largest = largest

        def get_vocab(self, with_added_tokens):
            return {"a": 0, "b": self.largest}  # ids may have gaps: the largest decides

    for largest, dtype in ((65_535, "<u2"), (65_536, "<u4")):
        assert token_parts.dtype_of(replace(tokenizer, backend=Large(largest))) == dtype
    assert token_parts.dtype_of(tokenizer) == "<u2"


def test_the_same_digests_are_reused_and_others_are_not(tokenizer, tmp_path):
    out = str(tmp_path / "tokens")

    def corpus(name, documents):
        jsonl_zst.write_documents(str(tmp_path / f"{name}.jsonl.zst"), documents)
        source, built = str(tmp_path / f"{name}.jsonl.zst"), str(tmp_path / name)
        shares = {"val_share": 0, "test_share": 0}
        return build_corpus(CorpusRequest((source,), built, dedupe="none", **shares)).url

    call = (corpus("one", DOCUMENTS), "train", tokenizer.folder, out)
    first = tokens.tokenize_split(*call)
    second = tokens.tokenize_split(*call)
    assert (first.reused, second.reused) == (False, True)
    assert first.digest == second.digest
    path = tmp_path / "tokens" / "train.bin"
    path.write_bytes(path.read_bytes()[:-2] + b"\1\0")  # same size, other content
    assert not tokens.tokenize_split(*call).reused
    other = (corpus("two", DOCUMENTS[:3]), *call[1:])
    assert not tokens.tokenize_split(*other).reused


def test_a_split_of_another_corpus_is_not_kept(tokenizer, tmp_path):
    write_tokens(DOCUMENTS, tokenizer, str(tmp_path), "train", inputs(tokenizer, "old"))
    write_tokens(DOCUMENTS[:1], tokenizer, str(tmp_path), "val", inputs(tokenizer, "new"))
    with pytest.raises(UserError, match="no split 'train'"):
        _ = TokenFile(str(tmp_path), "train").tokens
    assert lineage.read(str(tmp_path)).parameters == {"splits": ["val"]}


def test_a_cut_file_is_an_error(file, tmp_path):
    path = tmp_path / "train.bin"
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(CorruptData, match="tokenise again"):
        _ = TokenFile(str(tmp_path), "train").tokens


def test_a_failure_leaves_no_file_under_a_final_name(tokenizer, tmp_path):
    def broken():
        yield DOCUMENTS[0]
        raise RuntimeError("reader died")

    with pytest.raises(RuntimeError):
        write_tokens(broken(), tokenizer, str(tmp_path), "train", inputs(tokenizer))
    assert list(tmp_path.iterdir()) == []


def test_an_epoch_predicts_every_token_once(file):
    packed = PackedSequences(file, 16, seed=3)
    targets = np.concatenate([packed[i][0][1:] for i in range(len(packed))])
    used = 1 + 16 * len(packed)
    assert sorted(targets) == sorted(file.tokens[1:used].tolist())
    assert packed.dropped_tokens == len(file.tokens) - used


def test_document_numbers_follow_the_boundaries(file):
    packed = PackedSequences(file, 16, seed=3)
    expected = np.repeat(np.arange(4), np.diff(file.starts))
    for index in range(len(packed)):
        ids, documents = packed[index]
        start = permuted(index, len(packed), 3, 0) * 16
        assert documents.tolist() == expected[start : start + 17].tolist()
        assert ids.dtype == np.int64


def test_order_depends_on_seed_and_epoch_alone(file):
    packed = PackedSequences(file, 8, seed=3)
    again = PackedSequences(TokenFile(file.folder, "train"), 8, seed=3)
    late = [again[i][0].tolist() for i in range(len(packed), 2 * len(packed))]
    assert late == [packed[i][0].tolist() for i in range(len(packed), 2 * len(packed))]
    assert late != [packed[i][0].tolist() for i in range(len(packed))]
    other = PackedSequences(file, 8, seed=4)
    assert late != [other[i][0].tolist() for i in range(len(packed), 2 * len(packed))]


@settings(max_examples=60, deadline=None)
@given(size=st.integers(1, 300), seed=st.integers(-5, 2**40), epoch=st.integers(0, 1000))
def test_the_permutation_is_one(size, seed, epoch):
    assert sorted(permuted(i, size, seed, epoch) for i in range(size)) == list(range(size))


def test_too_little_text_is_named(file):
    with pytest.raises(UserError, match="too few"):
        PackedSequences(file, 100_000)
