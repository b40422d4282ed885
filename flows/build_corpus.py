"""Sources to a corpus of shards with an account of every document."""

from typing import Annotated

from prefect import flow
from pydantic import Field

from tasks import building
from tasks.parameters import CorpusOptions, Place
from tasks.reference import absolute
from tasks.tracking import tracked_run

Sources = Annotated[list[Place], Field(min_length=1)]


@flow(name="build-corpus", description="Build a corpus: filter, remove copies, mix, split, shard.")
def build_corpus(
    sources: Sources = ["local"],  # noqa: B006  (Prefect shows it in the form; never changed)
    out: Place = "runs/corpus",
    options: CorpusOptions = CorpusOptions(),  # noqa: B008
) -> dict:
    """Return url, digest and counts of the corpus; an unchanged one is reused.

    Args:
        sources: URLs of Pile-format jsonl.zst (files or folders), or `local`: text of this machine.
        out: Folder or URL of the corpus.
        options: How it is built.
    """
    out = absolute(out)
    with tracked_run(out, "build-corpus", {"sources": sources, **options.model_dump()}) as run:
        found = building.find_sources(sources, out, options, run)
        return building.build_corpus(found, out, options, run).model_dump()
