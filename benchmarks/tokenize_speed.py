"""Encoding speed beside the tokenizers library, one thread, identical ids checked, by word rule.

    python benchmarks/tokenize_speed.py [--corpus URL] [--vocabulary 32000] [--rule NAME ...]
                                        [--json FILE]

Text: this machine's own (the catalog `local`), or any Pile-format jsonl.zst. A tokenizer of each
word rule is learnt from it. Reported: millions of UTF-8 bytes a CPU second, each the best of three,
and their ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}

import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers

from seamount.core.records import Document
from seamount.corpora.text import inputs
from seamount.corpora.text.tokenizer import TRAINING_BYTES, Tokenizer

ROUNDS = 3
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def texts(source: str, limit_bytes: int) -> list[str]:
    """Texts of a source, up to `limit_bytes`."""
    found: list[str] = []
    left = limit_bytes
    for one in inputs.expand((source,), limit_bytes):
        for record in inputs.read(one):
            if isinstance(record, Document) and left > 0:
                found.append(record.text)
                left -= len(record.text.encode())
    return found


def level(use_regex: bool) -> Any:
    """GPT-2's bytes as letters, with or without its word rule."""
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def split(pattern: str) -> Any:
    """Words by a regex, then bytes."""
    by = pre_tokenizers.Split(Regex(pattern), "isolated", invert=False)
    return pre_tokenizers.Sequence([by, level(False)])


RULES: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: level(True),
    "llama3": lambda: split(CL100K),
    "qwen2": lambda: split(CL100K.replace("{1,3}", "")),
    "starcoder": lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), level(True)]
    ),
}


def learnt(rule: str, documents: list[str], vocabulary: int) -> Tokenizer:
    """A tokenizer with a word rule, as its family has it (Llama's look-up, Qwen's normalizer)."""
    backend = tokenizers.Tokenizer(models.BPE(ignore_merges=rule == "llama3"))
    backend.pre_tokenizer = RULES[rule]()
    if rule == "qwen2":
        backend.normalizer = normalizers.NFC()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    options = {"initial_alphabet": alphabet, "show_progress": False}
    sample, size = [], 0
    for text in documents:
        sample.append(text)
        size += len(text.encode())
        if size >= TRAINING_BYTES:
            break
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, **options)
    backend.train_from_iterator(sample, trainer)
    backend.encode_special_tokens = True
    return Tokenizer(backend, "", "", None)


def best_cpu_s(work: Callable[[], object]) -> float:
    """Least CPU time of some rounds."""
    spent = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def measure(rule: str, documents: list[str], vocabulary: int) -> dict[str, Any]:
    """Both speeds for one word rule."""
    tokenizer = learnt(rule, documents, vocabulary)
    backend = tokenizer.backend
    # compiles, and fills the table of words
    arrays, by_library = tokenizer.encode_counted(documents)
    mine = [ids.tolist() for ids in arrays]
    theirs = [backend.encode_batch_fast([t], add_special_tokens=False)[0].ids for t in documents]
    own_s = best_cpu_s(lambda: tokenizer.encode_arrays(documents))
    library_s = best_cpu_s(lambda: backend.encode_batch_fast(documents, add_special_tokens=False))
    size_mb = sum(len(text.encode()) for text in documents) / 1e6
    return {
        "megabytes": size_mb,
        "tokens": sum(map(len, theirs)),
        "documents_by_library": by_library,
        "identical_ids": mine == theirs,
        "seamount_mb_per_cpu_s": size_mb / own_s,
        "tokenizers_mb_per_cpu_s": size_mb / library_s,
        "ratio": library_s / own_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="local")
    parser.add_argument("--vocabulary", type=int, default=32_000)
    parser.add_argument("--max-bytes", type=int, default=16_000_000)
    parser.add_argument("--rule", action="append", choices=RULES)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    documents = texts(given.corpus, given.max_bytes)
    results = {}
    for rule in given.rule or RULES:
        results[rule] = measure(rule, documents, given.vocabulary)
        for name, value in results[rule].items():
            shown = f"{value:,.2f}" if isinstance(value, float) else str(value)
            print(f"{rule:<10} {name:<26} {shown}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(results, indent=2))
    if not all(one["identical_ids"] for one in results.values()):
        raise SystemExit("ids differ from the library's")


if __name__ == "__main__":
    main()
