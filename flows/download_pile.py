"""Files of a corpus (the released Pile, or any list) from their mirrors into one folder."""

from typing import Annotated

from prefect import flow
from pydantic import Field

from seamount.corpora.text.download.addresses import shown
from tasks import downloading
from tasks.downloading import DownloadOptions
from tasks.parameters import Place
from tasks.reference import absolute
from tasks.tracking import tracked_run

Sources = Annotated[list[Place], Field(min_length=1)]


@flow(name="download-pile", description="Download files of a corpus: resumed, checked, whole.")
def download_pile(
    sources: Sources = ["pile"],  # noqa: B006  (Prefect shows it in the form; never changed)
    base_urls: list[Place] = [],  # noqa: B006
    out: Place = "runs/pile",
    options: DownloadOptions = DownloadOptions(),  # noqa: B008
) -> dict:
    """Return path, digest and counts of the folder; files that stand already are not fetched.

    Args:
        sources: URLs of files, mirror lists (.yaml, .json), s3:// folders, or `pile`.
        base_urls: Mirrors of every file of the lists; `pile` needs at least one.
        out: Local folder for the files.
        options: How they are fetched and checked.
    """
    out = absolute(out)
    named = {"sources": [shown(s) for s in sources], "base_urls": [shown(u) for u in base_urls]}
    with tracked_run(out, "download-pile", {**named, **options.model_dump()}) as run:
        files = downloading.find_files(sources, base_urls, out, options, run)
        results = downloading.fetch(files, out, options, run)
        return downloading.report_files(results, out, run).model_dump()
