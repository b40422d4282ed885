"""Bits per byte of a model, and of compressors and a byte histogram beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prefect import task

from seamount.core import storage
from seamount.evaluation.baselines import baselines
from seamount.evaluation.bpb import bpb
from seamount.evaluation.held_out import held_out
from seamount.inference.loading import load_model
from seamount.inference.score import ModelScorer
from seamount.tracking.run import Run
from tasks import publish
from tasks.caching import content_key, worth_retrying
from tasks.parameters import ScoringOptions
from tasks.reference import Artefact, describe
from tasks.tracking import metric_name, station

_SCORES = ("seamount.evaluation", "seamount.corpora", "seamount.core")
_MODELS = ("seamount.inference", "models")


@task(
    description="Score the test split with the model, by component and weighted.",
    cache_key_fn=content_key(*_SCORES, *_MODELS),
    persist_result=True,
    result_serializer="json",
    retries=1,
    retry_condition_fn=worth_retrying,
)
def evaluate_bpb(
    model: Artefact, corpus: Artefact, options: ScoringOptions, out: str, run: Run
) -> Artefact:
    """The result file `out` (JSON)."""
    with station(run, "bpb", f"bits per byte: {model.path} on the test split"):
        judged = held_out(corpus.path)
        scorer = ModelScorer(load_model(model.path), options.context_length, options.protocol)
        found = bpb(
            scorer.score(judged.documents()),
            judged.weights,
            scorer.protocol,
            judged.generated,
        )
        storage.write_json(out, found.to_dict())
        publish.table("bpb-by-component", bpb_rows(found.to_dict()), _headline(found.to_dict()))
        run.log_metrics({"bpb/weighted": found.weighted, "bpb/all": found.all})
        parts = {metric_name(n): c.bpb for n, c in found.components.items()}
        run.log_metrics({f"bpb/components/{n}": value for n, value in parts.items()})
    return _scores(out, weighted=found.weighted, weights=found.weights)


@task(
    description="What compressors and a byte histogram reach on the same bytes.",
    cache_key_fn=content_key(*_SCORES),
    persist_result=True,
    result_serializer="json",
)
def score_baselines(corpus: Artefact, options: ScoringOptions, out: str, run: Run) -> Artefact:
    """The result file `out`: baseline -> result."""
    with station(run, "baselines", f"baselines: {', '.join(options.baselines)}"):
        judged = held_out(corpus.path)
        found = baselines(
            judged.documents,
            judged.train or judged.documents,
            judged.weights,
            judged.generated,
            [n for n in options.baselines if judged.train or n != "unigram"],
        )
        storage.write_json(out, {name: result.to_dict() for name, result in found.items()})
        weighted = {name: result.weighted for name, result in found.items()}
        rows = [{"baseline": name, "bits per byte": value} for name, value in weighted.items()]
        publish.table("bpb-baselines", rows, "Bits per byte of compressors, weighted alike")
        run.log_metrics({f"bpb/baselines/{name}": value for name, value in weighted.items()})
    return _scores(out, weighted=weighted)


def _scores(path: str, **facts: Any) -> Artefact:
    return describe("scores", path, storage.sha256(path), **facts)


def bpb_rows(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a component, for people."""
    return [
        {
            "component": name,
            "bits per byte": part["bpb"],
            "low": part["low"],
            "high": part["high"],
            "bytes": part["bytes"],
            "weight": part["weight"],
        }
        for name, part in content["components"].items()
    ]


def _headline(content: Mapping[str, Any]) -> str:
    weights = content["weights"]
    scaled = ", scaled to the components present" if weights["renormalised"] else ""
    return (
        f"{content['weighted']:.4f} bits per byte, weighted by {weights['source']}{scaled}; "
        f"{content['unweighted']:.4f} unweighted, {content['all']:.4f} over all bytes"
    )
