"""Names, batches and states as MLflow's own validation has them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamount.tracking.delivery import mlflow_words as words


@settings(deadline=None)  # the first one imports MLflow
@given(st.text(min_size=1, max_size=300), st.integers(0, 3))
def test_every_key_is_one_that_mlflow_takes(name, rank):
    from mlflow.utils.validation import _validate_metric_name

    key = words.metric_key(name, rank)
    _validate_metric_name(key)  # raises where it is not taken
    assert len(key) <= 250
    assert words.key(key) == key


@given(st.sets(st.tuples(st.text("ab(/.[]@ ", min_size=1), st.integers(0, 2)), min_size=2))
def test_no_two_names_become_one(names):
    assert len({words.metric_key(name, rank) for name, rank in names}) == len(names)


def test_a_name_that_looks_like_a_rank_is_not_taken_for_one():
    assert words.metric_key("loss", 2) == "loss.rank2"
    assert words.metric_key("loss.rank2", 0) != "loss.rank2"


@pytest.mark.parametrize("kind", ["metrics", "tags"])
def test_batches_hold_all_in_order_within_the_limits(kind):
    import json

    items = [{"key": "k" * (n % 250), "value": "v" * (n * 37 % 8000)} for n in range(2500)]
    found = list(words.batches(kind, items))
    assert [item for batch in found for item in batch] == items
    assert max(len(batch) for batch in found) <= {"metrics": 1000, "tags": 100}[kind]
    assert max(len(json.dumps({"run_id": "r" * 32, kind: b})) for b in found) < 1_000_000


def test_states_are_those_of_the_plugin():
    from seamount.tracking.mlflow_plugin.mirror import MAX_PARAM_CHARS, MAX_TAG_CHARS, MLFLOW_STATUS

    assert words.STATUS == MLFLOW_STATUS
    assert (words.MAX_PARAM_CHARS, words.MAX_TAG_CHARS) == (MAX_PARAM_CHARS, MAX_TAG_CHARS)
