"""Batch ramp-up: which sequences an update takes, against counting them one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamount.core.errors import UserError
from seamount.training.batch_sizes import BatchSizes
from seamount.training.recipe import load_recipe, recipe_from_dict, recipe_to_dict

CHANGES = st.dictionaries(st.integers(1, 20), st.integers(1, 9), max_size=4)


@given(first=st.integers(1, 9), changes=CHANGES, start=st.integers(0, 25))
def test_counted_one_by_one(first, changes, start):
    sizes = BatchSizes(first, tuple(sorted(changes.items())))
    size, sequence = first, 0
    for step in range(26):
        size = changes.get(step, size)
        assert (sizes.at(step), sizes.before(step)) == (size, sequence)
        assert {sizes.step_of(n) for n in range(sequence, sequence + size)} == {step}
        sequence += size
    assert sizes.all == (first, *(size for _, size in sorted(changes.items())))


def test_a_recipe_with_a_ramp():
    ramp = "data={batch_size: 4, batch_schedule: [[10, 8], [20, 16]], micro_batch_size: 2}"
    recipe = load_recipe("text/demo.yaml", [ramp])
    assert recipe.data.batch_schedule == ((10, 8), (20, 16))
    assert [recipe.batch_sizes.at(step) for step in (9, 10, 19, 20)] == [4, 8, 8, 16]
    assert (recipe.micro_batch_size, recipe.micro_batches) == (2, 8)
    assert recipe_from_dict(recipe_to_dict(recipe)) == recipe


@pytest.mark.parametrize(
    ("ramp", "message"),
    [
        ("5", "data.batch_schedule is 5: it must be a list"),
        ("[[5]]", r"data.batch_schedule\[0\] is \[5\]: it must be a list of 2"),
        ("[[5, x]]", r"data.batch_schedule\[0\]\[1\] is 'x': it must be a whole number"),
        ("[[0, 8]]", r"data.batch_schedule\[0\] begins at step 0: it must come after step 0"),
        ("[[9, 8], [9, 8]]", r"data.batch_schedule\[1\] begins at step 9: .* after step 9"),
        ("[[9, 0]]", r"data.batch_schedule\[0\] has batches of 0"),
        ("[[9, 6]]", r"data.batch_schedule\[0\] 6 is no multiple of 4"),
    ],
)
def test_impossible_ramps_are_refused(ramp, message):
    with pytest.raises(UserError, match=message):
        load_recipe(
            "text/demo.yaml",
            ["data={batch_size: 4, micro_batch_size: 4}", f"data.batch_schedule={ramp}"],
        )
