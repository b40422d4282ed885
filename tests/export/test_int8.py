"""int8 rounding against plain arithmetic, and the gate's arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from seamount.core.errors import SeamountError
from seamount.export import gate, parity
from seamount.export.gate import Deltas, GateFailed
from seamount.export.quantize.int8 import quantise, quantise_module

MATRICES = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=9),
    elements=st.floats(-1e3, 1e3, width=32),
)


@settings(max_examples=200, deadline=None)
@given(weight=MATRICES)
def test_the_error_is_at_most_half_a_step_of_its_row(weight):
    found = quantise(weight)
    error = np.abs(found.dequantised() - weight)
    step = np.abs(weight).max(axis=1, keepdims=True) / 127
    assert (error <= 0.5 * step * (1 + 1e-5) + 1e-30).all()
    assert found.values_OI.dtype == np.int8
    assert np.abs(found.values_OI.astype(int)).max() <= 127
    assert found.scale_O.shape == (len(weight),)


def test_values_that_are_not_finite_are_named():
    with pytest.raises(SeamountError, match=r"head\.weight"):
        quantise(np.array([[1.0, np.nan]], dtype=np.float32), "head.weight")


def test_a_tied_weight_is_rounded_once_and_stays_tied():
    from torch import nn

    module = nn.Module()
    module.embedding = nn.Embedding(5, 3)
    module.head = nn.Linear(3, 5, bias=False)
    module.head.weight = module.embedding.weight
    before = module.head.weight.detach().clone()
    twin, weights = quantise_module(module)
    assert list(weights) == ["embedding.weight"]
    assert twin.head.weight is twin.embedding.weight
    assert np.array_equal(
        twin.head.weight.detach().numpy(), weights["embedding.weight"].dequantised()
    )
    assert bool((module.head.weight == before).all())  # the original is left alone


def test_the_gate_judges_overall_and_every_component():
    found = Deltas(0.005, 0.0, 0.0, {"A": -0.1, "B": 0.02})
    assert gate.judge(found, 0.03).passed
    assert gate.judge(found, 0.01).failed == {"B": 0.02}
    assert gate.judge(found, 0.001, 0.05).failed == {"weighted": 0.005}
    nothing = Deltas(float("nan"), 0.0, 0.0, {})
    assert not gate.judge(nothing, 1.0).passed  # no figure is no pass
    with pytest.raises(GateFailed, match=r"0\.0200 bits per byte in 'B'"):
        gate.require(gate.judge(found, 0.01), {})


def test_parity_tells_a_tie_from_a_flip():
    def logits(*values):
        return lambda ids: np.broadcast_to(
            np.array(values, dtype=np.float32), (*ids.shape, len(values))
        )

    tie = parity.compare(logits(1.0, 1.0), logits(1.0, 1.0 + 1e-6), 2, 8)
    assert tie.ok
    assert tie.shapes[0].argmax_agreement == 0.0
    flip = parity.compare(logits(1.0, 2.0), logits(2.0, 1.0), 2, 8)
    assert not flip.ok
    with pytest.raises(SeamountError, match="batch 1, sequence 1"):
        parity.require(flip)
    assert not parity.compare(logits(1.0, 2.0), logits(float("nan"), 1.0), 2, 8).ok


def test_the_grid_holds_the_shortest_and_the_longest():
    shapes = parity.grid(64)
    assert (1, 1) in shapes
    assert (1, 64) in shapes
    assert max(b for b, _ in shapes) == 4
    assert max(s for _, s in parity.grid(1)) == 1
