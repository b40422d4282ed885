"""Tokenizer and token files."""

from __future__ import annotations

from prefect import task

from seamount.corpora.text import tokenizer as tokenizers
from seamount.corpora.text.split import read_split
from seamount.corpora.text.tokens import tokenize_split
from seamount.tracking.run import Run
from tasks import publish
from tasks.caching import content_key, worth_retrying
from tasks.reference import Artefact, describe
from tasks.tracking import station

_CODE = ("seamount.corpora.text", "seamount.core")


@task(
    description="Learn a byte-level BPE from the train split.",
    cache_key_fn=content_key(*_CODE),
    persist_result=True,
    result_serializer="json",
    retries=1,
    retry_condition_fn=worth_retrying,
)
def train_tokenizer(corpus: Artefact, vocab_size: int, out: str, run: Run) -> Artefact:
    """The tokenizer folder `out`."""
    with station(run, "tokenizer", f"tokenizer: {vocab_size} ids from {corpus.path}"):
        texts = (document.text for document in read_split(corpus.path, "train"))
        inputs = {"corpus": {"path": corpus.path, "digest": corpus.digest}}
        found = tokenizers.train_tokenizer(texts, vocab_size, out, inputs=inputs)
    return describe("tokenizer", out, found.digest, vocab_size=found.vocab_size)


@task(
    description="Encode the train and val splits into memory-mapped token files.",
    cache_key_fn=content_key(*_CODE),
    persist_result=True,
    result_serializer="json",
    retries=1,
    retry_condition_fn=worth_retrying,
)
def tokenize_corpus(corpus: Artefact, tokenizer: Artefact, out: str, run: Run) -> Artefact:
    """The folder `out` with one token file a split."""
    with station(run, "tokens", f"tokens: train and val of {corpus.path}"):
        splits = [name for name in ("train", "val") if corpus.facts["splits"][name]["documents"]]
        found = [tokenize_split(corpus.path, name, tokenizer.path, out) for name in splits]
        rows = [
            {"split": f.split, "documents": f.documents, "tokens": f.tokens, "bytes": f.size_bytes}
            for f in found
        ]
        publish.table("token-files", rows, "Tokens and bytes of each split")
        run.log_metrics({f"tokens/{f.split}": f.tokens for f in found})
    return describe("tokens", out, **{f.split: f.tokens for f in found})
