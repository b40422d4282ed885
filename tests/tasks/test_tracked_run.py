"""Which tracked run a flow in a folder goes on with."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seamount.core.errors import Preempted
from seamount.tracking import query
from tasks import tracking
from tasks.parameters import CorpusOptions


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the flow's frame with such options; returns the run's id."""
    monkeypatch.setattr(tracking.publish, "markdown", lambda *_: None)

    def call(max_bytes: int, fails: bool = False, **parameters: Any) -> str:
        options = CorpusOptions(max_bytes=max_bytes)
        state = SimpleNamespace(id="f", name="n", parameters={"corpus_options": options})
        monkeypatch.setattr(tracking, "flow_run", state)
        with (
            contextlib.suppress(Preempted),
            tracking.tracked_run(str(tmp_path / "out"), "flow", parameters) as run,
        ):
            if fails:
                raise Preempted("stopped")
        return run.run_id

    return call


def test_the_same_parameters_go_on_and_others_begin_another_run(attempt: Any) -> None:
    first = attempt(10_000, fails=True, steps=10)
    assert attempt(10_000, fails=True, steps=10) == first
    other = attempt(10_000, fails=True, steps=20)
    options = attempt(20_000, fails=True, steps=20)
    assert len({first, other, options}) == 3
    assert query.run(None, first)["config"] == {"parameters/steps": 10}
    assert query.run(None, other)["config"] == {"parameters/steps": 20}
    assert {run["state"] for run in query.runs()} == {"Interrupted"}
    assert attempt(20_000, steps=20) == options
    assert attempt(20_000, steps=20) != options  # that one was completed
