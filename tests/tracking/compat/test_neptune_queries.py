"""What queries give, beside what a plain walk over the logged values gives."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seamount.tracking.compat import neptune_query as nq
from seamount.tracking.compat.neptune_query import runs as nq_runs
from seamount.tracking.compat.neptune_query.filters import Attribute, AttributeFilter, Filter
from seamount.tracking.compat.neptune_scale import Run

PROJECT = "team/p"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def make(**arguments: Any) -> Run:
    given = {"project": PROJECT, "source_tracking_config": None}
    return Run(**(given | {"enable_console_log_capture": False} | arguments))


# A population, and filters that are also asked of the values themselves.


@pytest.fixture(scope="module")
def population(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """Label -> what was logged: configs, tags, metrics as {step: value}."""
    folder = tmp_path_factory.mktemp("population")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEAMOUNT_TRACKING_URI", str(folder))
        patch.setenv("SEAMOUNT_TRACKING_WATCHER", "off")
        chance, logged = random.Random(5), {}
        for number in range(24):
            values: dict[str, Any] = {"lr": chance.choice([0.1, 0.25, 0.5])}
            if chance.random() < 0.7:
                values["layers"] = chance.randrange(4)
            if chance.random() < 0.7:
                values["optimizer"] = chance.choice(["adam", "sgd", "adamw"])
            if chance.random() < 0.7:
                values["frozen"] = chance.random() < 0.5
            if chance.random() < 0.7:
                values["begun"] = EPOCH + timedelta(days=chance.randrange(4))
            tags = set(chance.sample(["a", "b", "ab"], chance.randrange(4)))
            steps = sorted(chance.sample(range(100), chance.randrange(1, 30)))
            loss = {step / 2: chance.choice([0.5, 1.0, 1.5, math.nan]) for step in steps}
            label = f"run-{number:02}"
            with make(run_id=label, experiment_name=f"e-{number:02}") as run:
                run.log_configs(values)
                run.add_tags(tags)
                for step, value in loss.items():
                    run.log_metrics({"loss": value}, step)
                    run.log_string_series({"words": f"{step}"}, step)
            logged[label] = values | {"sys/tags": tags, "loss": loss, "name": f"e-{number:02}"}
        yield logged


Check = Callable[[dict[str, Any]], bool]
COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def compared(name: str, kind: str, method: str, value: Any) -> tuple[Filter, Check]:
    def check(run: dict[str, Any]) -> bool:
        found = run.get(name)
        if isinstance(found, dict):
            found = found[max(found)]
        return found is not None and COMPARE[method](found, value)

    attribute = name if kind == "" else Attribute(name, kind)
    return getattr(Filter, method)(attribute, value), check


METHODS = st.sampled_from(sorted(COMPARE))
LEAVES = st.one_of(
    st.builds(compared, st.just("lr"), st.sampled_from(["", "float"]), METHODS,
              st.sampled_from([0.1, 0.25, 0.3])),
    st.builds(compared, st.just("layers"), st.sampled_from(["", "int"]), METHODS,
              st.integers(0, 3)),
    st.builds(compared, st.just("loss"), st.sampled_from(["", "float_series"]), METHODS,
              st.sampled_from([0.5, 1.0])),
    st.builds(compared, st.just("optimizer"), st.just("string"), st.sampled_from(["eq", "ne"]),
              st.sampled_from(["adam", "sgd", "none"])),
    st.builds(compared, st.just("frozen"), st.just(""), st.sampled_from(["eq", "ne"]),
              st.booleans()),
    st.builds(compared, st.just("begun"), st.just(""), METHODS,
              st.builds(lambda d: EPOCH + timedelta(days=d), st.integers(0, 4))),
    st.sampled_from(["layers", "optimizer", "begun", "loss"]).map(
        lambda name: (Filter.exists(name), lambda run: name in run)),
    st.sampled_from(["adam", "^adam$", "w", "adam & !w", "sgd | w"]).map(
        lambda p: (Filter.matches("optimizer", p), lambda run: matches(p, run.get("optimizer")))),
    st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=2).map(
        lambda t: (Filter.contains_all("sys/tags", t), lambda run: set(t) <= run["sys/tags"])),
    st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=2).map(
        lambda t: (Filter.contains_none("sys/tags", t), lambda run: not set(t) & run["sys/tags"])),
    st.sampled_from(["ad", "w"]).map(
        lambda t: (Filter.contains_all("optimizer", t), lambda run: t in run.get("optimizer", ""))),
    st.sampled_from([r"e-0\d", "e-1", "5$"]).map(
        lambda p: (Filter.name(p), lambda run: re.search(p, run["name"]) is not None)),
)  # fmt: skip


def matches(pattern: str, text: str | None) -> bool:
    def term(one: str) -> bool:
        return (re.search(one.lstrip("! "), text or "") is not None) is not one.startswith("!")

    parts = [all(term(one) for one in part.split(" & ")) for part in pattern.split(" | ")]
    return text is not None and any(parts)


def joined(inner: Any) -> Any:
    pair = st.tuples(inner, inner)
    return st.one_of(
        inner.map(lambda f: (~f[0], lambda run: not f[1](run))),
        pair.map(lambda p: (p[0][0] & p[1][0], lambda run: p[0][1](run) and p[1][1](run))),
        pair.map(lambda p: (p[0][0] | p[1][0], lambda run: p[0][1](run) or p[1][1](run))),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(where=st.recursive(LEAVES, joined, max_leaves=5))
def test_filters_select_what_a_walk_selects(population: Any, where: Any) -> None:
    wanted = sorted(label for label, run in population.items() if where[1](run))
    assert nq_runs.list_runs(project=PROJECT, runs=where[0]) == wanted


@settings(max_examples=20, deadline=None)
@given(
    low=st.none() | st.floats(0, 50), width=st.none() | st.floats(0, 50),
    tail=st.none() | st.integers(1, 10),
)  # fmt: skip
def test_ranges_and_tails_of_series(population: Any, low: Any, width: Any, tail: Any) -> None:
    high = None if width is None else (low or 0.0) + width
    which = {"step_range": (low, high), "tail_limit": tail, "project": PROJECT}
    found = nq_runs.fetch_metrics(runs=r"run-0", attributes=["loss"], **which)
    texts = nq_runs.fetch_series(runs=r"run-0", attributes=["words"], **which)
    wanted: dict[Any, float] = {}
    for label, run in population.items():
        inside = [
            s for s in run["loss"] if (low is None or s >= low) and (high is None or s <= high)
        ]
        steps = inside if tail is None else inside[-tail:]
        wanted |= {(label, s): run["loss"][s] for s in steps if label.startswith("run-0")}
    assert list(found.index) == list(texts.index) == sorted(wanted)
    if wanted:
        assert repr(found["loss"].to_list()) == repr([wanted[key] for key in sorted(wanted)])
        assert texts["words"].to_list() == [f"{step}" for _, step in sorted(wanted)]


@pytest.mark.parametrize("name", ["loss", "layers", "optimizer", "begun", "sys/creation_time"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_tables_are_sorted_and_missing_values_come_last(
    population: Any, name: str, direction: Any
) -> None:
    frame = nq_runs.fetch_runs_table(
        project=PROJECT, attributes=[name], sort_by=name, sort_direction=direction
    )
    assert len(frame) == len(population)
    found = [v for v in frame[name] if v == v and v is not None]
    assert found == sorted(found, reverse=direction == "desc")
    there = frame[name].notna().tolist()
    assert there == sorted(there, reverse=True)
    short = nq_runs.fetch_runs_table(
        project=PROJECT, attributes=[name], sort_by=name, sort_direction=direction, limit=5
    )
    assert list(short.index) == list(frame.index[:5])


def test_attribute_names_by_regex_list_and_type(population: Any) -> None:
    every = nq.list_attributes(project=PROJECT)
    assert {"lr", "layers", "loss", "words", "sys/tags", "sys/creation_time"} <= set(every)
    assert nq.list_attributes(project=PROJECT, attributes="^l & !r$") == ["layers", "loss"]
    assert nq.list_attributes(project=PROJECT, attributes=["lr", "nothing"]) == ["lr"]
    series = AttributeFilter(type=["float_series", "string_series"])
    assert nq.list_attributes(project=PROJECT, attributes=series) == ["loss", "words"]
    either = AttributeFilter("^lo") | AttributeFilter(type="bool", name="frozen")
    assert nq.list_attributes(project=PROJECT, attributes=either) == ["frozen", "loss"]
    with pytest.raises(ValueError, match="Only float_series"):
        nq.fetch_metrics(project=PROJECT, experiments="e", attributes=AttributeFilter(type="int"))
