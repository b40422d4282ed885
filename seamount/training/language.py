"""Training a language model: `train(TrainRequest(...)) -> TrainRef`.

This side stays light (it imports no torch): it checks the request, finds what to continue from,
starts the ranks, shows their progress and hands their metrics to the tracked run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from seamount.core import lineage, storage
from seamount.core.errors import UserError
from seamount.core.registry import model_family
from seamount.training import checkpoint
from seamount.training.launch import run_ranks
from seamount.training.recipe import Recipe, recipe_to_dict
from seamount.training.step_line import shown

log = logging.getLogger("seamount")
TARGET = "seamount.training.language_ranks:fit"

# Sections of a recipe that do not change what is computed: another value may continue a run.
_FREE = ("parallel", "recompute", "threads", "checkpoint", "validation", "tracking")


@dataclass(frozen=True)
class TrainRequest:
    """What to train and where.

    `tokens` and `tokenizer` are folders, `out` gets checkpoints/ and model/. `restart` drops the
    checkpoints of another recipe or corpus. `log_metrics(data, step=)` receives the metrics (the
    method of a tracked run).
    """

    recipe: Recipe
    tokens: str
    tokenizer: str
    out: str
    restart: bool = False
    run_id: str | None = None
    log_metrics: Callable[..., None] | None = None


@dataclass(frozen=True)
class TrainRef:
    """What training left: folders, how far it came, and where it began.

    `resumed_from` is the step it continued from (None: from scratch), `weights` the SHA-256 of
    model.safetensors, `duration_s` this call's time.
    """

    checkpoint: str
    model: str
    step: int
    tokens_seen: int
    final_loss: float
    weights: str
    resumed_from: int | None
    duration_s: float


def last_run_id(out: str) -> str | None:
    """The tracked run that the newest checkpoint in `out` was logged to, to go on with it."""
    root = storage.local_path(out) / "checkpoints"
    pointer = root / checkpoint.LATEST
    manifest = (
        root / pointer.read_text().strip() / checkpoint.MANIFEST if pointer.is_file() else None
    )
    if manifest is None or not manifest.is_file():
        return None
    run_id = storage.read_json(str(manifest)).get("run_id")
    return str(run_id) if run_id else None


def train(request: TrainRequest) -> TrainRef:
    """Train to the recipe's last step, continuing from the newest checkpoint in `out` if any.

    Raises UserError where the checkpoints there were made from something else, Preempted once a
    signal stopped it (the same call continues).
    """
    start_s = time.monotonic()
    recipe = request.recipe
    about = _about(request)
    found = _resumable(request, about)
    job: dict[str, Any] = {
        "recipe": recipe_to_dict(recipe),
        "tokens": request.tokens,
        "out": str(storage.local_path(request.out)),
        "resume": found.folder.name if found else None,
        "about": about,
        "bytes_per_token": _bytes_per_token(request),
    }
    result = _finished(found, request) or _run(request, found, job)
    _write_model_lineage(request, result, about)
    return TrainRef(
        checkpoint=result["checkpoint"],
        model=result["model"],
        step=result["step"],
        tokens_seen=recipe.batch_sizes.before(result["step"]) * recipe.data.sequence_length,
        final_loss=result["loss"],
        weights=result["weights"],
        resumed_from=found.step if found else None,
        duration_s=time.monotonic() - start_s,
    )


def _run(
    request: TrainRequest, found: checkpoint.Checkpoint | None, job: dict[str, Any]
) -> dict[str, Any]:
    recipe = request.recipe
    step = found.step if found else 0
    ranks = recipe.parallel.ranks
    if found is not None:
        log.info("continuing from step %d (%s)", step, found.folder)
    if step >= recipe.steps:  # only the model folder is to be written again
        ranks, job["recipe"]["parallel"] = 1, {}
    with shown(recipe.steps, step) as line:
        return run_ranks(TARGET, job, ranks, recipe.threads, _listener(request, line))


def _finished(found: checkpoint.Checkpoint | None, request: TrainRequest) -> dict[str, Any] | None:
    """The result of an earlier call, if it ended and its model folder is whole."""
    folder = storage.join(request.out, "model")
    weights = storage.join(folder, "model.safetensors")
    if found is None or found.step < request.recipe.steps:
        return None
    if not storage.exists(storage.join(folder, lineage.FILE_NAME)) or not storage.exists(weights):
        return None
    record = lineage.read(folder)
    made_from = record.inputs.get("checkpoint", {}).get("digest")
    if made_from != lineage.read(str(found.folder)).digest:
        return None
    if record.digest != storage.sha256(weights):
        return None
    log.info("training had ended: reused %s", folder)
    return {
        "checkpoint": str(found.folder),
        "model": folder,
        "step": found.step,
        "loss": float(found.manifest["loss"]),
        "weights": record.digest,
    }


def _listener(request: TrainRequest, line: Any) -> Callable[[dict[str, Any]], None]:
    def listen(event: dict[str, Any]) -> None:
        if event["event"] == "step":
            line.show(event)
        elif event["event"] == "metrics" and request.log_metrics is not None:
            request.log_metrics(event["data"], step=event["step"])
        elif event["event"] == "note":
            log.info("%s", event["text"])
        elif event["event"] == "checkpoint":
            log.debug("checkpoint of step %d in %s", event["step"], event["folder"])

    return listen


def _about(request: TrainRequest) -> dict[str, Any]:
    """What a checkpoint tells of its making; "identity" decides whether a run may continue."""
    recipe = request.recipe
    inputs = {
        "tokens": lineage.reference(request.tokens),
        "tokenizer": lineage.reference(request.tokenizer),
    }
    return {
        "format": 1,
        "model": {"family": recipe.model.family, "config": asdict(recipe.model.config)},
        "recipe": recipe_to_dict(recipe),
        "identity": _identity(recipe) | {role: ref["digest"] for role, ref in inputs.items()},
        "inputs": inputs,
        "ranks": recipe.parallel.ranks,
        "run_id": request.run_id,
    }


def _identity(recipe: Recipe) -> dict[str, Any]:
    """The flat recipe values that fix the result, the model by its full configuration."""
    content = recipe_to_dict(recipe)
    content["model"] = {"family": recipe.model.family, **asdict(recipe.model.config)}
    # where the same tokens lie does not matter, their digests count
    data = recipe.data
    content["data"] = {"sequence_length": data.sequence_length, "batch_size": data.batch_size}
    if data.batch_schedule:  # as JSON gives it back
        content["data"]["batch_schedule"] = [list(pair) for pair in data.batch_schedule]
    flat: dict[str, Any] = {}
    for key, value in content.items():
        if key not in _FREE:
            below = value.items() if isinstance(value, dict) else [("", value)]
            flat |= {f"{key}.{k}".rstrip("."): v for k, v in below}
    return flat


def _resumable(request: TrainRequest, about: dict[str, Any]) -> checkpoint.Checkpoint | None:
    root = storage.local_path(request.out) / "checkpoints"
    if request.restart:
        storage.remove_tree(str(root))
    left = checkpoint.clean(root)
    if left:
        log.info("removed %d unfinished checkpoint(s) of a killed save", left)
    found = checkpoint.find_latest(root)
    if found is None:
        return None
    _check_same(found, about["identity"], root)
    return found


def _check_same(found: checkpoint.Checkpoint, wanted: dict[str, Any], root: Path) -> None:
    had = _absent_fields(found.manifest) | found.manifest.get("identity", {})
    differing = sorted(k for k in had.keys() | wanted.keys() if had.get(k) != wanted.get(k))
    if differing:
        shown_values = ", ".join(
            f"{k} was {_short(had.get(k))} and is {_short(wanted.get(k))}" for k in differing[:3]
        )
        raise UserError(
            f"the checkpoints in {root} are of another training ({shown_values}): give another "
            "--out, or --restart to drop them"
        )


def _absent_fields(manifest: dict[str, Any]) -> dict[str, Any]:
    """Model fields that came after `manifest` was written: it was trained with their defaults."""
    content = manifest.get("model", {})
    if not isinstance(content, dict) or "family" not in content:
        return {}
    known = fields(model_family(content["family"]).presets.LanguageConfig)
    return {f"model.{f.name}": f.default for f in known if f.name not in content["config"]}


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 16 else f"{text[:12]}..."


def _bytes_per_token(request: TrainRequest) -> list[int]:
    from seamount.corpora.text.tokenizer import load_tokenizer

    tokenizer = load_tokenizer(request.tokenizer)
    vocab_size = request.recipe.model.config.vocab_size
    if tokenizer.vocab_size > vocab_size:
        raise UserError(
            f"model.vocab_size {vocab_size} is below the {tokenizer.vocab_size} ids of the "
            f"tokenizer in {request.tokenizer}: raise it to that"
        )
    table = [int(n) for n in tokenizer.bytes_per_token]
    return table + [0] * (vocab_size - len(table))


def _write_model_lineage(
    request: TrainRequest, result: dict[str, Any], about: dict[str, Any]
) -> None:
    from seamount.corpora.text.tokenizer import copy_tokenizer

    copy_tokenizer(request.tokenizer, result["model"])
    inputs = {
        "checkpoint": lineage.reference(result["checkpoint"]),
        "tokenizer": about["inputs"]["tokenizer"],
    }
    record = lineage.Lineage(
        "model", result["weights"], inputs, {"step": result["step"]}, run_id=request.run_id
    )
    lineage.write(result["model"], record)
