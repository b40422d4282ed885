"""Training, in child processes that end with the flow."""

from __future__ import annotations

from typing import Any

from prefect import task

from seamount.core import storage
from seamount.tracking.run import Run
from seamount.training.language import TrainRequest, train
from seamount.training.recipe import load_recipe, recipe_from_dict, recipe_to_dict
from tasks import publish
from tasks.caching import content_key, worth_retrying
from tasks.curve import CurveFile, read_curves
from tasks.reference import Artefact, describe
from tasks.tracking import station


def read_recipe(name: str, overrides: list[str]) -> dict[str, Any]:
    """The checked recipe as plain data, so that workers need not have the file."""
    return recipe_to_dict(load_recipe(name, overrides))


def vocab_size(recipe: dict[str, Any]) -> int:
    """How many ids the recipe's model knows."""
    return int(recipe_from_dict(recipe).model.config.vocab_size)


@task(
    description="Train by the recipe; an interrupted run continues from its last checkpoint.",
    cache_key_fn=content_key("seamount.training", "seamount.corpora", "models", "seamount.core"),
    persist_result=True,
    result_serializer="json",
    retries=1,
    retry_condition_fn=worth_retrying,
)
def train_language_model(
    recipe: dict[str, Any],
    tokens: Artefact,
    tokenizer: Artefact,
    out: str,
    run: Run,
    restart: bool = False,
) -> Artefact:
    """The model folder, in Hugging Face layout; checkpoints stand beside it in `out`."""
    curve = CurveFile(curve_path(out), run.log_metrics, restart)
    with station(run, "training", f"training: {recipe['steps']} steps"), curve:
        request = TrainRequest(
            recipe=recipe_from_dict(recipe),
            tokens=tokens.path,
            tokenizer=tokenizer.path,
            out=out,
            restart=restart,
            run_id=run.run_id,
            log_metrics=curve,
        )
        found = train(request)
        publish.markdown("training-summary", _summary(found), "What the training reached")
    publish.picture("training-curve", _drawn(curve_path(out)), "Bits per byte by step")
    return describe(
        "model",
        found.model,
        checkpoint=found.checkpoint,
        step=found.step,
        tokens=found.tokens_seen,
        loss=found.final_loss,
    )


def curve_path(out: str) -> str:
    """Where the training curve of a run is."""
    return storage.join(out, "scores", "training.json")


def _drawn(path: str) -> str:
    from seamount.core import charts

    return charts.lines(read_curves(path), "step", "bits per byte", "Training curve")


def _summary(found: Any) -> str:
    resumed = f", resumed from {found.resumed_from}" if found.resumed_from else ""
    return (
        f"Step {found.step}, {found.tokens_seen:,} tokens{resumed}, "
        f"final loss {found.final_loss:.4f}.\n\nCheckpoint: `{found.checkpoint}`"
    )
