"""One experiment tracker in one phase, in the tracker's own environment; prints a line of JSON.

    python trackers.py TOOL PHASE FOLDER [RANK]

Every tool logs locally or offline, with its default settings but for what it captures beside the
metrics (console, system, source), which is off. Imports nothing but the tool.
"""

from __future__ import annotations

import glob
import json
import os
import sqlite3
import statistics
import struct
import sys
import time
from pathlib import Path

HUNDRED = [f"layer/{n:03d}" for n in range(100)]
BUDGET_S = 6.0  # of a loop: slow tools do fewer calls
KILLED_AFTER = 500
CALLS = {"one": 3000, "hundred": 1000, "durable": 10_000, "eight": 2500, "write": 10_000}


class Bare:
    """The floor: one write(2) of as many bytes as our record has; nothing can be read from it."""

    def open(self, folder: str, rank: int) -> None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
        self.fd = os.open(f"{folder}/bare{rank}", flags)

    def log(self, data: dict[str, float], step: int) -> None:
        os.write(self.fd, b"x" * (44 + 8 * len(data)))

    def close(self) -> None:
        os.fsync(self.fd)
        os.close(self.fd)

    def read(self, folder: str) -> int | None:
        return None


class Seamount:
    """Our Run."""

    def open(self, folder: str, rank: int) -> None:
        from seamount.tracking import Run

        self.run = Run(run_id="r", store=f"{folder}/store", rank=rank, capture=False)

    def log(self, data: dict[str, float], step: int) -> None:
        self.run.log_metrics(data, step=step)

    def close(self) -> None:
        self.run.close()

    def read(self, folder: str) -> int:
        from seamount.tracking.store.folder import open_store

        store = open_store(f"{folder}/store")
        store.refresh("r")
        with store.index() as index:
            keys = [(s.name, s.rank) for s in index.summaries("r")]
            return sum(len(index.columns("r", name, rank)) for name, rank in keys)


class MLflow:
    """MLflow's client, synchronous, a log_batch a call, on its SQLite store."""

    scheme = "sqlite:///{}/mlflow.db"

    def open(self, folder: str, rank: int) -> None:
        from mlflow import MlflowClient
        from mlflow.entities import Metric

        if rank == 0:  # the others wait: two processes cannot make MLflow's tables at once
            run = MlflowClient(self.scheme.format(folder)).create_run("0")
            Path(f"{folder}/.run").write_text(run.info.run_id)
            os.rename(f"{folder}/.run", f"{folder}/run")
        while not os.path.exists(f"{folder}/run"):
            time.sleep(0.01)
        self.id = Path(f"{folder}/run").read_text()
        self.metric, self.client = Metric, MlflowClient(self.scheme.format(folder))

    def log(self, data: dict[str, float], step: int) -> None:
        now = int(time.time() * 1000)
        self.client.log_batch(self.id, [self.metric(k, v, now, step) for k, v in data.items()])

    def close(self) -> None:
        pass

    def read(self, folder: str) -> int:
        from mlflow import MlflowClient

        client, run = MlflowClient(self.scheme.format(folder)), Path(f"{folder}/run").read_text()
        names = client.get_run(run).data.metrics
        return sum(len(client.get_metric_history(run, name)) for name in names)


class MLflowOnSeamount(MLflow):
    """The same client on our store."""

    scheme = "seamount://{}/store"


class Trackio:
    """trackio, one SQLite file a project, sent from memory every half second."""

    def _environment(self, folder: str) -> None:
        os.environ.update(
            TRACKIO_DIR=f"{folder}/tk", HF_HUB_OFFLINE="1", GRADIO_ANALYTICS_ENABLED="False"
        )

    def open(self, folder: str, rank: int) -> None:
        self._environment(folder)
        import trackio

        self.trackio = trackio
        trackio.init(project="bench", name="r", resume="allow", embed=False)

    def log(self, data: dict[str, float], step: int) -> None:
        self.trackio.log(data, step=step)

    def close(self) -> None:
        self.trackio.finish()

    def read(self, folder: str) -> int:
        self._environment(folder)
        from trackio.sqlite_storage import SQLiteStorage

        rows = SQLiteStorage.get_logs("bench", "r")
        return sum(len(row.keys() - {"timestamp", "step"}) for row in rows)


class TensorBoard:
    """TensorBoard's own event writer, which torch.utils.tensorboard wraps."""

    def open(self, folder: str, rank: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self.event, self.summary = Event, Summary
        self.writer = EventFileWriter(f"{folder}/tb", filename_suffix=f".{rank}")

    def log(self, data: dict[str, float], step: int) -> None:
        now = time.time()
        for name, value in data.items():
            values = [self.summary.Value(tag=name, simple_value=value)]
            self.writer.add_event(
                self.event(wall_time=now, step=step, summary=self.summary(value=values))
            )

    def close(self) -> None:
        self.writer.close()

    def read(self, folder: str) -> int:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        found = EventAccumulator(f"{folder}/tb", size_guidance={"scalars": 0})
        found.Reload()
        return sum(len(found.Scalars(tag)) for tag in found.Tags()["scalars"])


class Wandb:
    """W&B, offline; several processes of one run are not supported offline."""

    def open(self, folder: str, rank: int) -> None:
        import wandb

        settings = wandb.Settings(
            mode="offline", silent=True, console="off", x_disable_stats=True, disable_git=True,
            disable_code=True,
        )  # fmt: skip
        self.run = wandb.init(project="bench", dir=folder, settings=settings)

    def log(self, data: dict[str, float], step: int) -> None:
        self.run.log(data, step=step)

    def close(self) -> None:
        self.run.finish()

    def read(self, folder: str) -> int:
        from wandb.proto.wandb_internal_pb2 import Record

        points = 0
        for path in glob.glob(f"{folder}/wandb/offline-run-*/*.wandb"):
            for content in _leveldb_records(Path(path).read_bytes()):
                record = Record()
                record.ParseFromString(content)
                if record.WhichOneof("record_type") == "history":
                    keys = [item.key or "/".join(item.nested_key) for item in record.history.item]
                    points += sum(not key.startswith("_") for key in keys)
        return points


def _leveldb_records(content: bytes):
    """Records of a LevelDB log after its 7-byte header, up to a torn tail."""
    place, begun = 7, b""
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        size, kind = struct.unpack_from("<HB", content, place + 4)
        if kind == 0 or place + 7 + size > len(content):
            return
        begun += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):
            yield begun
            begun = b""


class Neptune:
    """neptune-scale, offline: a SQLite queue a process, which nothing but its server reads."""

    def open(self, folder: str, rank: int) -> None:
        from neptune_scale import Run

        self.run = Run(
            run_id="r", project="w/p", mode="offline", log_directory=f"{folder}/nep{rank}",
            enable_console_log_capture=False, source_tracking_config=None,
        )  # fmt: skip

    def log(self, data: dict[str, float], step: int) -> None:
        self.run.log_metrics(data, step=step)

    def close(self) -> None:
        self.run.close()

    def read(self, folder: str) -> int:
        from neptune_api.proto.neptune_pb.ingest.v1.common_pb2 import UpdateRunSnapshot

        points = 0
        for path in glob.glob(f"{folder}/nep*/*/run_operations.sqlite3"):
            query = "SELECT operation FROM run_operations WHERE operation_type = 0"
            for (content,) in sqlite3.connect(path).execute(query):
                update = UpdateRunSnapshot()
                update.ParseFromString(content)
                points += len(update.append)
        return points


TOOLS = {
    "bare": Bare, "seamount": Seamount, "trackio": Trackio, "tensorboard": TensorBoard,
    "wandb": Wandb, "neptune-scale": Neptune, "mlflow": MLflow, "mlflow-seamount": MLflowOnSeamount,
}  # fmt: skip


def logged(tool, names: list[str], calls: int) -> list[int]:
    """Nanoseconds of each call; ends early once BUDGET_S is spent."""
    spent, until = [], time.perf_counter() + BUDGET_S
    for step in range(calls):
        data = {name: 0.5 * step for name in names}
        start = time.perf_counter_ns()
        tool.log(data, step)
        spent.append(time.perf_counter_ns() - start)
        if time.perf_counter() > until:
            break
    return spent


def latency(tool, folder: str, phase: str) -> dict[str, float]:
    """Median and 99th percentile of a call in microseconds, after a tenth of the calls."""
    tool.open(folder, 0)
    spent = logged(tool, HUNDRED[: 1 if phase == "one" else 100], CALLS[phase])
    tool.close()
    spent = sorted(spent[len(spent) // 10 :])
    return {"p50_us": statistics.median(spent) / 1e3, "p99_us": spent[len(spent) * 99 // 100] / 1e3}


def throughput(tool, folder: str, phase: str, rank: int) -> dict[str, float]:
    """Points logged in calls of 100, and the clock from the first call until the run is closed."""
    tool.open(folder, rank)
    if phase == "eight":
        Path(f"{folder}/ready{rank}").touch()
        while len(glob.glob(f"{folder}/ready*")) < 8:
            time.sleep(0.002)
    start = time.monotonic()
    calls = len(logged(tool, HUNDRED, CALLS[phase]))
    tool.close()
    return {"points": 100 * calls, "start": start, "end": time.monotonic()}


def killed(tool, folder: str) -> None:
    """Log, then wait to be killed."""
    tool.open(folder, 0)
    for step in range(KILLED_AFTER):
        tool.log({"loss": 0.5 * step}, step)
    Path(f"{folder}/logged").touch()
    time.sleep(60)


def read_back(tool, folder: str) -> dict[str, float | None]:
    """Points read and the seconds of it; the first reading and the better of two more."""
    spent, points = [], None
    for _ in range(3):
        start = time.perf_counter()
        points = tool.read(folder)
        spent.append(time.perf_counter() - start)
        if spent[0] > BUDGET_S:
            break
    return {"points": points, "first_s": spent[0], "best_s": min(spent)}


def main() -> None:
    name, phase, folder = sys.argv[1:4]
    tool = TOOLS[name]()
    if phase in ("one", "hundred"):
        answer = latency(tool, folder, phase)
    elif phase == "killed":
        killed(tool, folder)
        return
    elif phase == "read":
        answer = read_back(tool, folder)
    else:
        answer = throughput(tool, folder, phase, int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    print("\n" + json.dumps(answer), flush=True)
    if name == "neptune-scale":
        os._exit(0)  # its helpers wait for a server


if __name__ == "__main__":
    main()
