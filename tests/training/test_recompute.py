"""Recomputed activations: the same gradients, in every layout, under the same names."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from seamount.training import memory_budget, parity, parity_ranks
from seamount.training.recipe import ParallelRecipe, Recipe, RecomputeRecipe, load_recipe
from seamount.training.recipe import recipe_to_dict as plain

# how Lightning 2.6 asks torch's tree module
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec.*")
TINY = ("model={preset: tiny, vocab_size: 320, tied: true}", "data.sequence_length=34")
MODES = ("full", "selective")


def recipe(*overrides: str, **recompute) -> Recipe:
    small = parity.shrunk(load_recipe("text/demo.yaml", [*TINY, *overrides]))
    return replace(small, steps=2, recompute=RecomputeRecipe(**recompute))


@pytest.fixture(scope="module", params=["llama", "gpt2", "mistral"])
def kept_all(request):
    overrides = [f"model.architecture={request.param}"]
    if request.param == "mistral":
        overrides.append("model.sliding_window=5")
    return overrides, parity_ranks.record(plain(recipe(*overrides)))


@pytest.mark.parametrize("options", [*({"mode": m} for m in MODES), {"mode": "full", "every": 2}])
def test_the_same_bits_on_one_process(kept_all, options):
    overrides, wanted = kept_all
    got = parity_ranks.record(plain(recipe(*overrides, **options)))
    assert got.losses == wanted.losses and got.norms == wanted.norms
    assert got.gradients.keys() == wanted.gradients.keys()
    for name, gradient in wanted.gradients.items():
        assert torch.equal(got.gradients[name], gradient), name


LAYOUTS = [
    pytest.param(parity.LAYOUTS[name], id=name, marks=marks)
    for name, marks in (
        ("tp2xpp2", ()),
        ("sp", pytest.mark.slow),
        ("tp2", pytest.mark.slow),
        ("pp2", pytest.mark.slow),
        ("dp2-sharded", pytest.mark.slow),
    )
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", [pytest.param("full", marks=pytest.mark.slow), "selective"])
def test_every_layout_recomputes_what_one_process_keeps(layout, mode):
    check_against_one(layout, mode)


@pytest.mark.slow
def test_a_backward_pass_in_two_parts_recomputes_for_each():
    check_against_one(ParallelRecipe(pipeline=2, schedule="zero-bubble", stages_per_rank=2), "full")


@pytest.mark.slow
def test_each_stage_recomputes_what_its_own_budget_asks():
    """The first holds two micro-batches, the second one: they choose unlike modes."""
    chosen = RecomputeRecipe(mode="auto", budget_bytes=240_000)
    layout = parity.LAYOUTS["pp2"]
    first, last = memory_budget.choose(
        replace(recipe("model.layers=4"), parallel=layout, recompute=chosen)
    )
    assert set(first.modes.values()) == {"full", "selective"}
    assert set(last.modes.values()) == {"none"}
    check_against_one(layout, chosen)


def check_against_one(layout: ParallelRecipe, chosen: RecomputeRecipe | str) -> None:
    one = recipe("model.layers=4")
    if isinstance(chosen, str):
        chosen = RecomputeRecipe(mode=chosen)
    together = replace(one, parallel=layout, recompute=chosen)
    job = {"one": plain(one), "layout": plain(together), "plant": None}
    row = parity.run_ranks(parity.TARGET, job, layout.ranks, threads=1)
    assert max(row["loss"], row["norm"], row["grad"]) < 1e-5, row
