"""What an exporter must know of the language model: inputs, names, which sizes are free."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from models.language.model import LanguageModel

INPUT_NAMES = ("input_ids",)
OUTPUT_NAMES = ("logits",)


class ForExport(nn.Module):
    """The model with the one input that scoring and generation give it."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor) -> Tensor:
        """Logits [batch, sequence, vocabulary] of token ids [batch, sequence]."""
        return self.model(input_ids)


def adapter(model: LanguageModel) -> nn.Module:
    """The module to export for `model`, in evaluation mode."""
    return ForExport(model).eval()


def example_inputs(model: LanguageModel, batch: int = 2, sequence: int = 7) -> tuple[Tensor, ...]:
    """Inputs to trace with: neither size is 0 or 1, which exporters take for constants."""
    generator = torch.Generator().manual_seed(0)
    shape = (batch, min(sequence, model.config.context_length))
    return (torch.randint(model.config.vocab_size, shape, generator=generator),)


def dynamic_shapes(model: LanguageModel) -> dict[str, dict[int, Any]]:
    """Which dims of each input are free: any batch, any sequence up to the context length."""
    batch = torch.export.Dim("batch", min=1)
    sequence = torch.export.Dim("sequence", min=1, max=model.config.context_length)
    return {"input_ids": {0: batch, 1: sequence}}
