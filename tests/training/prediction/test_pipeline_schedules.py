"""Bubble and micro-batches in flight, counted in the orders that torch's schedules work by."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from torch.distributed.pipelining import schedules

from seamount.training.prediction.compute import bubble
from seamount.training.prediction.memory import in_flight
from seamount.training.recipe import ParallelRecipe

CLASSES = {
    "gpipe": schedules.ScheduleGPipe,
    "1f1b": schedules.Schedule1F1B,
    "interleaved-1f1b": schedules.ScheduleInterleaved1F1B,
    "zero-bubble": schedules.ScheduleInterleavedZeroBubble,
}
CASES = [
    (name, ranks, each, times * ranks)
    for name, each in (
        *(("gpipe", 1), ("1f1b", 1), ("interleaved-1f1b", 2), ("interleaved-1f1b", 3)),
        *(("zero-bubble", 1), ("zero-bubble", 2)),
    )
    for ranks in (2, 4)
    for times in (1, 2, 4)
]


def orders(name: str, ranks: int, each: int, micro_batches: int) -> list[list[Any]]:
    """What each rank does, action by action, by torch's own class."""
    kind = CLASSES[name]
    made = SimpleNamespace(
        _num_stages=ranks * each,
        _n_microbatches=micro_batches,
        pp_group_size=ranks,
        n_local_stages=each,
        number_of_rounds=max(1, micro_batches // ranks),
        microbatches_per_round=micro_batches // max(1, micro_batches // ranks),
    )
    if each == 1 and name in ("gpipe", "1f1b"):
        found = kind._get_pipeline_order(made)
    else:
        found = {r: kind._calculate_single_rank_operations(made, r) for r in range(ranks)}
    return [_numbered([a for a in found[r] if a and _kind(a) != "REDUCE_GRAD"]) for r in found]


def _numbered(actions: list[Any]) -> list[Any]:
    """Micro-batches by their order: torch begins the last rank of its 1F1B table at 1."""
    seen: Counter[Any] = Counter()
    found = []
    for action in actions:
        key = (action.stage_index, action.computation_type)
        found.append(action._replace(microbatch_index=seen[key]))
        seen[key] += 1
    return found


def _kind(action: Any) -> str:
    return action.computation_type.name


def most_held(actions: list[Any], last: str) -> int:
    held = most = 0
    for action in actions:
        held += (_kind(action) == "FORWARD") - (_kind(action) == last)
        most = max(most, held)
    return most


@pytest.mark.parametrize(("name", "ranks", "each", "micro_batches"), CASES)
def test_micro_batches_in_flight(name, ranks, each, micro_batches):
    parallel = ParallelRecipe(pipeline=ranks, schedule=name, stages_per_rank=each)
    ends = "BACKWARD_WEIGHT" if name == "zero-bubble" else "FULL_BACKWARD"
    for rank, actions in enumerate(orders(name, ranks, each, micro_batches)):
        assert in_flight(parallel, micro_batches, rank) == most_held(actions, ends)


def idle_share(given: list[list[Any]], stages: int) -> float:
    """Of all ranks' time when each action begins as soon as its rank and its input are there."""
    took = {"FORWARD": 1.0, "FULL_BACKWARD": 2.0, "BACKWARD_INPUT": 1.0, "BACKWARD_WEIGHT": 1.0}
    done: dict[tuple[str, int, int], float] = {}
    clocks, at = [0.0] * len(given), [0] * len(given)
    for _ in range(sum(len(actions) for actions in given)):
        for rank, actions in enumerate(given):
            if at[rank] == len(actions):
                continue
            action = actions[at[rank]]
            way = "F" if _kind(action) == "FORWARD" else "B"
            before = action.stage_index + (-1 if way == "F" else 1)
            needs = (way, before, action.microbatch_index)
            first = _kind(action) == "BACKWARD_WEIGHT" or not 0 <= before < stages
            if not first and needs not in done:
                continue
            clocks[rank] = max(clocks[rank], 0.0 if first else done[needs]) + took[_kind(action)]
            if _kind(action) != "BACKWARD_WEIGHT":
                done[way, action.stage_index, action.microbatch_index] = clocks[rank]
            at[rank] += 1
    assert at == [len(actions) for actions in given], "the order never ends"
    busy = sum(took[_kind(a)] for actions in given for a in actions)
    return 1 - busy / (len(given) * max(clocks))


@pytest.mark.parametrize(
    ("name", "ranks", "each", "micro_batches"), [c for c in CASES if c[0] != "zero-bubble"]
)
def test_bubble(name, ranks, each, micro_batches):
    """The formulas of the papers, against the orders played out with backward twice forward."""
    parallel = ParallelRecipe(pipeline=ranks, schedule=name, stages_per_rank=each)
    played = idle_share(orders(name, ranks, each, micro_batches), ranks * each)
    assert bubble(parallel, micro_batches) == pytest.approx(played, abs=1e-9)


def test_one_rank_never_waits():
    assert bubble(ParallelRecipe(data=4), 3) == 0
