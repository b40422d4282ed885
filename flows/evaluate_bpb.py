"""Bits per byte of a model on the test split of a corpus, beside compressors."""

from typing import Annotated

from prefect import flow
from pydantic import Field

from seamount.core import storage
from tasks import scoring
from tasks.parameters import Place, ScoringOptions
from tasks.reference import absolute, existing
from tasks.tracking import tracked_run

Data = Annotated[Place, Field(description="A built corpus (its test split) or jsonl.zst files.")]


@flow(name="evaluate-bpb", description="Measure bits per byte by component and weighted.")
def evaluate_bpb(
    model: Place = "runs/demo/model",
    data: Place = "runs/demo/corpus",
    out: Place = "runs/scores",
    options: ScoringOptions = ScoringOptions(),  # noqa: B008
) -> dict:
    """Return the weighted figures of the model and of the baselines.

    Args:
        model: Checkpoint, Hugging Face folder or ONNX export.
        data: A built corpus (its test split), or jsonl.zst files.
        out: Folder for model.json and baselines.json.
        options: How it is measured.
    """
    model, data, out = absolute(model), absolute(data), absolute(out)
    judged = existing("model", model)
    documents = existing("documents", data)
    with tracked_run(out, "evaluate-bpb", {"model": model, "data": data}) as run:
        file, beside = storage.join(out, "model.json"), storage.join(out, "baselines.json")
        scores = scoring.evaluate_bpb(judged, documents, options, file, run)
        baselines = scoring.score_baselines(documents, options, beside, run)
        return {"model": scores.facts, "baselines": baselines.facts["weighted"]}
