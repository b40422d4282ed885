"""A store's size and its limit: points always pass, files only while there is room."""

from __future__ import annotations

import json
import logging

import pytest
from typer.testing import CliRunner

from seamount.cli.track import app
from seamount.cli.track_keep import parse_duration
from seamount.core.errors import UserError
from seamount.tracking import Run, query
from seamount.tracking.store.verify import verify
from seamount.tracking.upkeep.usage import disk_bytes, parse_size, set_quota, usage


def test_sizes_and_durations():
    assert parse_size("500GB") == 500 * 10**9
    assert parse_size("1.5 TiB") == 3 * 2**39
    assert parse_size("12") == 12
    assert parse_size("2k") == 2000
    assert parse_duration("1d12h") == 129_600
    for wrong in ("", "GB", "12 parsecs", "-1GB", "nan", "1e999"):
        with pytest.raises(UserError, match="no size"):
            parse_size(wrong)
    for wrong in ("", "d", "5", "5y", "1d 2h"):
        with pytest.raises(UserError, match="no duration"):
            parse_duration(wrong)


def test_use_by_run_and_project_counts_shared_contents_once(store):
    for run_id, project in (("a", "p"), ("b", "q")):
        with Run(project=project, run_id=run_id, store=store.folder, capture=False) as run:
            run.assign_files({"same.bin": b"x" * 100_000, f"{run_id}.bin": b"y" * 1000})
    found = usage(store)
    sizes = {row["run_id"]: row["files"] for row in found["runs"]}
    assert sizes == {"a": 101_000, "b": 101_000}
    assert set(found["projects"]) == {"p", "q"}
    assert found["projects"]["p"] == sum(
        disk_bytes(store.folder / part / "a") for part in ("segments", "points", "artifacts/runs")
    )
    assert 101_000 < found["bytes"] - disk_bytes(store.segments) < 2_000_000
    assert found["bytes"] == sum(
        p.lstat().st_size
        for p in {q.lstat().st_ino: q for q in store.folder.rglob("*") if q.is_file()}.values()
    )


def test_beyond_the_quota_points_pass_and_files_do_not(store, caplog):
    with Run(project="p", run_id="r", store=store.folder, capture=False) as run:
        assert run.assign_files({"first.bin": b"1" * 1000})
        set_quota(store, disk_bytes(store.folder) + 5000)
        with caplog.at_level(logging.WARNING, "seamount.tracking"):
            taken = run.assign_files({"big.bin": b"2" * 50_000, "small.bin": b"3" * 100})
            assert set(taken) == {"small.bin"}
            assert run.log_files({"ckpt": b"4" * 50_000}, step=7) == {}
        told = [r.getMessage() for r in caplog.records if "NOT stored" in r.getMessage()]
        assert len(told) == 1
        assert "big.bin (50.0 KB)" in told[0]
        for step in range(1000):
            run.log_metrics({"loss": step}, step=step)
        set_quota(store, None)
        assert run.assign_files({"big.bin": b"2" * 50_000})
    found = query.run(store.folder, "r")
    assert found["tags"]["seamount.refused_files"] == "2, the last: ckpt/7"
    assert set(found["files"]) == {"first.bin", "small.bin", "big.bin"}
    assert verify(store, "r")["points"] == 1000


def test_the_commands(store):
    with Run(project="p", run_id="r", store=store.folder, capture=False) as run:
        run.log_metrics({"x": 1.0}, step=0)

    def track(*words):
        done = CliRunner().invoke(app, [*words, "--store", store.uri])
        if isinstance(done.exception, UserError):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.output

    assert "no limit" in track("quota")
    assert "OVER THE LIMIT" in track("quota", "1KB")
    assert json.loads(track("quota", "none", "--json"))["quota_bytes"] is None
    assert "deleted" in track("delete", "r")
    assert "r" not in track("ls").split()
    assert "restored" in track("restore", "r")
    track("delete", "r")
    assert "would be removed" in track("gc", "--dry-run")
    assert json.loads(track("gc", "--older-than", "1h", "--json"))["runs"] == []
    assert "removed" in track("gc")
    with pytest.raises(UserError, match="no run 'r'"):
        track("delete", "r")
