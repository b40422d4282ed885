"""A trained model to a quantised export that must hold its bits per byte."""

from typing import Annotated

from prefect import flow
from pydantic import Field

from seamount.core import storage
from tasks import exporting
from tasks.parameters import ExportOptions, Place
from tasks.reference import absolute, existing
from tasks.tracking import tracked_run

Data = Annotated[Place, Field(description="A built corpus (its test split) or jsonl.zst files.")]


@flow(name="export-model", description="Quantise, export, prove parity, measure, publish.")
def export_model(
    model: Place = "runs/demo/model",
    data: Place = "runs/demo/corpus",
    out: Place = "runs/export",
    options: ExportOptions = ExportOptions(),  # noqa: B008
) -> dict:
    """Return path, format and bits-per-byte deltas of the export.

    Args:
        model: Our model or checkpoint folder.
        data: A built corpus (its test split), or jsonl.zst files, to measure it on.
        out: Folder for export/ and scores.json.
        options: How it is exported, and when it is refused.
    """
    model, data, out = absolute(model), absolute(data), absolute(out)
    exported = existing("model", model)
    documents = existing("documents", data)
    with tracked_run(out, "export-model", {"model": model, **options.model_dump()}) as run:
        folder, scores = storage.join(out, "export"), storage.join(out, "scores.json")
        return exporting.export_model(exported, documents, options, folder, scores, run).facts
