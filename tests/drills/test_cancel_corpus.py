"""A corpus built by a deployment on two Dask workers is cancelled, and then built after all."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seamount.core.records import Document
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.jsonl_zst import write_documents

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(600)]

OPTIONS = {"test_share": 0.05, "val_share": 0.05, "shard_bytes": 1 << 20}
FILES = 48
COMPONENTS = ("Github", "ArXiv", "StackExchange")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough text that the first stage is far from its end when its first mark stands."""
    folder = tmp_path_factory.mktemp("cancel")
    random = Random(0)
    words = [f"w{n}" for n in range(5_000)]
    for number in range(FILES):
        rows = []
        for n in range(300):
            lines = [" ".join(random.choices(words, k=9)) + ".\n" for _ in range(120)]
            rows.append(Document("".join(lines), random.choice(COMPONENTS), f"{number}-{n}", ""))
        write_documents(str(folder / f"{number:02d}.jsonl.zst"), rows)
    return folder


def digests(folder: Path) -> dict[str, str]:
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and p.name != ".run.json"]
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def command_lines(pids: set[int]) -> dict[int, str]:
    found = {}
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        found[pid] = text.replace(b"\0", b" ").decode(errors="replace")
    return found


def finished(out: Path, stage: str) -> int:
    return len(list((out / ".work" / stage).glob("*/result.json")))


def nothing_left(started: Callable[[], set[int]], limit_s: float = 60) -> None:
    """Return when no process is left: a run's own still sends its last lines after its end."""
    asked_s = time.monotonic()
    while left := started():
        assert time.monotonic() - asked_s < limit_s, f"outlived the run: {command_lines(left)}"
        time.sleep(0.1)
    print(f"gone after {time.monotonic() - asked_s:.1f} s")


@pytest.mark.parametrize(("stage", "hung"), [("clean", False), ("scatter", True)])
def test_a_cancelled_corpus_leaves_no_process_and_is_built_to_the_same_bytes(
    services: Any,
    marked_processes: Callable[..., list[int]],
    source: Path,
    tmp_path: Path,
    stage: str,
    hung: bool,
) -> None:
    """`hung`: one of the workers answers no more, as one that waits for a disk does."""
    out = tmp_path / "corpus"
    standing = set(marked_processes(str(services.home)))

    def started() -> set[int]:
        return set(marked_processes(str(services.home))) - standing

    parameters = {"sources": [str(source)], "out": str(out), "options": OPTIONS | {"workers": 2}}
    run = services.trigger("build-corpus", "build-corpus", parameters)
    give_up = time.monotonic() + 240
    while not finished(out, stage):
        assert time.monotonic() < give_up and services.state(run) not in ("FAILED", "CRASHED"), (
            services.log(run)
        )
        time.sleep(0.05)
    workers = [p for p, line in command_lines(started()).items() if "multiprocessing.spawn" in line]
    assert len(workers) >= 2, command_lines(started())
    if hung:
        os.kill(workers[0], signal.SIGSTOP)

    asked_s = time.monotonic()
    cancelling = {"state": {"type": "CANCELLING", "name": "Cancelling"}}
    services.call(f"/flow_runs/{run}/set_state", cancelling)
    services.wait(run, "CANCELLED", 120)
    nothing_left(started)
    done = finished(out, stage)
    final = {p.name for p in out.iterdir()} - {".work", ".run.json"}
    assert not final, "something stands under a final name"
    assert not list(out.rglob("*.zst"))
    print(f"{stage}: {done} batches were done; gone after {time.monotonic() - asked_s:.1f} s")

    again = services.trigger("build-corpus", "build-corpus", parameters)
    services.wait(again)
    says = {"clean": "cleaned", "scatter": "scattered"}[stage]
    assert services.says(again, "inputs read"), services.log(again)
    every = re.findall(rf"{says} (\d+) batch(?:es)?", services.log(again))
    reused = re.findall(rf"{says} \d+ batch(?:es)?, (\d+) reused", services.log(again))
    assert 0 < done < sum(map(int, every)), "it was not cancelled in the middle of the stage"
    assert sum(map(int, reused)) == done, "finished work was done again"
    wanted = tmp_path / "undisturbed"
    build_corpus(CorpusRequest((str(source),), str(wanted), workers=0, **OPTIONS))
    assert digests(out) == digests(wanted)
    nothing_left(started)
