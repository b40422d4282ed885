"""Language modelling as a LightningModule: one step of next-token cross-entropy, in any layout.

Shape suffixes: B batch, T sequence length, V vocabulary.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from lightning.pytorch import LightningModule
from torch import Tensor

from seamount.core.registry import model_family
from seamount.training import clip_norm
from seamount.training.cross_entropy import mean_cross_entropy
from seamount.training.optimizer import MuonAdamW, build_optimizer
from seamount.training.recipe import Recipe
from seamount.training.schedule import factor
from seamount.training.tensor import apply_plan


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
        self.model: Any = None
        self.updater: MuonAdamW | None = None

    def configure_model(self) -> None:
        """Build the model from the seed, equal on every rank, then cut it."""
        if self.model is not None:
            return
        family = model_family(self.recipe.model.family)
        self.model = family.model.LanguageModel(self.recipe.model.config)
        family.model.initialise(self.model, self.recipe.seed, self.recipe.embedding_std)
        if self.recipe.precision == "bf16-true":
            self.model.to(torch.bfloat16)
        if self.recipe.parallel.tensor > 1:
            apply_plan(self.model, self.device_mesh, family.plan)

    def configure_optimizers(self) -> MuonAdamW:
        """The optimizer of the recipe; one and the same at every call."""
        if self.updater is None:
            self.updater = build_optimizer(self.model.named_parameters(), self.recipe.optimizer)
        return self.updater

    def training_step(self, ids_BT: Tensor, batch_index: int) -> Tensor:
        """Mean cross-entropy in nats of every token but the first of each row."""
        loss = self.loss(ids_BT)
        self.last = {"loss": loss.item(), "bits_per_nat_byte": self._tokens_per_byte(ids_BT)}
        return loss

    def loss(self, ids_BT: Tensor) -> Tensor:
        """Mean cross-entropy in nats over ids [B, T + 1]."""
        with self.loss_context():
            logits_BTV = self.model(ids_BT[:, :-1])
            return mean_cross_entropy(logits_BTV.flatten(0, 1).float(), ids_BT[:, 1:].flatten())

    def loss_context(self) -> AbstractContextManager[Any]:
        """Under tensor parallelism the vocabulary stays cut in the loss and in its gradient."""
        if self.recipe.parallel.tensor == 1:
            return nullcontext()
        from torch.distributed.tensor.parallel import loss_parallel

        return loss_parallel()

    def backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        """Gradients, within the same context as the loss."""
        with self.loss_context():
            loss.backward()

    def optimizer_zero_grad(self, *args: Any, **kwargs: Any) -> None:
        """Drop the gradients, so that none is added to the last step's."""
        for parameter in self.model.parameters():
            parameter.grad = None

    def configure_gradient_clipping(self, *args: Any, **kwargs: Any) -> None:
        """Our own global norm: Lightning's is not right for sharded parameters."""
        limit = self.recipe.optimizer.clip_norm
        if limit:
            self.last["grad_norm"] = float(clip_norm.clip(self.model.parameters(), limit))

    def optimizer_step(
        self, epoch: int, batch_idx: int, optimizer: Any, optimizer_closure: Any = None
    ) -> None:
        """One update at the rate of this step."""
        assert self.updater is not None
        rate = factor(self.recipe.schedule, self.steps_done, self.recipe.steps)
        self.updater.scale_lr(rate)
        super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)
        self.last["learning_rate"] = self.recipe.optimizer.lr * rate
        self.last["bpb"] = self.last["loss"] * self.last.pop("bits_per_nat_byte")
        self.steps_done += 1

    def _tokens_per_byte(self, ids_BT: Tensor) -> float:
        """What turns nats a token into bits a byte for this batch."""
        targets = ids_BT[:, 1:]
        size_bytes = int(self.bytes_per_token[targets].sum())
        return targets.numel() / max(1, size_bytes) / math.log(2)

    @torch.no_grad()
    def evaluate(self, batches: list[Tensor]) -> dict[str, float]:
        """Mean loss in nats and bits per byte over `batches`."""
        nats = tokens = size_bytes = 0.0
        for ids_BT in batches:
            targets = ids_BT[:, 1:]
            nats += float(self.loss(ids_BT)) * targets.numel()
            tokens += targets.numel()
            size_bytes += int(self.bytes_per_token[targets].sum())
        return {"loss": nats / tokens, "bpb": nats / max(1.0, size_bytes) / math.log(2)}
