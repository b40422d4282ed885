"""The kill drill of the corpus: kill -9, the same command again, the same bytes, nothing redone.

    python tests/drills/corpus_kill.py [--data URL] [--bytes 16000000] [--workers 1,2,4]
                                       [--rounds 12] [--seed 0] [--json FILE]

For each number of workers the corpus is built undisturbed once, and then again and again in new
folders. A round kills the build's whole process group twice, then the same command gets through:
first at a border of its stages (seen on disk) or at a random time of an undisturbed build, then at
a random time of its first half. With two workers or more a Dask worker alone is killed in each
round besides, in the run that gets through. After every kill what stands under a final name is read
to its end.

Redone work is counted on disk: a call that had left its result before a run began must still have
every file as it was (inode, time, size) when the run has ended or was killed; and the run that gets
through must say that it reused as many calls as stood there. Exits 1 where bytes differ or a
finished call was done again. `make drill` runs the long form.

Texts: this machine's own (the catalog `local`), or any Pile-format jsonl.zst.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from seamount.core.records import Document
from seamount.corpora.text import inputs, jsonl_zst

STAGES = ("clean", "dedupe", "mix", "scatter", "gather")
FILES = 12
RESULT = "result.json"
GIVE_UP_S = 300
Files = dict[str, tuple[int, int, int]]


def real_documents(source: str, limit: int) -> Iterator[Document]:
    """Real documents, with an exact copy of every 15th and an edited one of every 10th."""
    for one in inputs.expand((source,), limit):
        for number, record in enumerate(inputs.read(one)):
            if limit <= 0 or not isinstance(record, Document):
                continue
            limit -= len(record.text.encode())
            yield record
            if number % 15 == 0:
                yield replace(record, id=f"{record.id} again")
            if number % 10 == 0:
                yield replace(record, id=f"{record.id} edited", text=record.text + "\nThe end.\n")


def make_source(source: str, limit: int, folder: Path) -> None:
    """Deal them over files; copies land in other files than their originals."""
    documents = list(real_documents(source, limit))
    for number in range(FILES):
        path = folder / f"{number:02d}.jsonl.zst"
        jsonl_zst.write_documents(str(path), documents[number::FILES])


@dataclass
class Build:
    """The command that is killed: `seamount corpus build` of one source with so many workers."""

    source: Path
    workers: int
    scratch: Path
    shard_bytes: int

    def start(self, out: Path) -> subprocess.Popen[bytes]:
        """The command, in a process group of its own."""
        command = [sys.executable, "-m", "seamount.cli.main", "corpus", "build"]
        command += ["--source", str(self.source), "--out", str(out), "--json", str(self.said(out))]
        command += ["--workers", str(self.workers), "--shard-bytes", str(self.shard_bytes)]
        self.said(out).unlink(missing_ok=True)
        with out.with_suffix(".log").open("wb") as log:
            return subprocess.Popen(
                command,
                env={**os.environ, "TMPDIR": str(self.scratch)},  # a kill leaves scratch there
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def said(self, out: Path) -> Path:
        """What the command writes about itself once it got through."""
        return out.with_suffix(".json")

    def finish(self, process: subprocess.Popen[bytes], out: Path) -> dict[str, Any]:
        """Wait until it got through; its report."""
        if process.wait(GIVE_UP_S) != 0:
            raise AssertionError(out.with_suffix(".log").read_text())
        return dict(json.loads(self.said(out).read_text()))


def digests(out: Path) -> dict[str, str]:
    """SHA-256 of every published file."""
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def count(out: Path, stage: str) -> int:
    """How many calls of a stage have left their result."""
    return len(list((out / ".work" / stage).glob(f"*/{RESULT}")))


def finished(out: Path) -> dict[str, Files]:
    """Inode, time and size of every file of every finished call, by stage/key."""
    found = {}
    for stage in STAGES:
        for mark in (out / ".work" / stage).glob(f"*/{RESULT}"):
            files = {}
            for path in mark.parent.rglob("*"):
                if path.is_file():
                    stat = path.stat()
                    key = str(path.relative_to(mark.parent))
                    files[key] = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            found[f"{stage}/{mark.parent.name}"] = files
    return found


def redone(before: dict[str, Files], out: Path) -> int:
    """Calls finished before, of which a file is now another; a shard may have been published, and
    once the corpus stands its work folder may be gone, or half of it.
    """
    now = finished(out)
    stands = (out / "manifest.json").exists()
    return sum(
        (call not in now and not stands)
        or any(files.get(name) != place for name, place in now.get(call, {}).items())
        for call, files in before.items()
    )


def read_what_is_left(out: Path) -> None:
    """Whatever stands under a final name is whole."""
    for path in [p for p in out.rglob("*.zst") if ".work" not in p.parts]:
        for record in jsonl_zst.read_documents(str(path)):
            assert isinstance(record, Document), record
    for path in out.glob("*.json"):
        json.loads(path.read_text())


def borders(shards: int) -> dict[str, Callable[[Path], bool]]:
    """Moments in a build that show on disk, in their order."""

    def published(out: Path) -> int:
        return len(list(out.glob("*.zst"))) + len(list((out / "train").glob("*.zst")))

    def begun(stage: str) -> Callable[[Path], bool]:
        return lambda out: (out / ".work" / stage).exists()

    return {
        "clean, first call done": lambda out: count(out, "clean") >= 1,
        "clean, last call done": lambda out: count(out, "clean") >= FILES,
        "dedupe begun": begun("dedupe"),
        "dedupe done": lambda out: count(out, "dedupe") >= 1,
        "mix done": lambda out: count(out, "mix") >= 1,
        "scatter, last call done": lambda out: count(out, "scatter") >= FILES,
        "gather begun": begun("gather"),
        "gather, last call done": lambda out: count(out, "gather") >= shards,
        "first shard published": lambda out: published(out) >= 1,
        "last shard published": lambda out: published(out) >= shards,
        "documents.parquet stands": lambda out: (out / "documents.parquet").exists(),
        "manifest stands": lambda out: (out / "manifest.json").exists(),
    }


@dataclass
class Tally:
    """What the rounds with one number of workers came to."""

    workers: int
    undisturbed_s: float
    kills: int = 0
    at_borders: int = 0
    workers_killed: int = 0
    restarts: int = 0
    kept: int = 0
    redone: int = 0
    differ: int = 0


@dataclass
class Drill:
    """Rounds of kills of one build."""

    build: Build
    wanted: dict[str, str]
    random: Random
    tally: Tally

    def kill_group(self, out: Path, when: Callable[[Path], bool] | None, share: float = 1) -> None:
        """Start the build and kill its process group when `when` holds, else at a random time of
        the first `share` of an undisturbed build.
        """
        before = finished(out)
        process = self.build.start(out)
        until = time.monotonic() + self.random.uniform(0, share * self.tally.undisturbed_s)
        while process.poll() is None:
            if when(out) if when else time.monotonic() >= until:
                break
            time.sleep(0.002 if when else 0.01)
        ended = process.poll() is not None
        if not ended:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.tally.kills += 1
            self.tally.at_borders += when is not None
        elif process.returncode != 0:
            raise AssertionError(out.with_suffix(".log").read_text())
        self.tally.restarts += not ended
        self.tally.kept += len(before)
        self.tally.redone += redone(before, out)
        read_what_is_left(out)

    def get_through(self, out: Path, kill_worker: bool) -> None:
        """The same command to its end; one of its workers may be killed on the way."""
        before = finished(out)
        stood = (out / "manifest.json").exists()
        process = self.build.start(out)
        if kill_worker:
            self.kill_worker(process)
        says = self.build.finish(process, out)
        self.tally.kept += len(before)
        if not stood:
            reused = {stage: part["reused"] for stage, part in says["stages"].items()}
            for stage in STAGES:
                had = sum(call.startswith(f"{stage}/") for call in before)
                self.tally.redone += max(0, had - reused[stage])
        self.tally.differ += digests(out) != self.wanted

    def kill_worker(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a worker at a random time, as soon as all are there."""
        time.sleep(self.random.uniform(0, self.tally.undisturbed_s / 4))
        while process.poll() is None:
            found = worker_processes(process.pid)
            if len(found) >= self.build.workers:
                os.kill(self.random.choice(found), signal.SIGKILL)
                self.tally.workers_killed += 1
                self.tally.kills += 1
                return
            time.sleep(0.02)


def worker_processes(parent: int) -> list[int]:
    """The Dask workers of a build."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and b"spawn_main" in (folder / "cmdline").read_bytes():
                status = (folder / "stat").read_text().rpartition(")")[2].split()
                found += [int(folder.name)] * (int(status[1]) == parent)
        except OSError:
            continue
    return sorted(found)


def drill(build: Build, folder: Path, rounds: int, seed: int, wanted: dict[str, str]) -> Tally:
    """All rounds with one number of workers; `wanted` are an undisturbed build's bytes (filled by
    the first, so that they are the same for any number of workers).
    """
    out = folder / f"undisturbed-{build.workers}"
    start = time.monotonic()
    build.finish(build.start(out), out)
    tally = Tally(build.workers, time.monotonic() - start)
    found = digests(out)
    wanted = wanted or found
    tally.differ += found != wanted
    moments = list(borders(sum(name.endswith(".zst") for name in found)).values())
    one = Drill(build, wanted, Random(1000 * seed + build.workers), tally)
    first = one.random.randrange(len(moments))
    for number in range(rounds):
        out = folder / f"killed-{build.workers}-{number}"
        at_border = number % 3 < 2
        step = len(moments) // 3 * 2 + 1  # walks through all borders, early and late in turns
        one.kill_group(out, moments[(first + step * number) % len(moments)] if at_border else None)
        one.kill_group(out, None, share=0.5)  # a build that goes on takes less
        one.get_through(out, kill_worker=build.workers > 1)
    return tally


def run(source: str, size: int, workers: list[int], rounds: int, seed: int) -> list[Tally]:
    """The drill for each number of workers; prints a row of the table for each."""
    tallies = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "scratch").mkdir()
        make_source(source, size, folder / "source")
        wanted: dict[str, str] = {}
        print("workers  undisturbed  kills  at borders  of a worker  restarts  kept  redone  equal")
        for number in workers:
            build = Build(folder / "source", number, folder / "scratch", max(1, size // 8))
            one = drill(build, folder, rounds, seed, wanted)
            wanted = wanted or digests(folder / f"undisturbed-{number}")
            tallies.append(one)
            print(
                f"{one.workers:7}  {one.undisturbed_s:9.1f} s  {one.kills:5}  {one.at_borders:10}  "
                f"{one.workers_killed:11}  {one.restarts:8}  {one.kept:4}  {one.redone:6}  "
                f"{'yes' if one.differ == 0 else f'no: {one.differ}'}",
                flush=True,
            )
    return tallies


def main() -> None:
    """The drill from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", default="local")
    parser.add_argument("--bytes", type=int, default=16_000_000)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    workers = [int(x) for x in given.workers.split(",")]
    tallies = run(given.data, given.bytes, workers, given.rounds, given.seed)
    print(f"{sum(t.kills for t in tallies)} kills in sum")
    if given.json:
        given.json.write_text(json.dumps([asdict(t) for t in tallies], indent=2))
    if any(t.redone or t.differ for t in tallies):
        raise SystemExit("a finished call was done again, or the bytes differ")


if __name__ == "__main__":
    main()
