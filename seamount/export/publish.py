"""From a model to a published export: quantise, export, prove parity, measure, gate, publish.

All work happens in a folder beside the target; the target appears whole, or not at all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from seamount.core import lineage, storage
from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.core.registry import model_family, unknown
from seamount.corpora.text.tokenizer import copy_tokenizer
from seamount.evaluation.bpb import BpbResult, Weights, bpb
from seamount.export import gate, onnx, parity, target
from seamount.export.quantize.int8 import quantise_module
from seamount.inference.loading import Loaded, load_model, torch_forward
from seamount.inference.score import ModelScorer

FORMATS = ("onnx",)
SCHEMES = ("none", "int8")
FILE_NAME = "model.onnx"


@dataclass(frozen=True)
class ExportRequest:
    """What to export and what must hold.

    `documents` gives the evaluation documents (a fresh iterator a call), None to measure nothing;
    `max_bpb_delta` bounds the loss overall and, unless `max_component_bpb_delta` says otherwise,
    in each component. `data` names the documents in the lineage. `inputs` adds to the lineage.
    """

    model: str
    out: str
    format: str = "onnx"
    quantize: str = "none"
    data: str | None = None
    documents: Callable[[], Iterable[Document]] | None = None
    weights: Mapping[str, float] | Weights | None = None
    generated: tuple[str, ...] = ()
    context_length: int | None = None
    max_bpb_delta: float | None = None
    max_component_bpb_delta: float | None = None
    threads: int | None = None
    run_id: str | None = None


@dataclass(frozen=True)
class ExportRef:
    """A published export; `bpb` is absent where no documents were given.

    `bpb_delta` is the weighted one; `components` the delta of each.
    """

    folder: str
    path: str
    format: str
    quantize: str
    digest: str
    size_bytes: int
    fp32_size_bytes: int
    parity: dict[str, Any]
    bpb_delta: float | None
    components: dict[str, float]
    gate: dict[str, Any] | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    duration_s: float

    @property
    def size_ratio(self) -> float:
        """Size of the file beside the same graph with fp32 weights."""
        return self.size_bytes / self.fp32_size_bytes

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON."""
        return {**asdict(self), "size_ratio": self.size_ratio}


def export_model(request: ExportRequest, before: BpbResult | None = None) -> ExportRef:
    """Export `request.model` to `request.out`.

    `before` is the model's own score if it is already known; it is measured again unless it is of
    the same model, protocol and documents. Raises GateFailed or SeamountError (parity) with
    nothing published.
    """
    _check(request)
    start_s = time.monotonic()
    loaded = load_model(request.model)
    if loaded.kind not in ("seamount", "checkpoint"):
        raise UserError(
            f"{request.model} is opened by {loaded.kind}, which this exporter cannot trace "
            f"({loaded.note or 'already exported'}): give a model of a known family"
        )
    target.refuse_foreign(request.out, loaded.path, request.data)
    with target.published(request.out) as folder:
        twin, sizes = _write_files(loaded, request, folder)
        exported = load_model(storage.join(folder, FILE_NAME), request.threads)
        proof = parity.compare(
            torch_forward(twin), exported.forward, loaded.vocab_size, loaded.context_length
        )
        storage.write_json(storage.join(folder, "parity.json"), proof.to_dict())
        parity.require(proof)
        measured = _measure(request, loaded, exported, before)
        _write_lineage(request, loaded, exported, folder, measured)
    return ExportRef(
        folder=request.out,
        path=storage.join(request.out, FILE_NAME),
        format=request.format,
        quantize=request.quantize,
        digest=exported.digest,
        size_bytes=sizes[0],
        fp32_size_bytes=sizes[1],
        parity=proof.to_dict(),
        duration_s=time.monotonic() - start_s,
        **measured,
    )


def _check(request: ExportRequest) -> None:
    if request.format not in FORMATS:
        raise unknown("export format (or one not built yet)", request.format, list(FORMATS))
    if request.quantize not in SCHEMES:
        raise unknown("quantisation (or one not built yet)", request.quantize, list(SCHEMES))
    if request.max_bpb_delta is not None and request.documents is None:
        raise UserError("--max-bpb-delta needs documents to measure it on: give --data")
    for bound in (request.max_bpb_delta, request.max_component_bpb_delta):
        if bound is not None and not 0 <= bound < math.inf:
            raise UserError(
                f"--max-bpb-delta is {bound}: give the bits per byte it may lose, 0 or more"
            )
    storage.local_path(request.out)


def _write_files(
    loaded: Loaded, request: ExportRequest, folder: str
) -> tuple[Any, tuple[int, int]]:
    """Write the file and what is needed to run it; (torch twin, (size, fp32 size) in bytes)."""
    family = model_family(loaded.config.get("seamount_family", "language"))
    twin, weights = (
        quantise_module(loaded.module) if request.quantize == "int8" else (loaded.module, {})
    )
    proto = onnx.to_onnx(twin, family.export)
    fp32_size = proto.ByteSize()
    onnx.pack_int8(proto, weights)
    content = onnx.serialise(proto)
    storage.write_bytes(storage.join(folder, FILE_NAME), content)
    precision = "int8 weights per channel, fp32 arithmetic" if weights else "fp32"
    config = {**loaded.config, "quantization": precision}
    storage.write_json(storage.join(folder, "config.json"), config)
    copy_tokenizer(loaded.tokenizer.folder, folder)
    return twin, (len(content), fp32_size)


def _measure(
    request: ExportRequest, loaded: Loaded, exported: Loaded, before: BpbResult | None
) -> dict[str, Any]:
    nothing: dict[str, Any] = {
        "bpb_delta": None,
        "components": {},
        "gate": None,
        "before": None,
        "after": None,
    }
    if request.documents is None:
        return nothing
    after = _score(request, exported)
    if before is None or not _comparable(request, loaded, before, after):
        before = _score(request, loaded)
    found = gate.deltas(before, after)
    measured = nothing | {
        "bpb_delta": found.weighted,
        "components": found.components,
        "before": before.to_dict(),
        "after": after.to_dict(),
    }
    if request.max_bpb_delta is not None:
        judged = gate.judge(found, request.max_bpb_delta, request.max_component_bpb_delta)
        measured["gate"] = asdict(judged)
        gate.require(judged, measured)
    return measured


def _score(request: ExportRequest, loaded: Loaded) -> BpbResult:
    assert request.documents is not None  # the caller checked
    scorer = ModelScorer(loaded, request.context_length)
    scores = scorer.score(request.documents())
    return bpb(scores, request.weights, scorer.protocol, request.generated)


def _comparable(
    request: ExportRequest, loaded: Loaded, before: BpbResult, after: BpbResult
) -> bool:
    wanted = ModelScorer(loaded, request.context_length).protocol
    ignored = {"model"}
    same = all(before.protocol.get(k) == v for k, v in wanted.items() if k not in ignored)
    return same and before.documents_digest == after.documents_digest


def _write_lineage(
    request: ExportRequest, loaded: Loaded, exported: Loaded, folder: str, measured: dict[str, Any]
) -> None:
    parameters = {
        "format": request.format,
        "quantize": request.quantize,
        "bpb_delta": measured["bpb_delta"],
        "data": request.data,
        "documents_digest": (measured["after"] or {}).get("documents_digest"),
        "max_bpb_delta": request.max_bpb_delta,
    }
    inputs = {"model": {"path": request.model, "digest": loaded.digest}}
    record = lineage.Lineage("export", exported.digest, inputs, parameters, request.run_id)
    lineage.write(folder, record)
