"""Low precisions against fp32 and against themselves in other layouts.

Bounds are of the format: float8 e4m3 rounds to 3 bits of fraction (2^-4 relative at most), bfloat16
to 7 (2^-8); a loss averages over many products, so it lies well below one rounding.
"""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from seamount.training import parity, parity_ranks
from seamount.training.language_module import LanguageModule
from seamount.training.recipe import ParallelRecipe, Recipe, RecomputeRecipe, load_recipe
from seamount.training.recipe import recipe_to_dict as plain

# how Lightning 2.6 asks torch's tree module
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec.*")
TINY = ("model={preset: tiny, vocab_size: 320, tied: true}", "data.sequence_length=34")
EIGHT, SIXTEEN = 2.0**-4, 2.0**-8
PP2, TP2 = parity.LAYOUTS["pp2"], parity.LAYOUTS["tp2"]
BOTH = ParallelRecipe(pipeline=2, tensor=2)
FULL = RecomputeRecipe(mode="full")


def recipe(precision: str, **fields) -> Recipe:
    small = parity.shrunk(load_recipe("text/demo.yaml", TINY))
    small = replace(small, data=replace(small.data, micro_batch_size=2), steps=3)
    return replace(small, precision=precision, **fields)


def gap(one: Recipe, together: Recipe) -> dict:
    job = {"one": plain(one), "layout": plain(together), "plant": None}
    return parity.run_ranks(parity.TARGET, job, together.parallel.ranks, threads=1)


def test_float8_is_near_fp32_and_recomputes_the_same_bits():
    pytest.importorskip("torchao")
    wanted = parity_ranks.record(plain(recipe("fp32")))
    got = parity_ranks.record(plain(recipe("fp8")))
    assert got.losses == pytest.approx(wanted.losses, rel=EIGHT / 4)
    assert got.losses != wanted.losses  # it does round
    again = parity_ranks.record(plain(recipe("fp8", recompute=FULL)))
    assert again.losses == got.losses
    assert all(torch.equal(again.gradients[n], g) for n, g in got.gradients.items())


def test_float8_is_in_the_matrices_of_the_layers_alone():
    float8 = pytest.importorskip("torchao.float8.float8_linear")
    module = LanguageModule(recipe("fp8"), torch.ones(320, dtype=torch.int64))
    module.configure_model()
    found = {n for n, m in module.parts.stages[0].named_modules() if type(m) is float8.Float8Linear}
    assert len(found) == 2 * 7 and all(name.startswith("layers.") for name in found)
    assert set(module.parts.parameters) == set(
        parity_ranks.record(plain(replace(recipe("fp32"), steps=1))).gradients
    )
    assert {p.dtype for p in module.parts.parameters.values()} == {torch.float32}


def test_float8_is_quiet_when_it_loads():
    pytest.importorskip("torchao")
    code = "from seamount.training import float8; float8._torchao()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["full", "selective"])
def test_float8_over_tensor_and_pipeline_ranks_with_recomputation(mode):
    """FP8 x TP2 x PP2 x recomputation x 2 micro-batches is near fp32 on one process."""
    pytest.importorskip("torchao")
    row = gap(recipe("fp32"), recipe("fp8", parallel=BOTH, recompute=RecomputeRecipe(mode=mode)))
    assert math.isfinite(row["loss"]) and math.isfinite(row["grad"])
    assert row["loss"] < EIGHT / 4 and row["norm"] < EIGHT, row
    assert row["grad"] < 4 * EIGHT, row  # of one gradient's largest value


@pytest.mark.slow
@pytest.mark.parametrize("layout", [TP2, BOTH, parity.LAYOUTS["tp2xpp2"]])
def test_float8_is_the_same_over_tensor_ranks(layout):
    """Scales are of whole tensors: what is left is fp32 rounding, and values that it tips over."""
    pytest.importorskip("torchao")
    row = gap(recipe("fp8"), recipe("fp8", parallel=layout))
    assert max(row["loss"], row["norm"]) < 1e-4 and row["grad"] < EIGHT / 2, row


@pytest.mark.slow
@pytest.mark.parametrize("layout", [TP2, PP2], ids=["tp2", "pp2"])
@pytest.mark.parametrize("precision", ["bf16-mixed", "bf16-true"])
def test_bfloat16_is_near_fp32(layout, precision):
    row = gap(recipe("fp32"), recipe(precision, parallel=layout))
    assert row["loss"] < SIXTEEN and row["norm"] < 4 * SIXTEEN, row


@pytest.mark.parametrize(
    ("precision", "wanted"), [("bf16-mixed", torch.float32), ("bf16-true", torch.bfloat16)]
)
def test_weights_and_optimiser_state_have_the_type_that_the_mode_says(precision, wanted):
    module = LanguageModule(recipe(precision), torch.ones(320, dtype=torch.int64))
    module.configure_model()
    updater = module.configure_optimizers()
    held = [*module.parts.parameters.values()]
    held += [state for states in updater.state.values() for state in states.values()]
    assert {tensor.dtype for tensor in held} == {wanted}
