"""The learning-rate factor as a function of the step alone, so that resuming needs no state."""

from __future__ import annotations

import math

from seamount.training.recipe import ScheduleRecipe


def factor(schedule: ScheduleRecipe, step: int, steps: int) -> float:
    """What to multiply learning rates by for the update number `step` (from 0) of `steps`."""
    warmup = min(1.0, (step + 1) / (schedule.warmup_steps + 1))
    if schedule.name == "constant":
        return warmup
    decay_steps = max(1, round(steps * schedule.decay_fraction))
    left = min(1.0, (steps - step) / decay_steps)
    if schedule.name == "cosine":
        left = 0.5 - 0.5 * math.cos(math.pi * left)
    return warmup * (schedule.final_fraction + (1 - schedule.final_fraction) * left)
