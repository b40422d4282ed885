"""Scripts written for Neptune run with their import lines changed, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seamount.tracking.compat import neptune_query as nq
from seamount.tracking.compat.neptune_query import runs as nq_runs

# No __main__ guard; the spawned child imports this file again only as far as it has to.
TRAINER = """
import multiprocessing, os, sys
from datetime import datetime
from dataclasses import dataclass
from neptune_scale import NeptuneLoggingHandler, Run
from neptune_scale.api.run import SourceTrackingConfig
from neptune_scale.types import File, Histogram
import logging, numpy as np

@dataclass
class Optimizer:
    name: str = "adam"
    lr: float = 0.1

lagging, failing = [], []
run = Run(
    experiment_name="seagull-week-1",
    run_id="seagull:1",
    async_lag_threshold=10.0,
    on_async_lag_callback=lambda: lagging.append(1),
    on_error_callback=lambda error, last: failing.append(error),
    source_tracking_config=SourceTrackingConfig(upload_entry_point=True),
)
run.log_configs({"data": {"path": "x", "batch": 64}, "optimizer": Optimizer()}, flatten=True)
run.log_configs({"started": datetime(2026, 1, 2, 3, 4, 5), "layers": ["b", "a"]})
run.add_tags(["nest", "fly"])
run.add_tags(["flock"], group_tags=True)
handler = NeptuneLoggingHandler(run=run, level=logging.INFO, attribute_path="messages")
logging.getLogger("trainer").addHandler(handler)
logging.getLogger("trainer").warning("prepared %d", 1)
for step in range(20):
    run.log_metrics(data={"train/loss": 1 / (step + 1), "train/acc": step / 20}, step=step)
    if step % 10 == 0:
        counts, edges = np.histogram(np.arange(step + 1))
        run.log_histograms({"weights": Histogram(bin_edges=edges, counts=counts)}, step=step)
        run.log_files({"predictions": File(f"step {step}".encode(), mime_type="text/plain")}, step)
run.log_metrics({"sys/oops": 1}, step=20)
run.assign_files({"script": __file__, "notes": b"some notes"})

child = os.fork()
if child == 0:
    for step in range(5):
        run.log_metrics({"forked/loss": step * 2.0}, step=step)
    os._exit(0)
os.waitpid(child, 0)

import subprocess
subprocess.run([sys.executable, "-c", '''
from neptune_scale import Run
with Run(run_id="seagull:1") as run:
    for step in range(5):
        run.log_metrics({"spawned/loss": step * 3.0}, step=step)
'''], check=True)

print("printed at the end")
run.wait_for_processing(verbose=False)
print(run.get_run_url())
run.close()
run.log_metrics({"train/loss": 5.0}, step=99)
assert not lagging
assert [type(error).__name__ for error in failing] == ["NeptuneAttributePathNonWritable"]
"""
POOL = """
import multiprocessing
from neptune_scale import Run

def work(rank):
    with Run(run_id="pool", experiment_name="pool-experiment") as run:
        for step in range(10):
            run.log_metrics({f"rank{rank}/loss": rank + step}, step=step)

if __name__ == "__main__":
    with multiprocessing.get_context(%r).Pool(3) as pool:
        pool.map(work, range(3))
"""


def run_script(text: str, folder: Path, **variables: str) -> str:
    path = folder / "script.py"
    path.write_text(
        text.replace("from neptune_scale", "from seamount.tracking.compat.neptune_scale")
    )
    done = subprocess.run(
        [sys.executable, path], cwd=folder, text=True, capture_output=True, check=False,
        env={**os.environ, "NEPTUNE_PROJECT": "team/birds", "PYTHONPATH": os.pathsep.join(sys.path),
             **variables},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_training_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = run_script(TRAINER, tmp_path)
    assert "#seagull-1-" in output
    monkeypatch.setenv("NEPTUNE_PROJECT", "team/birds")
    assert nq.list_experiments() == ["seagull-week-1"]
    assert nq_runs.list_runs() == ["seagull:1"]
    frame = nq.fetch_metrics(experiments="^seagull", attributes="loss$")
    loss = frame.loc["seagull-week-1"]
    assert loss["train/loss"].to_dict() == {float(s): 1 / (s + 1) for s in range(20)}
    assert loss["forked/loss"].dropna().to_dict() == {float(s): s * 2.0 for s in range(5)}
    assert loss["spawned/loss"].dropna().to_dict() == {float(s): s * 3.0 for s in range(5)}
    row = nq.fetch_experiments_table(attributes=".*").loc["seagull-week-1"]
    assert (row["data/path"], row["data/batch"], row["optimizer/lr"]) == ("x", 64, 0.1)
    assert row["layers"] == {"a", "b"}
    assert (row["sys/tags"], row["sys/group_tags"]) == ({"nest", "fly"}, {"flock"})
    assert (
        row["started"].timestamp()
        == __import__("datetime").datetime(2026, 1, 2, 3, 4, 5).timestamp()
    )
    assert row["messages"] == "prepared 1"
    assert row["sys/custom_run_id"] == "seagull:1"
    assert row["weights"].values[-1] > 0
    texts = nq.fetch_series(experiments=["seagull-week-1"], attributes="^runtime/stdout$")
    assert "printed at the end" in set(texts["runtime/stdout"])
    paths = nq.download_files(
        files=nq.fetch_series(experiments=["seagull-week-1"], attributes="predictions"),
        destination=tmp_path / "files",
    )["predictions"]
    assert [Path(p).read_text() for p in paths] == ["step 0", "step 10"]
    assert [Path(p).name for p in paths] == ["step_0_000000.txt", "step_10_000000.txt"]
    table = nq.fetch_experiments_table(attributes="^notes$ | ^script$")
    paths = nq.download_files(files=table, destination=tmp_path / "files")
    (notes,) = paths["notes"]
    assert Path(notes).read_bytes() == b"some notes"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_a_pool_log_one_run(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_script(POOL % method, tmp_path)
    monkeypatch.setenv("NEPTUNE_PROJECT", "team/birds")
    frame = nq.fetch_metrics(experiments=["pool-experiment"], attributes="^rank")
    assert frame.to_dict("list") == {
        f"rank{rank}/loss": [float(rank + step) for step in range(10)] for rank in range(3)
    }


def test_mode_and_store_come_from_neptunes_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
from neptune_scale import Run
with Run(experiment_name="e", source_tracking_config=None) as run:
    run.log_metrics({"a": 1}, step=0)
"""
    run_script(script, tmp_path, NEPTUNE_MODE="disabled", NEPTUNE_LOG_DIRECTORY="none")
    assert not (tmp_path / "none").exists()
    folder = str(tmp_path / "logged")
    run_script(script, tmp_path, NEPTUNE_MODE="offline", NEPTUNE_LOG_DIRECTORY=folder)
    monkeypatch.setenv("NEPTUNE_LOG_DIRECTORY", folder)
    assert nq.list_experiments(project="team/birds") == ["e"]
