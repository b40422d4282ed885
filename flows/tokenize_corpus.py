"""A built corpus to a tokenizer and token files."""

from typing import Annotated

from prefect import flow
from pydantic import Field

from seamount.core import storage
from tasks import building, tokenizing
from tasks.parameters import CorpusOptions, Place
from tasks.reference import absolute
from tasks.tracking import tracked_run

Vocabulary = Annotated[int, Field(ge=257, le=1 << 20)]


@flow(name="tokenize-corpus", description="Learn a tokenizer and write token files.")
def tokenize_corpus(
    corpus: Place = "runs/demo/corpus", vocab_size: Vocabulary = 2048, out: Place = "runs/tokens"
) -> dict:
    """Return the reference to the token files.

    Args:
        corpus: Folder of a built corpus, or sources to build one from.
        vocab_size: Ids of the tokenizer.
        out: Folder for tokenizer/ and tokens/.
    """
    corpus, out = absolute(corpus), absolute(out)
    with tracked_run(out, "tokenize-corpus", {"corpus": corpus, "vocab_size": vocab_size}) as run:
        place = storage.join(out, "corpus")  # used where `corpus` is not built yet
        found = building.find_sources([corpus], place, CorpusOptions(), run)
        built = building.build_corpus(found, place, CorpusOptions(), run)
        folder = storage.join(out, "tokenizer")
        tokenizer = tokenizing.train_tokenizer(built, vocab_size, folder, run)
        tokens = storage.join(out, "tokens")
        return tokenizing.tokenize_corpus(built, tokenizer, tokens, run).model_dump()
