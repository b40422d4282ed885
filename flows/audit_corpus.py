"""What a corpus is composed of, and what of benchmarks and word lists is in it."""

from typing import Annotated

from prefect import flow
from pydantic import Field

from tasks import auditing
from tasks.auditing import AuditOptions
from tasks.parameters import Place
from tasks.reference import absolute
from tasks.tracking import tracked_run

Data = Annotated[Place, Field(description="A built corpus, or jsonl.zst files.")]


@flow(name="audit-corpus", description="Composition, effective numbers, contamination, bias.")
def audit_corpus(
    corpus: Data = "runs/corpus",
    out: Place = "runs/audit",
    options: AuditOptions = AuditOptions(),  # noqa: B008
) -> dict:
    """Return path, digest and main figures of the audit; the corpus is not changed.

    Args:
        corpus: A built corpus, or jsonl.zst files.
        out: Folder for audit.json, audit.svg and, where asked for, the other reports.
        options: What is reported.
    """
    corpus, out = absolute(corpus), absolute(out)
    with tracked_run(out, "audit-corpus", {"corpus": corpus, **options.model_dump()}) as run:
        auditing.find_benchmarks(corpus, out, options, run)
        auditing.count_words(corpus, out, options, run)
        return auditing.describe_corpus(corpus, out, options, run).model_dump()
