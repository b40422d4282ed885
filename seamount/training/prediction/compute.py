"""Operations, idle time and hours.

A device's figures are its makers': dense products without sparsity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seamount.core.errors import UserError
from seamount.core.registry import unknown
from seamount.training.recipe import ParallelRecipe, Recipe


@dataclass(frozen=True)
class Device:
    """Peak floating-point operations a second by type, memory, and the share that is assumed."""

    peak: Mapping[str, float]
    memory_bytes: int
    mfu: float


# NVIDIA H100 SXM data sheet: 989.4 TFLOP/s in bfloat16 (1,979 with sparsity), 67 in float32 and,
# by tensor cores, in float64; 80 GB. NVIDIA A100 80GB data sheet: 312, 19.5, 19.5; 80 GB.
# The share assumed is below what Megatron-LM (41 to 48 %) and llm-foundry (42 to 46 %) publish.
DEVICES: Mapping[str, Device] = {
    "h100": Device({"bf16": 989.4e12, "fp32": 67e12, "fp64": 67e12}, 80_000_000_000, 0.4),
    "a100": Device({"bf16": 312e12, "fp32": 19.5e12, "fp64": 19.5e12}, 80_000_000_000, 0.4),
}
CPU_MFU = 0.5
_MATRIX, _SECONDS = 1024, 0.3


def flops_per_token(recipe: Recipe) -> int:
    """Model FLOPs of a token: 6 per matrix parameter, and causal attention in full.

    Chowdhery et al. 2022 (PaLM), appendix B, within the window where a layer has one. What is
    computed again for the backward pass does not count.
    """
    config = recipe.model.config
    attention = 12 * config.heads * config.head_dim * _attended(recipe)
    return int(6 * (config.parameters - _looked_up(config)) + attention)


def _attended(recipe: Recipe) -> int:
    """Positions that one token attends to, summed over layers."""
    config, tokens = recipe.model.config, recipe.data.sequence_length
    if hasattr(config, "attended"):
        return int(config.attended(tokens))
    return int(config.layers) * tokens


def _looked_up(config: Any) -> int:
    """Parameters of tables that are read by row, and not multiplied."""
    table = 0 if config.tied else config.vocab_size * config.hidden_size
    return int(table + getattr(config, "position_parameters", 0))


def bubble(parallel: ParallelRecipe, micro_batches: int) -> float:
    """Share of a step that pipeline ranks idle, where forward and backward take 1 and 2.

    GPipe and 1F1B: (p - 1) / (m + p - 1); with v stages a rank the idle time is divided by v
    (Narayanan et al. 2021, arXiv 2104.04473, sections 2.2.1 and 2.2.2); where weight gradients fill
    the gaps, by 3 as well (Qi et al. 2023, arXiv 2401.10241, table 1, ZB-H1).
    """
    idle = (parallel.pipeline - 1) / parallel.stages_per_rank
    if parallel.schedule == "zero-bubble":
        idle /= 3
    return idle / (micro_batches + idle)


def peak_of(recipe: Recipe, device: str, peak: float | None) -> float:
    """FLOP/s of one rank's `device` in the recipe's precision; the given `peak` wins.

    The ranks on a CPU share this machine, whose products are measured.
    """
    if peak is not None:
        if not peak > 0:
            raise UserError(f"--peak is {peak}: give the FLOP/s of a device, such as 1e14")
        return peak
    if device == "cpu":
        return measured_peak(recipe.precision == "fp64") / recipe.parallel.ranks
    kind = recipe.precision.partition("-")[0]
    return device_called(device).peak[kind]


def device_called(name: str) -> Device:
    """The device called `name`; raises UserError naming the nearest."""
    if name not in DEVICES:
        raise unknown("device", name, [*DEVICES, "cpu"])
    return DEVICES[name]


def measured_peak(double: bool = False) -> float:
    """FLOP/s of this machine's square matrix products, the best of some tenths of a second.

    In float32 (bfloat16 is slower on most CPUs), or in float64.
    """
    import time

    import torch

    matrix = torch.ones(_MATRIX, _MATRIX, dtype=torch.float64 if double else torch.float32)
    best, stop = float("inf"), time.perf_counter() + _SECONDS
    while time.perf_counter() < stop:
        start = time.perf_counter()
        torch.mm(matrix, matrix)
        best = min(best, time.perf_counter() - start)
    return 2 * _MATRIX**3 / best


def time_of(recipe: Recipe, device: str, peak: float | None, mfu: float | None) -> dict[str, Any]:
    """Seconds of a step and hours of the run at the share `mfu` of the peak, bubbles beside it.

    `mfu` is what a rank reaches while it works, what it waits for others included.
    """
    share = mfu if mfu is not None else CPU_MFU if device == "cpu" else device_called(device).mfu
    if not 0 < share <= 1:
        raise UserError(f"--mfu is {share}: it must lie in (0, 1]")
    speed = peak_of(recipe, device, peak)
    idle = bubble(recipe.parallel, recipe.micro_batches)
    tokens = recipe.data.batch_size * recipe.data.sequence_length
    busy_s = flops_per_token(recipe) * tokens / (speed * share * recipe.parallel.ranks)
    step_s = busy_s / (1 - idle)
    return {
        "device": device,
        "peak_flops_per_rank": speed,
        "assumed_mfu": share,
        "bubble": idle,
        "step_s": step_s,
        "tokens_per_s": tokens / step_s,
        "hours": step_s * recipe.steps / 3600,
    }
