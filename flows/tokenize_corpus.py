"""A built corpus to token files, with a given tokenizer or one learnt from it."""

from typing import Annotated

from prefect import flow
from pydantic import Field

from seamount.core import storage
from tasks import building, tokenizing
from tasks.parameters import CorpusOptions, Place, TokenOptions
from tasks.reference import absolute
from tasks.tracking import tracked_run

Vocabulary = Annotated[int, Field(ge=257, le=1 << 20)]


@flow(name="tokenize-corpus", description="Write token files, with a given or a new tokenizer.")
def tokenize_corpus(
    corpus: Place = "runs/demo/corpus",
    vocab_size: Vocabulary = 2048,
    out: Place = "runs/tokens",
    tokenizer: Place | None = None,
    options: TokenOptions = TokenOptions(),  # noqa: B008
) -> dict:
    """Return the reference to the token files.

    Args:
        corpus: Folder of a built corpus, or sources to build one from.
        vocab_size: Ids of the tokenizer that is learnt where none is given.
        out: Folder for tokenizer/ and tokens/; with a given tokenizer, for the token files.
        tokenizer: Folder with tokenizer.json, such a file, or a Hugging Face name.
        options: Which splits, what opens a document, how many workers.
    """
    corpus, out = absolute(corpus), absolute(out)
    asked = {"corpus": corpus, "vocab_size": vocab_size, "tokenizer": tokenizer}
    with tracked_run(out, "tokenize-corpus", {**asked, **options.model_dump()}) as run:
        place = storage.join(out, "corpus")  # used where `corpus` is not built yet
        found = building.find_sources([corpus], place, CorpusOptions(), run)
        built = building.build_corpus(found, place, CorpusOptions(), run)
        tokens = out
        if tokenizer is None:
            folder, tokens = storage.join(out, "tokenizer"), storage.join(out, "tokens")
            tokenizer = tokenizing.train_tokenizer(built, vocab_size, folder, run).path
        return tokenizing.encode_corpus(built, tokenizer, tokens, options, run).model_dump()
