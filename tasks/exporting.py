"""Export of a trained model, published only if it agrees with the model it came from."""

from __future__ import annotations

from prefect import task

from seamount.core import storage
from seamount.evaluation.held_out import held_out
from seamount.export.publish import ExportRef, ExportRequest
from seamount.export.publish import export_model as export
from seamount.tracking.run import Run
from tasks import publish
from tasks.caching import content_key
from tasks.parameters import ExportOptions
from tasks.reference import Artefact, describe
from tasks.tracking import station

_CODE = ("seamount.export", "seamount.inference", "seamount.evaluation", "models")
_BELOW = ("seamount.corpora", "seamount.core")


@task(
    description="Quantise and export; parity and bits-per-byte deltas decide about publishing.",
    cache_key_fn=content_key(*_CODE, *_BELOW),
    persist_result=True,
    result_serializer="json",
)
def export_model(
    model: Artefact,
    corpus: Artefact,
    options: ExportOptions,
    out: str,
    scores: str,
    run: Run,
) -> Artefact:
    """The export folder `out`; its bits per byte before and after go to the file `scores`."""
    with station(run, "export", f"export: {options.quantize} {options.format} into {out}"):
        split = held_out(corpus.path)
        request = ExportRequest(
            model=model.path,
            out=out,
            data=corpus.path,
            documents=split.documents,
            weights=split.weights,
            generated=split.generated,
            run_id=run.run_id,
            **options.model_dump(),
        )
        found = export(request)
        storage.write_json(scores, found.to_dict())
        publish.table("export-parity", found.parity["shapes"], _summary(found))
        run.log_metrics({"export/bpb_delta": found.bpb_delta or 0.0})
    return describe(
        "export",
        out,
        path=found.path,
        format=found.format,
        bpb_delta=found.bpb_delta,
        components=found.components,
        gate=found.gate,
    )


def _summary(found: ExportRef) -> str:
    return (
        f"{found.size_bytes:,} bytes ({found.size_ratio:.0%} of fp32), "
        f"{found.bpb_delta or 0:+.4f} bits per byte against the torch model"
    )
