"""Signatures, errors and frames are those of the real packages: golden/, by make_golden.py."""

from __future__ import annotations

import importlib
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cases
import pytest

from seamount.tracking.compat import neptune_query as nq
from seamount.tracking.compat.neptune_query import experimental
from seamount.tracking.compat.neptune_scale import Run, types

GOLDEN = Path(__file__).parent / "golden"
COMPAT = "seamount.tracking.compat."
PROJECT = "team/p"


def golden(name: str) -> dict[str, Any]:
    return json.loads((GOLDEN / f"{name}.json").read_text())


@pytest.mark.parametrize("name", cases.MODULES)
def test_signatures_are_those_of_the_real_package(name: str) -> None:
    wanted = golden("signatures")[name]
    assert wanted
    ours = importlib.import_module(COMPAT + name)
    missing = [each for each in wanted if not hasattr(ours, each)]
    assert missing == []
    found = cases.surface(ours, COMPAT + name.split(".")[0], wanted)
    assert {each: shared(found[each], wanted[each]) for each in wanted} == wanted


def shared(ours: Any, wanted: Any) -> Any:
    """Ours, without the methods and properties that only our classes have."""
    if isinstance(wanted, list):
        return ours
    methods = {n: s for n, s in ours["methods"].items() if n in wanted["methods"]}
    properties = [n for n in ours["properties"] if n in wanted["properties"]]
    return ours | {"methods": methods, "properties": properties}


def make(**arguments: Any) -> Run:
    given = {"project": PROJECT, "source_tracking_config": None}
    return Run(**(given | {"enable_console_log_capture": False} | arguments))


def test_calls_fail_as_those_of_the_real_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEPTUNE_LOG_FAILURE_ACTION", "raise")
    wanted, found = golden("calls"), {}
    with make() as run:
        names = {"run": run, "make": make, "types": types}
        for call in cases.CALLS:
            try:
                eval(call, names)
                found[call] = ""
            except Exception as error:
                found[call] = type(error).__name__
                assert "\n" not in str(error)
    assert found == wanted


@pytest.fixture
def frames() -> dict[str, Any]:
    return golden("frames")


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def log_metrics() -> None:
    for label in ("exp-b", "exp-a"):
        with make(experiment_name=label) as run:
            for (owner, name), points in cases.METRICS.items():
                for step, value, ms, preview, completion in points if owner == label else ():
                    run.log_metrics(
                        {name: value}, step, timestamp=moment(ms), preview=preview,
                        preview_completion=completion if preview else None,
                    )  # fmt: skip


@pytest.mark.parametrize("time", [None, "absolute_time"])
@pytest.mark.parametrize("previews", [False, True])
def test_metric_frames(frames: dict[str, Any], time: str | None, previews: bool) -> None:
    log_metrics()
    frame = nq.fetch_metrics(
        project=PROJECT, experiments="exp", attributes=".*",
        include_time="absolute" if time else None, include_point_previews=previews,
        type_suffix_in_column_names=previews,
    )  # fmt: skip
    assert cases.described(frame) == frames[f"metrics time={time} previews={previews}"]


def test_empty_metric_frame(frames: dict[str, Any]) -> None:
    log_metrics()
    frame = nq.fetch_metrics(project=PROJECT, experiments="exp", attributes="^none$")
    assert cases.described(frame) == frames["metrics none"]


@pytest.mark.parametrize("time", [None, "absolute_time"])
def test_series_frames(frames: dict[str, Any], time: str | None) -> None:
    for label in ("exp-b", "exp-a"):
        with make(experiment_name=label) as run:
            for (owner, name), points in cases.TEXTS.items():
                for step, text, ms in points if owner == label else ():
                    run.log_string_series({name: text}, step, timestamp=moment(ms))
    frame = nq.fetch_series(
        project=PROJECT, experiments="exp", attributes=".*",
        include_time="absolute" if time else None,
    )  # fmt: skip
    assert cases.described(frame) == frames[f"series time={time}"]


def log_table() -> None:
    for hour, (label, values) in enumerate(cases.TABLE.items()):
        created = datetime(2026, 1, 1, 12 - hour, tzinfo=UTC)
        with make(experiment_name=label, creation_time=created) as run:
            run.log_configs(values)


@pytest.mark.parametrize("suffixes", [False, True])
def test_table_frames(frames: dict[str, Any], suffixes: bool) -> None:
    log_table()
    frame = nq.fetch_experiments_table(
        project=PROJECT, attributes="!^sys/", type_suffix_in_column_names=suffixes
    )
    assert cases.described(frame) == frames[f"table suffixes={suffixes}"]


def test_global_and_empty_table_frames(frames: dict[str, Any]) -> None:
    log_table()
    frame = experimental.fetch_experiments_table_global(attributes="!^sys/")
    assert cases.described(frame) == frames["table global"]
    frame = nq.fetch_experiments_table(project=PROJECT, experiments="nobody", attributes=".*")
    assert cases.described(frame) == frames["table none"]


@pytest.mark.parametrize("limit", cases.BUCKET_LIMITS)
def test_bucket_frames(frames: dict[str, Any], limit: int) -> None:
    for label in ("exp-a", "exp-b"):
        with make(experiment_name=label) as run:
            for (owner, name), points in cases.BUCKETS.items():
                for step, value in points if owner == label else ():
                    run.log_metrics({name: value}, step)
            run.log_metrics({"m1": math.nan}, 6.25)  # not looked at
    frame = nq.fetch_metric_buckets(project=PROJECT, experiments="exp", y="^m", limit=limit)
    assert cases.described(frame) == frames[f"buckets {limit}"]
