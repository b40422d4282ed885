"""The short form of the corpus kill drill; `make drill` runs the long one."""

from __future__ import annotations

import pytest
from corpus_kill import run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def test_kills_at_borders_of_stages_at_random_times_and_of_single_workers() -> None:
    one, two = run("local", 4_000_000, workers=[1, 2], rounds=2, seed=0)
    assert one.at_borders == two.at_borders == 2, "the first kill of a round always hits"
    assert one.kept + two.kept > 0, "nothing was finished, so nothing could be done again"
    assert one.redone == two.redone == 0
    assert one.differ == two.differ == 0
