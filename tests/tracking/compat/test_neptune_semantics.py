"""Experiments, forks, types, projects and files as Neptune means them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from seamount.tracking.compat import neptune_query as nq
from seamount.tracking.compat.neptune_query import exceptions, experimental, warnings
from seamount.tracking.compat.neptune_query import runs as nq_runs
from seamount.tracking.compat.neptune_query.filters import Attribute, AttributeFilter, Filter
from seamount.tracking.compat.neptune_scale import Run, projects
from seamount.tracking.compat.neptune_scale import exceptions as scale_exceptions

PROJECT = "team/p"


def make(**arguments: Any) -> Run:
    given = {"project": PROJECT, "source_tracking_config": None}
    return Run(**(given | {"enable_console_log_capture": False} | arguments))


def test_a_name_of_several_types_wants_a_type() -> None:
    for value in (1, 1.5, "x"):
        with make(experiment_name=f"e-{type(value).__name__}") as run:
            run.log_configs({"mixed": value})
    with pytest.raises(exceptions.AttributeTypeInferenceError, match="mixed"):
        nq.list_experiments(project=PROJECT, experiments=Filter.eq("mixed", 1))
    where = Filter.ge(Attribute("mixed", "int"), 0) | Filter.ge(Attribute("mixed", "float"), 0)
    assert nq.list_experiments(project=PROJECT, experiments=where) == ["e-float", "e-int"]
    with pytest.raises(exceptions.ConflictingAttributeTypes, match="mixed"):
        nq.fetch_experiments_table(project=PROJECT, attributes=["mixed"])
    frame = nq.fetch_experiments_table(
        project=PROJECT, attributes=["mixed"], type_suffix_in_column_names=True
    )
    assert list(frame.columns) == ["mixed:float", "mixed:int", "mixed:string"]
    with pytest.warns(warnings.AttributeWarning, match="absent"):
        assert nq.list_experiments(project=PROJECT, experiments=Filter.eq("absent", 1)) == []
    with pytest.raises(exceptions.NeptuneUserError, match="cannot be compared"):
        nq.list_experiments(project=PROJECT, experiments=Filter.eq("sys/creation_time", "soon"))


def test_configs_are_replaced_in_view_and_kept_as_snapshots() -> None:
    when = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
    with make(experiment_name="e", run_id="r") as run:
        run.log_configs({"lr": 1, "when": when, "set": {"b", "a"}, "text": "2026-05-06"})
        run.log_configs({"lr": "high"})
    row = nq.fetch_experiments_table(project=PROJECT, attributes="!^sys").loc["e"]
    assert row.to_dict() == {"lr": "high", "set": {"a", "b"}, "text": "2026-05-06", "when": when}
    from seamount.tracking import query

    assert [s["values"]["lr"] for s in query.open_run("r").snapshots] == [1, "high"]


def test_an_experiment_is_its_newest_run() -> None:
    for number in range(3):
        with make(experiment_name="e", run_id=f"r{number}") as run:
            run.log_metrics({"loss": number}, step=0)
    with make(run_id="alone") as run:
        run.log_metrics({"loss": 9}, step=0)
    assert nq.list_experiments(project=PROJECT) == ["e"]
    assert nq_runs.list_runs(project=PROJECT) == ["alone", "r0", "r1", "r2"]
    assert nq_runs.list_runs(project=PROJECT, runs=Filter.eq("sys/name", "e")) == ["r0", "r1", "r2"]
    assert nq.fetch_experiments_table(project=PROJECT, attributes=["loss"]).loc["e", "loss"] == 2
    head = Filter.eq("sys/experiment/is_head", True)
    assert nq_runs.list_runs(project=PROJECT, runs=head) == ["r2"]


def test_forks_show_their_parents_points() -> None:
    with make(experiment_name="e", run_id="parent") as run:
        run.log_configs({"lr": 1, "depth": 2})
        for step in range(6):
            run.log_metrics({"loss": step}, step)
            run.log_string_series({"log": f"p{step}"}, step)
    with make(experiment_name="e", run_id="child", fork_run_id="parent", fork_step=3) as run:
        run.log_configs({"lr": 5})
        run.log_metrics({"loss": 40}, 4)
        run.log_metrics({"loss": 50}, 5, preview=True, preview_completion=0.5)
        run.log_string_series({"log": "c4"}, 4)
    whole = nq.fetch_metrics(project=PROJECT, experiments=["e"], attributes=["loss"])
    assert whole["loss"].to_list() == [0, 1, 2, 3, 40]
    own = nq.fetch_metrics(
        project=PROJECT, experiments=["e"], attributes=["loss"], lineage_to_the_root=False
    )
    assert own["loss"].to_list() == [40]
    previews = nq.fetch_metrics(
        project=PROJECT, experiments=["e"], attributes=["loss"], include_point_previews=True
    )["loss"]
    assert previews["value"].to_list() == [0, 1, 2, 3, 40, 50]
    assert previews["is_preview"].to_list() == [False] * 5 + [True]
    assert previews["preview_completion"].to_list() == [1.0] * 5 + [0.5]
    texts = nq.fetch_series(project=PROJECT, experiments=["e"], attributes=["log"])
    assert texts["log"].to_list() == ["p0", "p1", "p2", "p3", "c4"]
    row = nq.fetch_experiments_table(project=PROJECT, attributes=".*").loc["e"]
    assert (row["lr"], row["depth"], row["loss"]) == (5, 2, 40)
    assert (row["sys/forking/parent"], row["sys/forking/step"]) == ("parent", 3.0)
    assert row["sys/forking/depth"] == 1


def test_ranks_that_write_below_their_own_names_read_as_one_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for rank in range(3):
        monkeypatch.setenv("RANK", str(rank))
        with make(run_id="r", experiment_name="e") as run:
            run.log_metrics({f"rank{rank}/loss": rank, "shared": 10 + rank}, step=0)
    frame = nq.fetch_metrics(project=PROJECT, experiments=["e"], attributes=".*")
    assert frame.iloc[0].to_dict() == {
        "rank0/loss": 0, "rank1/loss": 1, "rank2/loss": 2, "shared": 10,
    }  # fmt: skip
    where = Filter.eq("rank2/loss", 2)
    assert nq.list_experiments(project=PROJECT, experiments=where) == ["e"]


def test_run_ids_that_are_not_ours_and_equal_ids_of_two_projects() -> None:
    for project in ("team/a", "team/b"):
        for run_id in ("same", "with space: é"):
            for step in range(2):
                with make(project=project, run_id=run_id, experiment_name=run_id) as run:
                    run.log_metrics({"loss": len(project)}, step)
    for project in ("team/a", "team/b"):
        assert nq_runs.list_runs(project=project) == ["same", "with space: é"]
        frame = nq_runs.fetch_metrics(project=project, runs=["with space: é"], attributes="loss")
        assert len(frame) == 2
    frame = experimental.fetch_runs_table_global(attributes=["loss"])
    assert sorted(frame.index) == [
        (p, r) for p in ("team/a", "team/b") for r in ("same", "with space: é")
    ]
    with pytest.raises(exceptions.AttributeTypeInferenceError):
        experimental.fetch_runs_table_global(runs=Filter.eq("loss", 1))


def test_projects() -> None:
    assert projects.create_project("p", workspace="team") == PROJECT
    assert projects.list_projects() == [PROJECT]
    assert nq.list_experiments(project=PROJECT) == []
    with pytest.raises(exceptions.NeptuneProjectInaccessible):
        nq.list_experiments(project="team/other")
    with pytest.raises(exceptions.NeptuneProjectNotProvided):
        nq.list_experiments()
    with pytest.raises(scale_exceptions.NeptuneProjectNotProvided):
        Run()
    with pytest.raises(scale_exceptions.NeptuneProjectAlreadyExists):
        projects.create_project(PROJECT, fail_if_exists=True)
    for name, workspace in (("p", None), ("a/p", "b"), ("a b/p", None)):
        with pytest.raises(ValueError):
            projects.create_project(name, workspace=workspace)


def test_downloads_are_checked_and_belong_to_one_of_the_two_apis(tmp_path: Path) -> None:
    with make(experiment_name="e", run_id="r") as run:
        run.assign_files({"a/b": b"first"})
        run.assign_files({"a/b": b"second", "c": str(tmp_path / "absent")})
    table = nq.fetch_experiments_table(project=PROJECT, attributes=AttributeFilter(type="file"))
    assert repr(table.loc["e", "a/b"]) == "File(size=6 B, mime_type=application/octet-stream)"
    (path,) = nq.download_files(files=table, destination=tmp_path)["a/b"]
    assert Path(path).relative_to(tmp_path) == Path("e/a/b.bin")
    assert Path(path).read_bytes() == b"second"
    with pytest.raises(exceptions.NeptuneUserError, match="other API"):
        nq_runs.download_files(files=table)
    blob = next(p for p in Path(run._run._store.folder, "blobs").rglob("*") if p.is_file()
                and p.read_bytes() == b"second")  # fmt: skip
    blob.chmod(0o644)
    blob.write_bytes(b"changed")
    with pytest.raises(exceptions.NeptuneFileDownloadError, match="not what was logged"):
        nq.download_files(files=table, destination=tmp_path)
    empty = nq.download_files(files=[])
    assert (list(empty.index.names), empty.columns.name) == (["experiment", "step"], "attribute")


def test_failures_and_states_show_as_attributes() -> None:
    with pytest.raises(RuntimeError), make(experiment_name="e") as run:
        run.log_metrics({"loss": 1}, 0)
        raise RuntimeError("diverged")
    row = nq.fetch_experiments_table(project=PROJECT, attributes="^sys/").loc["e"]
    assert (row["sys/failed"], row["sys/state"]) == (True, "Failed")
    assert row["sys/owner"]


def test_arguments_of_queries() -> None:
    make(experiment_name="e").close()
    which: dict[str, Any] = {"project": PROJECT, "experiments": "e", "attributes": "x"}
    for wrong in (
        {"step_range": (2, 1)}, {"step_range": [1, 2]}, {"step_range": ("1", None)},
        {"tail_limit": 0}, {"tail_limit": "1"}, {"include_time": "relative"},
        {"experiments": []}, {"experiments": 5}, {"attributes": 5},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            nq.fetch_metrics(**(which | wrong))
    for wrong in ({"limit": 0}, {"limit": 1001}, {"x": "time"}):
        with pytest.raises(ValueError):
            nq.fetch_metric_buckets(project=PROJECT, experiments="e", y="x", **wrong)
    for wrong in ({"limit": 0}, {"sort_direction": "up"}, {"sort_by": 5}):
        with pytest.raises(ValueError):
            nq.fetch_experiments_table(project=PROJECT, **wrong)
    for call in (
        lambda: Filter.contains_all("x", []),
        lambda: AttributeFilter(type="number"),
        lambda: Attribute("x", "number"),
        lambda: AttributeFilter(name=[5]),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        Filter.eq("x", [1])
