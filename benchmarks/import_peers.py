"""Logs written by TensorBoard's and W&B's own packages, imported and compared with what was logged.

    python benchmarks/import_peers.py [--keep FOLDER]

The peers are installed into .bench/ at first use. `--keep` writes the two logs into FOLDER: they
are the fixtures of tests/tracking/test_import_{tensorboard,wandb}.py (W&B's without the record that
describes the machine).
"""

from __future__ import annotations

import argparse
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path

from peers import python_of

from seamount.tracking import query
from seamount.tracking.importing import leveldb_log, load, wire
from seamount.tracking.importing.records import Report

POINTS = 20
ENVIRONMENT = 26  # the record of W&B that names folders of the machine

TENSORBOARD = """
import sys
import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2, summary_v2
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter

writer, start = EventFileWriter(sys.argv[1]), 1_700_000_000.25
Value = Summary.Value
def add(summary, step, after):
    writer.add_event(Event(wall_time=start + after, step=step, summary=summary))
for i in range(20):
    odd = float("nan") if i == 3 else float("inf") if i == 4 else i
    values = [Value(tag="loss", simple_value=1 / (i + 1)), Value(tag="odd/u", simple_value=odd)]
    add(Summary(value=values), 2 * i, i)
for _ in range(2):
    add(Summary(value=[Value(tag="loss", simple_value=9.0)]), 4, 30)
old = HistogramProto(min=-1, max=3, num=6, sum=4, sum_squares=9, bucket_limit=[-2, 0, 1, 2, 4],
                     bucket=[0, 1, 2, 2, 1])
add(Summary(value=[Value(tag="old", histo=old)]), 7, 31)
add(histogram_pb("new", np.arange(10.0), buckets=4), 8, 32)
add(text_pb("note", "h\\u00e9llo **x**"), 9, 33)
add(summary_v2.hparams_pb({"lr": 0.1, "opt": "adam", "b": True}, start_time_secs=start), 0, 34)
end = plugin_data_pb2.SessionEndInfo(status=api_pb2.STATUS_FAILURE, end_time_secs=start + 99)
data = plugin_data_pb2.HParamsPluginData(session_end_info=end)
named = Value(tag="_hparams_/session_end_info", metadata=metadata.create_summary_metadata(data))
add(Summary(value=[named]), 0, 35)
png = b"\\x89PNG\\r\\n\\x1a\\nx"
image = Summary.Image(height=1, width=1, colorspace=3, encoded_image_string=png)
add(Summary(value=[Value(tag="img", image=image)]), 10, 36)
writer.close()
"""

WANDB = """
import sys
import numpy as np
import wandb

settings = wandb.Settings(mode="offline", silent=True, host="host", console="wrap",
                          x_disable_stats=True, disable_git=True, disable_code=True)
run = wandb.init(project="proj", name="first run", id="abc123", dir=sys.argv[1], tags=["a", "b"],
                 config={"lr": 0.1, "model": {"dim": 64, "layers": [1, 2]}, "none": None},
                 notes="note", group="g", job_type="train", settings=settings)
run.define_metric("val/*", step_metric="epoch")
for i in range(20):
    b = float("nan") if i == 2 else 1.5
    run.log({"loss": 1 / (i + 1), "nested": {"a": i, "b": b}, "inf": float("-inf")})
run.log({"hist": wandb.Histogram(np_histogram=([3, 4], [0.0, 0.5, 1.0])), "txt": "hello"}, step=30)
run.log({"img": wandb.Image(np.zeros((4, 4, 3), np.uint8)), "flag": True}, step=31)
run.log({"val/acc": 0.5, "epoch": 3}, step=40)
run.summary["best"] = 0.25
run.config.update({"later": "x"})
run.finish(exit_code=3)
"""


def write(folder: Path) -> None:
    """Both logs, by the peers' own writers."""
    for name, packages, program in (
        ("tensorboard", ("tensorboard==2.21.0", "numpy"), TENSORBOARD),
        ("wandb", ("wandb==0.31.0", "numpy", "pillow"), WANDB),
    ):
        (folder / name).mkdir(parents=True)
        python = python_of(name, packages)
        subprocess.run([python, "-c", program, str(folder / name)], check=True, cwd=folder / name)


def neutral(log: Path) -> None:
    """Rewrite a .wandb log without the records that describe the machine."""
    kept = [r for r in leveldb_log.records(log, Report()) if ENVIRONMENT not in wire.message(r)]
    out = bytearray(leveldb_log.HEADER)
    for record in kept:
        kind, rest = 1, record
        while True:
            room = (1 << 15) - len(out) % (1 << 15) - 7
            if room < 0:
                out += bytes(room + 7)
                continue
            part, rest = rest[:room], rest[room:]
            kind = (4 if kind in (2, 3) else 1) if not rest else (3 if kind in (2, 3) else 2)
            crc = zlib.crc32(part, zlib.crc32(bytes([kind])))
            out += struct.pack("<IHB", crc, len(part), kind) + part
            if not rest:
                break
    log.write_bytes(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path)
    keep = parser.parse_args().keep
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write(folder)
        for kind in ("tensorboard", "wandb"):
            (row,) = load.load(str(folder / kind), folder / "store")["runs"]
            metrics = query.run(folder / "store", row["run_id"])["metrics"]
            loss = next(m for m in metrics if m["name"] == "loss")
            print(f"{kind}: {row['outcome']}, {row['counts']}, loss has {loss['points']} points")
            assert loss["points"] >= POINTS and not row["problems"], row["problems"]
        if keep is not None:
            _keep(folder, keep)


def _keep(folder: Path, keep: Path) -> None:
    keep.mkdir(parents=True, exist_ok=True)
    (events,) = (folder / "tensorboard").glob("*tfevents*")
    (keep / "events.out.tfevents.1700000000.host.1.0").write_bytes(events.read_bytes())
    (log,) = (folder / "wandb").glob("wandb/offline-*/*.wandb")
    neutral(log)
    (keep / "run-abc123.wandb").write_bytes(log.read_bytes())
    (image,) = log.parent.glob("files/media/images/*.png")
    target = keep / "files" / image.relative_to(log.parent / "files")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(image.read_bytes())


if __name__ == "__main__":
    main()
