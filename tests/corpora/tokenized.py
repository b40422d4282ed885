"""What the tests of `corpus tokenize` share: foreign tokenizers, and a reader that is not ours."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def cl100k(texts: list[str], special: tuple[str, ...] = ("<|endoftext|>",)) -> Tokenizer:
    """Byte-level BPE with the word rule of Llama 3."""
    backend = Tokenizer(models.BPE(ignore_merges=True))
    split = pre_tokenizers.Split(Regex(CL100K), "isolated", invert=False)
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    backend.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    options = {"special_tokens": list(special), "show_progress": False}
    trainer = trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, **options)
    backend.train_from_iterator(texts, trainer)
    return backend


def unigram(texts: list[str]) -> Tokenizer:
    """As SentencePiece makes them: Unigram, Metaspace, NFKC."""
    backend = Tokenizer(models.Unigram())
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=400, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    backend.train_from_iterator(texts, trainer)
    return backend


def word_piece(texts: list[str]) -> Tokenizer:
    """As BERT's."""
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False)
    backend.train_from_iterator(texts, trainer)
    return backend


def library_ids(backend: Tokenizer, text: str) -> list[int]:
    """What the library makes of a text in which special tokens are letters."""
    backend.encode_special_tokens = True
    return list(backend.encode(text, add_special_tokens=False).ids)


def read(folder: Path, split: str) -> dict[str, list[int]]:
    """Ids of each document by its id, opening token included; with numpy and pyarrow alone."""
    entry = json.loads((folder / "tokens.json").read_text())["splits"][split]
    tokens = np.fromfile(folder / f"{split}.bin", entry["dtype"])
    index = pa.ipc.open_file(str(folder / f"{split}.idx")).read_all().to_pydict()
    ends = [*index["start"][1:], len(tokens)]
    ranges = zip(index["id"], index["start"], ends, strict=True)
    return {name: tokens[start:end].tolist() for name, start, end in ranges}
