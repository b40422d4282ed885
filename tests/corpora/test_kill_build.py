"""kill -9 anywhere, then the same command: the same bytes, and finished work is not done again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from killing import count_events, in_child, kill_at_event
from test_build_corpus import digests, make_source

from seamount.core import settings
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.build import CorpusRequest, build_corpus

STAGES = ("clean", "dedupe", "mix", "scatter", "gather")


def request(source: Path, out: Path, workers: int = 0) -> CorpusRequest:
    shares = {"test_share": 0.05, "val_share": 0.05}
    return CorpusRequest((str(source),), str(out), workers=workers, shard_bytes=20_000, **shares)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("kill"), files=5, documents=30)


@pytest.fixture(scope="module")
def undisturbed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("undisturbed") / "corpus"
    build_corpus(request(source, out))
    return digests(out)


def finished(out: Path) -> dict[str, int]:
    return {stage: len(list((out / ".work" / stage).glob("*/result.json"))) for stage in STAGES}


def look_at_what_is_left(out: Path) -> None:
    """Whatever stands under a final name is whole."""
    for path in out.rglob("*.zst"):
        assert all(isinstance(r, Document) for r in jsonl_zst.read_documents(str(path)))
    for path in out.glob("*.json"):
        json.loads(path.read_text())
    names = {p.name for p in out.iterdir()} if out.exists() else set()
    assert not [n for n in names if "partial" in n]


def finish_and_compare(source: Path, out: Path, wanted: dict[str, str], workers: int = 0) -> None:
    look_at_what_is_left(out)
    before = finished(out)
    was_done = (out / "manifest.json").exists()
    reference = build_corpus(request(source, out, workers))
    assert digests(out) == wanted
    if was_done:
        assert reference.reused
    else:
        again = {stage: counts["reused"] for stage, counts in reference.stages.items()}
        assert again == before


def kill_all(source: Path, folder: Path, wanted: dict[str, str], points: list[int]) -> None:
    for point in points:
        out = folder / f"at-{point}"

        def killed(point: int = point, out: Path = out) -> None:
            kill_at_event(point)
            build_corpus(request(source, out))

        status = os.waitpid(in_child(killed), 0)[1]
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        finish_and_compare(source, out, wanted)


def test_killed_before_file_operations(
    source: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    """A sample of all operations, the last ones (the publishing) more densely."""
    events = count_events(lambda: build_corpus(request(source, tmp_path / "count")))
    assert events > 100
    late = list(range(events - 40, events, 5))
    points = sorted(Random(3).sample(range(1, events - 40), 10)) + late
    kill_all(source, tmp_path, undisturbed, points)


@pytest.mark.slow
def test_killed_before_every_second_file_operation(
    source: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    events = count_events(lambda: build_corpus(request(source, tmp_path / "count")))
    kill_all(source, tmp_path, undisturbed, list(range(1, events, 2)))


def test_killed_again_and_again_at_random_times(
    source: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    """The same output folder is killed from outside until a build gets through."""
    random = Random(7)
    out = tmp_path / "corpus"
    kills = 0
    for _ in range(60):
        pid = in_child(lambda: build_corpus(request(source, out)))
        time.sleep(random.uniform(0.0, 0.12))
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        kills += os.WIFSIGNALED(status)
        look_at_what_is_left(out)
        if kills >= 12 or (out / "manifest.json").exists():
            break
    finish_and_compare(source, out, undisturbed)


SCRIPT = """
import sys
from seamount.corpora.text.build import CorpusRequest, build_corpus
if __name__ == "__main__":
    print("start", flush=True)
    build_corpus(CorpusRequest((sys.argv[1],), sys.argv[2], workers=2, shard_bytes=20_000,
                               test_share=0.05, val_share=0.05))
"""


def processes_of(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark in (folder / "environ").read_bytes().decode():
                found.append(int(folder.name))
        except (OSError, UnicodeDecodeError):
            continue
    return found


@pytest.mark.parametrize("delay_s", [2.0, pytest.param(6.0, marks=pytest.mark.slow)])
def test_a_killed_parent_takes_its_workers_along(
    delay_s: float, source: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "build_it.py"
    script.write_text(SCRIPT)
    out, mark = tmp_path / "corpus", f"DRILL={tmp_path}"
    child = subprocess.Popen(
        [sys.executable, script, source, out],
        env=settings.child_environment(DRILL=str(tmp_path)),
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    with child, child.stdout as stream:
        stream.readline()
        deadline = time.monotonic() + 60
        while len(processes_of(mark)) < 4 and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(delay_s - 2)
        child.kill()
    deadline = time.monotonic() + 20
    while processes_of(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_of(mark) == []
    finish_and_compare(source, out, undisturbed)
