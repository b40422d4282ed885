"""Language modelling as a LightningModule: one update of next-token cross-entropy, in any layout.

A Lightning step is an update: the micro-batches, forward and backward, run within training_step,
by a loop or by a pipeline schedule, and Lightning's own backward and zero_grad do nothing.

Shape suffixes: B batch, T sequence length, V vocabulary.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn

from seamount.core.registry import model_family
from seamount.training import float8
from seamount.training.cross_entropy import IGNORED, cross_entropy
from seamount.training.data_order import Batch
from seamount.training.mesh import Layout
from seamount.training.optimizer import MuonAdamW, build_optimizer
from seamount.training.parts import Parts
from seamount.training.pipeline import Pipeline
from seamount.training.recipe import Recipe
from seamount.training.schedule import factor

_WEIGHTS = {"bf16-true": torch.bfloat16, "fp64": torch.float64}


class LanguageModule(LightningModule):
    """Model, loss, optimiser and clipping of one recipe.

    `steps_done` counts the updates of the whole run, over all its interruptions; Lightning's own
    counter begins at 0 after each. `bytes_per_token` [vocabulary] turns nats into bits per byte.
    """

    def __init__(self, recipe: Recipe, bytes_per_token: Tensor) -> None:
        super().__init__()
        self.recipe = recipe
        self.bytes_per_token = bytes_per_token
        self.steps_done = 0
        self.last: dict[str, float] = {}
        self.stages: Any = None  # a ModuleList, so that Lightning finds the parameters
        self.updater: MuonAdamW | None = None
        self.pipelines: dict[int, Pipeline] = {}  # by the sequences of a batch
        self._tokens = 1.0  # by which the loss is divided, whatever rank the tokens are on

    def configure_model(self) -> None:
        """Build the model from the seed, equal on every rank, then cut it."""
        if self.stages is not None:
            return
        recipe = self.recipe
        family = model_family(recipe.model.family)
        model = family.model.LanguageModel(recipe.model.config)
        family.model.initialise(model, recipe.seed, recipe.embedding_std)
        if recipe.precision in _WEIGHTS:
            model.to(_WEIGHTS[recipe.precision])
        if recipe.precision == "fp8":
            float8.convert(model)
        self.layout = Layout(recipe.parallel, self._device_mesh)
        self.parts = Parts(model, recipe, self.layout)
        self.stages = nn.ModuleList(self.parts.stages)

    def configure_optimizers(self) -> MuonAdamW:
        """The optimizer of the recipe; one and the same at every call."""
        if self.updater is None:
            owned = self.parts.owned
            self.updater = build_optimizer(owned.items(), self.recipe.optimizer)
        return self.updater

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        """Gradients of the mean cross-entropy over all tokens of the update; returns that mean."""
        for parameter in self.parts.parameters.values():
            parameter.grad = None
        tokens, size_bytes = self._counts(batch)
        self._tokens = tokens
        loss = self._run(batch, train=True)
        self.last = {"loss": loss.item(), "bits_per_nat_byte": tokens / size_bytes / math.log(2)}
        return loss

    def _counts(self, batch: Batch) -> tuple[float, float]:
        """Predicted tokens and their bytes over all data ranks, at least 1 each."""
        real_BT = batch.targets_BT != IGNORED
        sizes_BT = self.bytes_per_token[batch.targets_BT.clamp_min(0)]
        counts = torch.stack([real_BT.sum(), (sizes_BT * real_BT).sum()]).double()
        tokens, size_bytes = self.parts.totals(counts).tolist()
        return max(1.0, tokens), max(1.0, size_bytes)

    def _run(self, batch: Batch, train: bool) -> Tensor:
        """The loss of all ranks' micro-batches over `self._tokens`; with `train`, gradients too."""
        with self.loss_context():
            if self.recipe.parallel.pipeline > 1:
                loss = self._pipeline(len(batch.ids_BT)).run(batch.ids_BT, batch.targets_BT, train)
            else:
                loss = torch.zeros((), dtype=torch.float64)
                for ids_BT, targets_BT in self._micro_batches(batch):
                    part = self.token_loss(self.stages[0](ids_BT), targets_BT)
                    if train:
                        part.backward()
                    loss = loss + part.detach()
        return self.parts.totals(loss.detach().double().clone(), over_stages=True)

    def _pipeline(self, rows: int) -> Pipeline:
        """The schedule for batches of `rows`, of which torch fixes shapes and number when made."""
        if rows not in self.pipelines:
            count = rows // self._rows_at_once(rows)
            self.pipelines[rows] = Pipeline(self.parts.stages, self.layout, count, self.token_loss)
        return self.pipelines[rows]

    def _rows_at_once(self, rows: int) -> int:
        return self.recipe.micro_batch_size if self.recipe.data.micro_batch_size else rows

    def _micro_batches(self, batch: Batch) -> Any:
        size = self._rows_at_once(len(batch.ids_BT))
        return zip(*(tensor.split(size) for tensor in batch), strict=True)

    def token_loss(self, logits_BTV: Tensor, targets_BT: Tensor) -> Tensor:
        """Summed cross-entropy in nats over the tokens of the whole update."""
        logits_NV = logits_BTV.flatten(0, 1)
        if logits_NV.dtype != torch.float64:
            logits_NV = logits_NV.float()
        return cross_entropy(logits_NV, targets_BT.flatten(), self._tokens)

    def loss_context(self) -> AbstractContextManager[Any]:
        """Under tensor parallelism the vocabulary stays cut in the loss and in its gradient."""
        if self.recipe.parallel.tensor == 1:
            return nullcontext()
        from torch.distributed.tensor.parallel import loss_parallel

        return loss_parallel()

    def backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        """Nothing: training_step has made the gradients."""

    def optimizer_zero_grad(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: Lightning would drop what training_step has made."""

    def configure_gradient_clipping(self, *args: Any, **kwargs: Any) -> None:
        """Our own global norm: Lightning's is not right for sharded parameters."""
        norm = self.parts.finish_gradients()
        self.parts.clip(norm, self.recipe.optimizer.clip_norm)
        self.last["grad_norm"] = float(norm)

    def optimizer_step(
        self, epoch: int, batch_idx: int, optimizer: Any, optimizer_closure: Any = None
    ) -> None:
        """One update at the rate of this step."""
        assert self.updater is not None
        rate = factor(self.recipe.schedule, self.steps_done, self.recipe.steps)
        self.updater.scale_lr(rate)
        super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)
        self.parts.send_updates()
        self.last["learning_rate"] = self.recipe.optimizer.lr * rate
        self.last["bpb"] = self.last["loss"] * self.last.pop("bits_per_nat_byte")
        self.steps_done += 1

    @torch.no_grad()
    def evaluate(self, batches: list[Batch]) -> dict[str, float]:
        """Mean loss in nats and bits per byte over the `batches` of all data ranks."""
        nats = tokens = size_bytes = 0.0
        for batch in batches:
            counted, sized = self._counts(batch)
            self._tokens = 1.0
            nats += float(self._run(batch, train=False))
            tokens, size_bytes = tokens + counted, size_bytes + sized
        return {"loss": nats / tokens, "bpb": nats / size_bytes / math.log(2)}
