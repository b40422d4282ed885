"""What every rank of a language-model training runs: the Lightning loop around our own parts."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch import Callback, Trainer

from seamount.core import settings, storage
from seamount.core.errors import Preempted
from seamount.core.registry import model_family
from seamount.training import checkpoint, data_order, random_state, state
from seamount.training.callbacks.checkpoint import Checkpoints
from seamount.training.callbacks.preemption import Preemption
from seamount.training.callbacks.progress import Progress
from seamount.training.callbacks.tracking import Tracking
from seamount.training.callbacks.validation import Validation
from seamount.training.language_module import LanguageModule
from seamount.training.recipe import Recipe, recipe_from_dict
from seamount.training.strategy import build_strategy

_PRECISION = {
    "fp64": "32-true",  # Lightning leaves the model as it is, which we made of doubles
    "fp32": "32-true",
    "bf16-mixed": "bf16-mixed",
    "bf16-true": "bf16-true",
    "fp8": "32-true",  # and float8 products in the layers, see float8.py
}


class Resume(Callback):
    """Fills parameters, optimiser and generators once Lightning has placed them."""

    def __init__(self, found: checkpoint.Checkpoint) -> None:
        self.found = found

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Load the checkpoint into the module."""
        state.restore(pl_module, self.found)


def fit(job: dict[str, Any], channel: Any) -> dict[str, Any]:
    """Train by `job` (plain data from training/language.py) and write the final model folder.

    Returns {checkpoint, model, step, loss}. Raises Preempted once a stop was asked for and the
    checkpoint is written.
    """
    stop = Preemption()
    stop.listen()
    recipe = recipe_from_dict(job["recipe"])
    root = Path(job["out"]) / "checkpoints"
    found = checkpoint.read_checkpoint(root / job["resume"]) if job["resume"] else None
    quiet()
    recipe = _chosen(recipe, channel)
    random_state.seed_all(recipe.seed)
    module = LanguageModule(recipe, torch.tensor(job["bytes_per_token"]))
    saves = Checkpoints(channel, root, recipe, job["about"])
    _train(recipe, job, module, channel, found, stop, saves)
    if module.steps_done < recipe.steps:
        raise Preempted(
            f"stopped by request at step {module.steps_done} of {recipe.steps}; the same command "
            f"continues from {saves.saved or root}"
        )
    folder = saves.saved or (found.folder if found else None)
    assert folder is not None  # the last step is always saved
    result = _publish(recipe, folder, Path(job["out"]) / "model")
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    result |= {"checkpoint": str(folder), "step": module.steps_done}
    return result | {"loss": _loss(module, found)}


def _chosen(recipe: Recipe, channel: Any) -> Recipe:
    """`recipe` with its `auto` values chosen, of which rank 0 tells."""
    from seamount.training import memory_budget

    if not memory_budget.is_auto(recipe):
        return recipe
    if settings.rank() == 0:
        for rank, choice in enumerate(memory_budget.choose(recipe)):
            channel.send({"event": "note", "text": choice.describe(rank)})
    return memory_budget.resolved(recipe)


def _train(
    recipe: Recipe,
    job: dict[str, Any],
    module: LanguageModule,
    channel: Any,
    found: checkpoint.Checkpoint | None,
    stop: Preemption,
    saves: Checkpoints,
) -> None:
    first = found.step if found else 0
    if first >= recipe.steps:  # all done before: the model folder alone may be missing
        module.steps_done = first
        return
    sequences = _sequences(job, recipe, "train")
    batches = data_order.Batches(
        sequences, recipe.batch_sizes, first, recipe.steps, *data_place(recipe)
    )

    def tokens(step: int) -> int:
        return recipe.batch_sizes.before(step) * recipe.data.sequence_length

    callbacks: list[Callback] = [*([Resume(found)] if found else []), stop]
    if settings.rank() == 0:
        callbacks.append(Progress(channel, recipe.steps, tokens))
        callbacks.append(Tracking(channel, recipe.tracking.every_steps, recipe.steps, tokens))
    if recipe.validation.every_steps:
        callbacks.append(_validation(job, recipe, channel))
    trainer = build_trainer(recipe, [*callbacks, saves], recipe.steps - first)
    trainer.fit(module, train_dataloaders=batches)


def build_trainer(recipe: Recipe, callbacks: list[Callback], steps: int) -> Trainer:
    """A Trainer that runs the loop and nothing else: no files, no bars, no samplers."""
    return Trainer(
        accelerator="cpu",
        devices=recipe.parallel.ranks,
        strategy=build_strategy(recipe.parallel),
        precision=_PRECISION[recipe.precision],  # type: ignore[arg-type]
        max_steps=steps,
        max_epochs=-1,
        callbacks=callbacks,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        limit_val_batches=0,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )


def _validation(job: dict[str, Any], recipe: Recipe, channel: Any) -> Validation:
    sequences = _sequences(job, recipe, "val")
    count = min(recipe.validation.sequences, len(sequences))
    share = recipe.data.batch_size // recipe.parallel.data
    batches = data_order.held_out(sequences, count, share, *data_place(recipe))
    listener = channel if settings.rank() == 0 else _Nobody()
    return Validation(listener, batches, recipe.validation.every_steps, recipe.steps)


def data_place(recipe: Recipe) -> tuple[int, int]:
    """This process's place among the data ranks, and their number (see mesh.py for the order)."""
    parallel = recipe.parallel
    return settings.rank() // parallel.tensor % parallel.data, parallel.data


class _Nobody:
    """The channel of a rank whose figures rank 0 tells already."""

    def send(self, event: dict[str, Any]) -> None:
        """Drop `event`."""


def _sequences(job: dict[str, Any], recipe: Recipe, split: str) -> data_order.Sequences:
    from seamount.corpora.text.packing import PackedSequences
    from seamount.corpora.text.tokens import TokenFile

    return PackedSequences(
        TokenFile(job["tokens"], split), recipe.data.sequence_length, recipe.seed
    )


def _publish(recipe: Recipe, saved: Path, folder: Path) -> dict[str, Any]:
    """Write the model of the checkpoint `saved` in Hugging Face's layout, on rank 0 alone."""
    if settings.rank():
        return {}
    family = model_family(recipe.model.family)
    model = family.model.LanguageModel(recipe.model.config)
    whole = {f"model.{name}": p.detach() for name, p in model.named_parameters()}
    checkpoint.load(checkpoint.read_checkpoint(saved), whole, together=False)
    family.convert.save_folder(model, str(folder))
    return {"model": str(folder), "weights": _weights_digest(folder)}


def _weights_digest(folder: Path) -> str:
    return storage.sha256(str(folder / "model.safetensors"))


def _loss(module: LanguageModule, found: checkpoint.Checkpoint | None) -> float:
    if "loss" in module.last:
        return module.last["loss"]
    return float(found.manifest["loss"]) if found else float("nan")


def quiet() -> None:
    """Keep Lightning from telling which accelerators this machine has not, and torch about it."""
    for name in ("lightning.pytorch", "lightning.fabric", lightning.__name__):
        logging.getLogger(name).setLevel(logging.ERROR)
    # how Lightning 2.6 asks torch's tree module; any other warning still shows
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")
