"""Tokenizer and token files."""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from seamount.core import settings
from seamount.corpora.text import tokenizer as tokenizers
from seamount.corpora.text import tokenizing
from seamount.corpora.text.split import read_split
from seamount.corpora.text.tokens import TokensRef, tokenize_split
from seamount.tracking.run import Run
from tasks import publish
from tasks.caching import content_key, worth_retrying
from tasks.parameters import TokenOptions
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
        _show(found, run)
    return describe("tokens", out, **{f.split: f.tokens for f in found})


@task(
    description="Encode splits with a given tokenizer, shard by shard; what is finished is reused.",
    cache_policy=NO_CACHE,
    retries=1,
    retry_condition_fn=worth_retrying,
)
def encode_corpus(
    corpus: Artefact, tokenizer: str, out: str, options: TokenOptions, run: Run
) -> Artefact:
    """The folder `out` with one token file a split."""
    with station(run, "tokens", f"tokens: {options.split} of {corpus.path} with {tokenizer}"):
        request = tokenizing.TokenizeRequest(
            corpus.path,
            tokenizer,
            out,
            tokenizing.splits_of(corpus.path, options.split),
            workers=options.workers,
            scheduler=options.scheduler or settings.dask_scheduler(),
            prefix_token=options.prefix_token,
        )
        found = tokenizing.tokenize_corpus(request)
        _show(found, run)
    return describe("tokens", out, **{f.split: f.tokens for f in found})


def _show(found: list[TokensRef], run: Run) -> None:
    rows = [
        {
            "split": f.split,
            "documents": f.documents,
            "tokens": f.tokens,
            "bytes": f.size_bytes,
            "encoded by": f.encoding.get("encoded_by", ""),
        }
        for f in found
    ]
    publish.table("token-files", rows, "Tokens and bytes of each split")
    run.log_metrics({f"tokens/{f.split}": f.tokens for f in found})
