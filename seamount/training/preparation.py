"""What a recipe trains on: the tokens it names, or a small corpus built here and kept for reuse."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from seamount.core import lineage, settings, storage
from seamount.training.recipe import Recipe

log = logging.getLogger("seamount")


@dataclass(frozen=True)
class Prepared:
    """Folders of tokens and tokenizer."""

    tokens: str
    tokenizer: str


def prepare(recipe: Recipe, folder: str | None = None) -> Prepared:
    """The recipe's own token and tokenizer folders, else ones made from its corpus in `folder`.

    Without `folder` they stand in SEAMOUNT_HOME/prepared, one folder a corpus and vocabulary. What
    stands there whole is used again.
    """
    if recipe.data.tokens is not None and recipe.data.tokenizer is not None:
        return Prepared(recipe.data.tokens, recipe.data.tokenizer)
    base = folder or _home_of(recipe)
    corpus = _corpus(recipe, storage.join(base, "corpus"))
    return _tokens(recipe, base, corpus)


def _home_of(recipe: Recipe) -> str:
    data = recipe.data
    key = storage.digest_of([data.corpus, data.corpus_bytes, recipe.model.config.vocab_size])
    return str(settings.home() / "prepared" / key[:12])


def _corpus(recipe: Recipe, out: str) -> str:
    from seamount.corpora.text.build import CorpusRequest, build_corpus

    data = recipe.data
    if storage.exists(storage.join(data.corpus, "manifest.json")):
        return data.corpus  # built already, splits included
    request = CorpusRequest(sources=(data.corpus,), out=out, max_bytes=data.corpus_bytes)
    return build_corpus(request).url


def _tokens(recipe: Recipe, base: str, corpus: str) -> Prepared:
    from seamount.corpora.text.split import read_split
    from seamount.corpora.text.tokenizer import train_tokenizer
    from seamount.corpora.text.tokens import corpus_reference, tokenize_split

    tokenizer, tokens = storage.join(base, "tokenizer"), storage.join(base, "tokens")
    inputs = {"corpus": corpus_reference(corpus)}
    vocab_size = recipe.model.config.vocab_size
    if not _made_from(tokenizer, inputs, vocab_size):
        log.info("training a tokenizer of %d ids", vocab_size)
        texts = (document.text for document in read_split(corpus, "train"))
        train_tokenizer(texts, vocab_size, tokenizer, inputs=inputs)
    for split in ("train", "val"):
        tokenize_split(corpus, split, tokenizer, tokens)
    return Prepared(tokens, tokenizer)


def _made_from(tokenizer: str, inputs: dict[str, dict[str, str]], vocab_size: int) -> bool:
    if not storage.exists(storage.join(tokenizer, lineage.FILE_NAME)):
        return False
    record = lineage.read(tokenizer)
    made = {role: ref["digest"] for role, ref in record.inputs.items()}
    wanted = {role: ref["digest"] for role, ref in inputs.items()}
    whole = record.digest == storage.sha256(storage.join(tokenizer, "tokenizer.json"))
    return whole and made == wanted and record.parameters.get("vocab_size") == vocab_size
