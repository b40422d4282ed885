"""Queries over real stores: tables, run objects, points, the best run, an alias, an audit."""

from __future__ import annotations

import datetime
import errno
import json
import math
import shutil

import numpy as np
import pytest

from seamount.cli.track_find import clock
from seamount.core.errors import CorruptData, DiskFull, UserError
from seamount.tracking import Run, query
from seamount.tracking.artifacts import blob_path, partial_name
from seamount.tracking.points.buckets import envelope
from seamount.tracking.query.frames import micros, moment


@pytest.fixture
def uri(store):
    """Six runs in two projects; r4 was restarted, r5 failed, r0 logged NaN last."""
    for number in range(6):
        project = "demo" if number < 4 else "other/demo"
        tags = {"team": "ab"[number % 2]} if number else ["base"]
        run = Run(
            project=project, name=f"run {number}", run_id=f"r{number}", store=store.uri, tags=tags
        )
        run.log_configs({"lr": 0.1 * number, "optimizer": "adam" if number % 2 else "sgd"})
        run.log_configs({"lr": number / 10, "seed": number})
        for step in range(5):
            run.log_metrics({"loss": 10.0 + number - step, "odd name": float(step)}, step=step)
        run.log_string_series({"log": f"hé {number}"}, step=0)
        run.assign_files({"ckpt/step=2/w.bin": b"two" * number, "ckpt/step=4/w.bin": b"4"})
        run.close(error=ValueError("bad\nvalue") if number == 5 else None,
                  state="Failed" if number == 5 else "Completed")  # fmt: skip
    with Run(run_id="r4", store=store.uri) as run:
        run.log_metrics({"loss": -7.0}, step=3)
    with Run(run_id="r0", store=store.uri) as run:
        run.log_metrics({"loss": math.nan}, step=5)
    with Run(run_id="r2", store=store.uri, rank=3) as run:
        run.log_metrics({"loss": 0.5}, step=0)
    return store.uri


def ids(where=None, **how):
    return [run.run_id for run in query.runs(where, sort="run_id", **how)]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (None, [0, 1, 2, 3, 4, 5]),
        ("config.lr < 0.25 and not tag.team = 'b'", [0, 2]),
        ("state = 'Failed' or tag.base exists", [0, 5]),
        ("error matches 'ValueError & bad'", [5]),
        ("min(loss) <= 7", [0, 1, 4]),  # of the restarted run, only the points shown count
        ("last(loss) = nan", [0]),
        ("max(loss) = 14 and count(loss) = 4", [4]),
        ("mean(loss) = 8.5", []),
        ("mean(loss) = 8", [0, 4]),
        ("at(loss, 3) < 8", [0, 4]),
        ("last(loss@3) = 0.5", [2]),
        ("last(`odd name`) = 4", [0, 1, 2, 3, 4, 5]),
        ("file.`ckpt/step=2/w.bin` > 10", [4, 5]),
        ("project matches '^other/' and duration < 1d", [4, 5]),
        ("created > ago(1d) and ended exists and name in ('run 1', 'run 9')", [1]),
        ("created > '2100-01-01'", []),
        ("any matches '?tag.team:^a$ & !?config.lr:0.2'", [4]),
        ("any matches '?config:^optimizer=sgd & ?error:bad'", []),
        ("any not matches '?metric:odd & ?file:ckpt'", []),
    ],
)
def test_filters_over_a_store(uri, where, expected):
    assert ids(where, store=uri) == [f"r{number}" for number in expected]


def test_project_search_sort_limit_and_total(uri):
    assert ids(store=uri, project="demo") == ["r0", "r1", "r2", "r3"]  # its very name
    assert ids(store=uri, project="dem & !other") == ["r0", "r1", "r2", "r3"]
    assert ids(store=uri, project="dem") == ["r0", "r1", "r2", "r3", "r4", "r5"]
    assert ids(store=uri, search="adam & (run.1 | ValueError)") == ["r1", "r5"]
    table = query.runs(store=uri, sort=["-config.optimizer", "config.lr desc"], limit=4, offset=1)
    assert [run.run_id for run in table] == ["r2", "r0", "r5", "r3"] and table.total == 6
    last = [run.run_id for run in query.runs(store=uri, sort="-last(loss)")]
    assert last == ["r5", "r3", "r2", "r1", "r4", "r0"]  # NaN behind every number
    assert [run.run_id for run in query.runs(store=uri, sort="tag.team")][-1] == "r0"
    by_hand = query.runs((query.config("lr") > 0.2) & ~(query.tag("team") == "a"), store=uri)
    assert {run.run_id for run in by_hand} == {"r3", "r5"}
    with pytest.raises(UserError, match="must not be negative"):
        query.runs(store=uri, limit=-1)


def test_deleted_runs_and_an_empty_answer(uri, store):
    with Run(run_id="r1", store=uri) as run:
        run._event({"kind": "deleted", "deleted": True})
    assert "r1" not in ids(store=uri) and "r1" in ids(store=uri, deleted=True)
    nothing = query.runs("name = 'none'", store=uri, columns=["config.*", "created", "last(*)"])
    assert (len(nothing), nothing.rows(), nothing.to_pandas().shape) == (0, [], (0, 1))


def test_a_table_as_arrow_and_pandas(uri):
    import pyarrow as pa

    columns = ["run_id", "config.*", "last(*)", "created", "tag.team", "mean(loss)"]
    table = query.runs("config.lr <= 0.1", store=uri, columns=columns, sort="run_id")
    arrow = table.to_arrow()
    assert arrow.column_names == [
        "run_id", "config.lr", "config.optimizer", "config.seed", "last(loss)",
        "last(`odd name`)", "created", "tag.team", "mean(loss)",
    ]  # fmt: skip
    assert arrow.schema.field("created").type == pa.timestamp("us", tz="UTC")
    assert arrow.schema.field("config.lr").type == pa.float64()  # 0 and 0.1: one type
    assert arrow["config.seed"].to_pylist() == [0, 1]
    assert arrow["tag.team"].to_pylist() == [None, "b"]
    pandas = table.to_pandas()
    assert pandas["mean(loss)"].tolist() == [8.0, 9.0]
    assert table.rows()[1]["created"] == table[1]["created"] == pandas["created"][1]
    assert datetime.datetime.now(datetime.UTC) - table[0]["created"] < datetime.timedelta(hours=1)


def test_a_column_of_several_types_becomes_text(store):
    for number, value in enumerate([1, "a", True, None, [1, 2], 2**70]):
        with Run(run_id=f"r{number}", store=store.uri) as run:
            run.log_configs({"x": value})
    table = query.runs(store=store.uri, columns=["config.x"], sort="run_id").to_arrow()
    text = ["1", "a", "true", None, "[1, 2]", str(2**70)]
    assert table["config.x"].to_pylist() == text


def test_moments_beyond_the_calendar_are_its_ends():
    """MLflow's clients may say any 64-bit time of a run."""
    for time_us in (-(2**63), -62_135_596_800_000_000, 0, 253_402_300_799_999_999, 2**63 - 1):
        found = micros(moment(time_us))
        assert abs(found) <= abs(time_us)
        assert (found == time_us) == (abs(time_us) < 2**62)
    assert clock(2**63 - 1) == "9999-12-31 23:59:59Z"


def test_polars_or_a_sentence(uri):
    table = query.runs(store=uri, columns=["run_id"], sort="run_id")
    try:
        import polars
    except ImportError:
        with pytest.raises(UserError, match="polars is not installed"):
            table.to_polars()
    else:
        assert isinstance(table.to_polars(), polars.DataFrame)


def test_a_run_object(uri, tmp_path):
    run = query.open_run("r4", uri)
    assert run.configs == {"lr": 0.4, "optimizer": "sgd", "seed": 4}
    assert (run.tags, run.state, run.error) == ({"team": "a"}, "Completed", None)
    assert run.series("loss").rows()[-1]["value"] == -7.0
    assert [row["step"] for row in run.series("loss")] == [0, 1, 2, 3]
    assert run.series("log").rows() == [{"step": 0, "value": "hé 4"}]
    assert (run["last(loss)"], run["config.none"]) == (-7.0, None)
    assert query.open_run("r2", uri).series("loss@3").columns["value"] == [0.5]
    assert list(query.open_run("r2", uri).metrics) == ["loss", "loss@3", "odd name"]
    with pytest.raises(UserError, match="did you mean 'loss'"):
        run.series("los")
    with pytest.raises(UserError, match="no run 'r9'"):
        query.open_run("r9", uri)
    with pytest.raises(AttributeError):
        _ = run.nothing


def test_downloads_by_name_folder_and_version(uri, tmp_path, store):
    with Run(run_id="r1", store=uri) as logged:
        logged.assign_files({"ckpt/step=4/w.bin": b"new"})
    run = query.open_run("r1", uri)
    assert run.artifacts["ckpt/step=4/w.bin"]["versions"] == 2
    assert run.download("ckpt/step=4/w.bin", tmp_path / "a").read_bytes() == b"new"
    assert run.download("ckpt/step=4/w.bin", tmp_path / "b", version=0).read_bytes() == b"4"
    folder = run.download("ckpt", tmp_path / "c")
    assert sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.bin")) == [
        "step=2/w.bin", "step=4/w.bin",
    ]  # fmt: skip
    for name, message in (("../x", "must be relative"), ("ckpt/step=9", "unknown file")):
        with pytest.raises(UserError, match=message):
            run.download(name, tmp_path)
    with pytest.raises(UserError, match="there is none 5"):
        run.download("ckpt/step=4/w.bin", tmp_path, version=5)
    blob = blob_path(store, run.artifacts["ckpt/step=4/w.bin"]["digest"])
    blob.chmod(0o644)
    blob.write_bytes(b"bad")
    with pytest.raises(CorruptData, match="not what was logged"):
        run.download("ckpt/step=4/w.bin", tmp_path / "d")
    assert not (tmp_path / "d" / "ckpt" / "step=4" / "w.bin").exists()


def test_files_that_were_never_whole_are_nobodys(store, tmp_path, monkeypatch):
    with Run(run_id="r", store=store.uri, capture=False) as run:
        run.assign_files({"a.bin": b"x"})
        partial_name(run.artifact_folder / "a.bin").write_bytes(b"")  # its writer was killed
    found = query.open_run("r", store.uri)
    assert list(found.artifacts) == ["a.bin"]

    def full(source, target):
        target.write_bytes(b"")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(DiskFull):
        found.download("a.bin", tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


def test_points_buckets_texts_files_and_experiments(uri, store):
    frame = query.metrics("^loss$", "name matches 'run [24]'", store=uri, sort="run_id")
    keys = [(r["run_id"], r["rank"], r["step"]) for r in frame]
    assert keys == [*(("r2", 0, s) for s in range(5)), ("r2", 3, 0),
                    *(("r4", 0, s) for s in range(4))]  # fmt: skip
    some = query.metrics("loss | odd", "name = 'run 1'", store=uri, step_range=(1, 3), tail=2)
    assert [(r["metric"], r["step"]) for r in some] == [
        ("loss", 2), ("loss", 3), ("odd name", 2), ("odd name", 3),
    ]  # fmt: skip
    with store.index() as index:
        found = index.history("r1", "loss")
        wanted = [found[at] for at in envelope(np.array([p.value for p in found]), 4)]
    drawn = query.buckets("^loss$", "name = 'run 1'", store=uri, limit=4)
    assert drawn.columns["value"] == [point.value for point in wanted]
    texts = query.series("log", store=uri, project="demo", sort="run_id")
    assert texts.columns["value"] == [f"hé {n}" for n in range(4)]
    assert len(query.artifacts("step=4 & !x", store=uri)) == 6
    with Run(project="demo", name="run 1", store=uri, run_id="again"):
        pass
    heads = {(r["project"], r["name"]): r for r in query.experiments(store=uri)}
    assert heads["demo", "run 1"]["head_run_id"] == "again"
    assert (heads["demo", "run 1"]["runs"], heads["other/demo", "run 5"]["runs"]) == (2, 1)


def test_best_is_the_best_ever_and_names_its_checkpoint(uri):
    best = query.best("loss", store=uri, project="^demo")
    assert (best.run.run_id, best.value, best.step) == ("r0", 6.0, 4)
    assert best.checkpoint == "ckpt/step=4"
    best = query.best("loss", "max", "state = 'Completed'", store=uri)
    assert (best.run.run_id, best.value, best.step) == ("r4", 14.0, 0)
    assert (best.checkpoint, "later step" in best.reason) == (None, True)
    with pytest.raises(UserError, match="no selected run"):
        query.best("los", store=uri)
    with pytest.raises(UserError, match="must be min or max"):
        query.best("loss", "least", store=uri)


@pytest.mark.parametrize(
    ("names", "step", "expected"),
    [
        (["model.bin", "notes.txt"], 7, "model.bin"),
        (["epoch=1-step=100.ckpt", "epoch=2-step=200.ckpt"], 150, "epoch=1-step=100.ckpt"),
        (["checkpoints/100/a.bin", "checkpoints/100/b.bin"], 100, "checkpoints/100"),
        (["model/a.safetensors", "model/config.json"], 3, "model"),
        (["a.pt", "b.pt"], 3, None),
        (["notes.txt"], 3, None),
        (["ckpt-100.pt"], 99, None),
        (["ckpt-100.pt", "ckpt-20.pt"], None, "ckpt-100.pt"),
    ],
)
def test_which_file_is_the_checkpoint_of_a_step(names, step, expected):
    from seamount.tracking.query.best_run import checkpoint_at

    assert checkpoint_at(names, step)[0] == expected


@pytest.mark.filterwarnings("ignore")  # MLflow's own
def test_a_promoted_checkpoint_is_loaded_by_mlflows_own_client(uri):
    import mlflow

    first = query.promote("r3", "champion", model="net", store=uri)
    assert (first["file"], first["version"]) == ("ckpt/step=4", "1")
    assert query.promote("r3", "champion", model="net", store=uri)["version"] == "1"
    with Run(run_id="r3", store=uri) as run:
        run.assign_files({"ckpt/step=4/w.bin": b"changed later"})
    file = query.promote("r3", "small", model="net", file="ckpt/step=2/w.bin", store=uri)
    assert file["version"] == "2"
    before = mlflow.get_tracking_uri(), mlflow.get_registry_uri()
    mlflow.set_tracking_uri(uri)
    mlflow.set_registry_uri(uri)
    try:
        version = mlflow.MlflowClient().get_model_version_by_alias("net", "champion")
        assert version.run_id == "r3"
        for alias, content in (("champion", b"4"), ("small", b"two" * 3)):
            folder = mlflow.artifacts.download_artifacts(f"models:/net@{alias}")
            with open(f"{folder}/w.bin", "rb") as stream:
                assert stream.read() == content
    finally:
        mlflow.set_tracking_uri(before[0])
        mlflow.set_registry_uri(before[1])
    with pytest.raises(UserError, match="give --model"):
        query.promote("r4", "champion", store=uri)  # `other/demo` cannot name a model
    with pytest.raises(UserError, match="unknown file"):
        query.promote("r4", "x", model="net", file="ckpt/step=5", store=uri)


def test_audit_names_what_a_rerun_would_lack(uri, store):
    bare = query.audit("r5", uri)
    text = " | ".join(bare.missing)
    for words in ("git commit", "command line", "packages", "Failed"):
        assert words in text
    assert any("seeds: seed = 5" in each for each in bare.held)
    state = {"packages": ["numpy-2.4.6", "zstandard-0.25"], "git": {"untracked": ["new.py"]}}
    tags = {"commit": "abc", "dirty": "true", "command": "python train.py", "python": "3.11.7",
            "packages_sha256": "0"}  # fmt: skip
    for run_id, numpy in (("s1", "2.4.6"), ("s2", "2.5.0")):
        state["packages"][0] = f"numpy-{numpy}"
        described = {f"src/{k}": v for k, v in tags.items()}
        with Run(run_id=run_id, store=uri, tags=described | {"my/commit": run_id}) as run:
            run.assign_files({"src/state.json": json.dumps(state).encode()})
            if run_id == "s2":
                run.assign_files({"src/diff.patch": b"+1"})
            run.log_configs({"lr": 1, "seedling": 2} if run_id == "s1" else {"lr": 1.0})
            run.log_metrics({"loss": math.nan}, step=0)
    text = " | ".join(query.audit("s1", uri).missing)
    for words in ("no diff was kept", "1 files that git does not track, such as new.py", "seed"):
        assert words in text
    assert "diff" not in " | ".join(query.audit("s2", uri).missing)
    different = query.compare("s1", "s2", uri)
    assert different["environment"] == {"package numpy": ["2.4.6", "2.5.0"]}
    assert different["configs"] == {"lr": [1, 1.0], "seedling": [2, None]}
    assert (different["metrics"], different["tags"]) == ({}, {"my/commit": ["s1", "s2"]})
    assert set(different["files"]) == {"src/state.json", "src/diff.patch"}
    digest = query.open_run("s2", uri).artifacts["src/diff.patch"]["digest"]
    blob_path(store, digest).unlink()
    assert any("src/diff.patch: its content is gone" in m for m in query.audit("s2", uri).missing)


@pytest.mark.filterwarnings("ignore")  # MLflow's own
def test_files_that_mlflows_clients_stored_are_the_runs_too(store, tmp_path):
    from mlflow import MlflowClient

    client = MlflowClient(store.uri)
    run_id = client.create_run(client.create_experiment("theirs")).info.run_id
    client.log_text(run_id, "hello", "notes/a.txt")
    run = query.open_run(run_id, store.uri)
    assert run.artifacts["notes/a.txt"] == {"digest": None, "versions": 1, "size_bytes": 5}
    assert run.download("notes/a.txt", tmp_path).read_text() == "hello"
    client.log_param(run_id, "lr", 0.05)
    assert ids("config.lr < 0.1", store=store.uri) == [run_id]  # a text that reads as a number


def test_contains_asks_for_a_part_of_a_text_or_an_element_of_a_list(store):
    with Run(project="p", run_id="a", store=store.uri) as run:
        run.log_configs({"words": ["deep", "wide"], "name": "deep-sea"})
    with Run(project="p", run_id="b", store=store.uri) as run:
        run.log_configs({"words": ["deeper"], "name": "shore"})

    def found(where):
        return sorted(each.run_id for each in query.runs(where, store=store.uri))

    assert found("config.words contains 'deep'") == ["a"]
    assert found("config.words not contains 'deep'") == ["b"]
    assert found("config.name contains 'deep'") == ["a"]
    assert found(query.config("name").contains("sho")) == ["b"]
    assert str(query.config("name").contains("sho")) == "config.name contains 'sho'"
    with pytest.raises(query.QueryError, match="can only be matched"):
        query.runs("any contains 'x'", store=store.uri)


def test_files_keep_the_type_they_were_stored_with(store):
    from seamount.tracking.serialisers import File

    with Run(project="p", run_id="a", store=store.uri) as run:
        run.assign_files({"x": File(b"1", mime_type="text/csv"), "y.png": b"2", "z": {"a": 1}})
    store.refresh()
    with store.index() as index:
        rows = dict(index.db.execute("SELECT name, mime FROM files"))
    assert rows == {"x": "text/csv", "y.png": "image/png",
                    "z.json": "application/json"}  # fmt: skip
