"""The training curve survives a kill: it once was written at the end alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tasks.curve import CurveFile, read_curves


def log_nothing(data: dict[str, Any], step: float) -> None:
    pass


@pytest.fixture
def killed(tmp_path: Path) -> str:
    """A curve whose writer never came to its end, and whose last line the power cut tore."""
    path = str(tmp_path / "scores" / "training.json")
    curve = CurveFile(path, log_nothing).__enter__()
    for step in (10, 20, 30):
        curve({"train/bpb": 1.0 / step, "train/loss": 9.0}, step=step)
    curve({"val/bpb": 0.5}, step=30)
    curve._lines.close()
    with Path(f"{path}l").open("a") as journal:
        journal.write('["train", 40, 0.0')
    return path


def test_points_before_a_kill_stay_and_steps_done_again_replace_theirs(killed: str) -> None:
    CurveFile(killed, log_nothing).__enter__()._lines.close()  # and killed at once, again
    with CurveFile(killed, log_nothing) as curve:
        curve({"train/bpb": 7.0}, step=30)
        curve({"train/bpb": 8.0}, step=40)
    assert read_curves(killed) == {
        "train": [(10, 0.1), (20, 0.05), (30, 7.0), (40, 8.0)],
        "val": [(30, 0.5)],
    }
    assert [p.name for p in Path(killed).parent.iterdir()] == ["training.json"]


def test_a_training_begun_afresh_takes_nothing_from_a_killed_one(killed: str) -> None:
    with CurveFile(killed, log_nothing, afresh=True) as curve:
        curve({"train/bpb": 3.0}, step=10)
    assert read_curves(killed) == {"train": [(10, 3.0)]}
