"""Every layout against one process: losses, norms and every gradient; and faults that must show.

One process is the reference for all. Batches have rows with unlike numbers of targets, so that a
mean of means would show; parameters are moved off their starting values, so that no gradient is 0.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from seamount.core.errors import UserError
from seamount.training import parity
from seamount.training.faults import FAULTS
from seamount.training.pipeline import layers_of
from seamount.training.recipe import ParallelRecipe, Recipe, load_recipe

TINY = ("model={preset: tiny, vocab_size: 320}", "data.sequence_length=34")
SCHEDULES = {
    "gpipe": ParallelRecipe(pipeline=2, schedule="gpipe"),
    "more stages than micro-batches": ParallelRecipe(pipeline=4, data=2),
    "interleaved": ParallelRecipe(pipeline=2, schedule="interleaved-1f1b", stages_per_rank=2),
    "zero-bubble": ParallelRecipe(pipeline=2, schedule="zero-bubble", stages_per_rank=2),
}
THREE_AXES = ParallelRecipe(pipeline=2, data=2, tensor=2, sequence=True, shard_optimizer=True)


def recipe(*overrides: str) -> Recipe:
    return parity.shrunk(load_recipe("text/demo.yaml", [*TINY, *overrides]))


def within(row: dict, bound: float) -> bool:
    return max(row["loss"], row["norm"], row["grad"]) < bound


@pytest.mark.parametrize("tied", ["true", pytest.param("false", marks=pytest.mark.slow)])
def test_tensor_and_pipeline_ranks(tied):
    """Muon, four ranks, positions cut too; a tied matrix stands on both stages."""
    row = parity._row(recipe(f"model.tied={tied}"), parity.LAYOUTS["tp2xpp2"])
    assert row["ok"] and within(row, 5e-6), row
    assert row["worst"].endswith(".weight")


@pytest.mark.parametrize("tied", ["true", pytest.param("false", marks=pytest.mark.slow)])
def test_a_vocabulary_that_the_ranks_do_not_divide(tied):
    """321 ids are 161 and 160: nothing is padded, so no padding can leak into the softmax."""
    small = recipe(f"model={{preset: tiny, vocab_size: 321, tied: {tied}}}")
    row = parity._row(small, parity.LAYOUTS["sp"])
    assert row["ok"] and within(row, 5e-6), row


@pytest.mark.slow
@pytest.mark.parametrize("name", parity.LAYOUTS)
def test_every_layout_with_adamw_and_clipping(name):
    small = recipe("optimizer={name: adamw, lr: 0.003, eps: 1e-8, clip_norm: 0.3}")
    row = parity._row(small, parity.LAYOUTS[name])
    assert row["ok"], row


@pytest.mark.slow
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule(schedule):
    small = recipe("model={layers: 4, tied: true}")
    row = parity._row(small, SCHEDULES[schedule])
    assert row["ok"], row


@pytest.mark.slow
def test_three_axes_in_float64():
    """Eight ranks, 50 Muon updates, an optimiser shared by two: what is left is rounding."""
    small = replace(recipe("model.tied=true", "optimizer.clip_norm=0.3"), precision="fp64")
    row = parity._row(replace(small, steps=50), THREE_AXES)
    assert within(row, 1e-10), row


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "layout"), [(f, n) for f in FAULTS for n in FAULTS[f].layouts])
def test_a_planted_fault_shows(fault, layout):
    found = parity.compare(
        recipe("model.tied=true", "optimizer.clip_norm=0.3"), only=[layout], plant=fault
    )
    assert not found["ok"] and list(found["layouts"]) == [layout], found


def test_unknown_names_are_refused():
    with pytest.raises(UserError, match="no layout is called 'tp3'"):
        parity.compare(recipe(), only=["tp3"])
    with pytest.raises(UserError, match="no fault is called 'none': choose of tied-not-summed"):
        parity.compare(recipe(), plant="none")


@pytest.mark.parametrize("layers", range(4, 13))
@pytest.mark.parametrize("stages", range(1, 5))
def test_layers_are_shared_out(stages, layers):
    parts = [list(layers_of(stage, stages, layers)) for stage in range(stages)]
    assert [layer for part in parts for layer in part] == list(range(layers))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert sizes[-1] == min(sizes)  # it has the head as well


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["parallel.data=3"], "data.batch_size 8 is no multiple of 3"),
        (["parallel.data=2", "data.micro_batch_size=8"], "is no multiple of 16"),
        (["parallel.pipeline=3"], "is 3, more than model.layers 2"),
        (["parallel.sequence=true"], "parallel.sequence needs ranks"),
        (["parallel={tensor: 2, sequence: true}", "data.sequence_length=33"], "does not divide"),
        (
            [
                "model={heads: 64, kv_heads: 64, intermediate_size: 128, vocab_size: 257}",
                "parallel.tensor=64",
            ],
            "no id",
        ),
        (["parallel.shard_optimizer=true"], "parallel.shard_optimizer needs ranks"),
        (["parallel={pipeline: 2, stages_per_rank: 2}", "model.layers=4"], "takes one stage"),
        (["parallel={pipeline: 2, schedule: zero-bubble}"], "needs a number of micro-batches"),
        (["parallel.stages_per_rank=2"], "needs parallel.pipeline above 1"),
    ],
)
def test_impossible_layouts_are_refused(overrides, message):
    with pytest.raises(UserError, match=message):
        load_recipe("text/demo.yaml", [*TINY, *overrides])
