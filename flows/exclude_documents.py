"""Documents taken out of a built corpus, and what was made from it before."""

from typing import Annotated

from prefect import flow
from pydantic import Field

from tasks import excluding
from tasks.excluding import Choice
from tasks.parameters import Place
from tasks.reference import absolute
from tasks.tracking import tracked_run

Corpus = Annotated[Place, Field(description="A built corpus.")]
Folders = Annotated[list[Place], Field(description="Folders of token files and checkpoints.")]


@flow(name="exclude-documents", description="Take documents out of a corpus; tell who saw them.")
def exclude_documents(
    corpus: Corpus = "runs/corpus",
    choice: Choice = Choice(),  # noqa: B008
    out: Place = "runs/exclusion",
    look: Folders = [],  # noqa: B006  (Prefect shows it in the form; never changed)
    dry_run: Annotated[bool, Field(description="Only tell what would go.")] = True,
) -> dict:
    """Return path, digest and counts of the corpus after the exclusion.

    Args:
        corpus: A built corpus.
        choice: What is excluded: components, ids or a pattern.
        out: Folder for exclusion.json, the report.
        look: Where token files and checkpoints lie; empty looks around the corpus.
        dry_run: Only tell what would go.
    """
    corpus, out = absolute(corpus), absolute(out)
    asked = {"corpus": corpus, **choice.model_dump(), "dry_run": dry_run}
    with tracked_run(out, "exclude-documents", asked) as run:
        done = excluding.exclude(corpus, choice, out, look, dry_run, run)
        return excluding.report_exclusion(done, run).model_dump()
