"""`seamount run` killed with -9 four times, in the corpus and in training, and started again.

Twice the main process alone is killed, and its children must end by themselves; twice the power is
cut: its process group and whatever else it started die at once. What is on disk says when. The
same command then comes to the bytes of a run that nobody disturbed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from prefect_services import MARK, SEAMOUNT, marked

from seamount.core.records import Document
from seamount.corpora.text.jsonl_zst import write_documents
from seamount.tracking.store.folder import open_store
from seamount.tracking.store.verify import verify

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

STEPS, EVERY = 400, 50
COMPONENTS = ("Github", "ArXiv", "StackExchange")
TRAINING = [
    "model.preset=tiny",
    "model.vocab_size=512",
    "data.sequence_length=32",
    "data.batch_size=2",
    "schedule.warmup_steps=2",
    "threads=1",
    f"steps={STEPS}",
    f"checkpoint.every_steps={EVERY}",
]
RECIPE = """# what is not under test is kept short
recipe: text/demo.yaml
corpus_options: {workers: 2, shard_bytes: 20000, test_share: 0.05, val_share: 0.05}
scoring_options: {baselines: [unigram]}
export_options: {quantize: none}
"""


@dataclass
class Place:
    """Where runs happen: their common inputs, and the mark that all their processes bear."""

    folder: Path

    def start(self, out: Path, log: Path) -> subprocess.Popen[bytes]:
        """The command, in a process group of its own."""
        command = [SEAMOUNT, "run", "--recipe", str(self.folder / "run.yaml")]
        command += ["--corpus", str(self.folder / "source"), "--out", str(out), *TRAINING]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT")}
        environment |= {"SEAMOUNT_HOME": str(self.folder / "home"), MARK: str(self.folder)}
        environment["TMPDIR"] = str(self.folder / "temporary")  # a kill leaves its scratch there
        with log.open("wb") as stream:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                start_new_session=True,
            )

    def finish(self, out: Path, log: Path) -> str:
        """The same command to its end; what it said."""
        assert self.start(out, log).wait(300) == 0, log.read_text()
        return log.read_text()

    def processes(self) -> dict[int, str]:
        """Command lines of all living processes that bear the mark, by pid."""
        found = {}
        for pid in marked(str(self.folder)):
            try:
                text = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            found[pid] = text.replace(b"\0", b" ").decode(errors="replace")
        return found


@dataclass
class Kill:
    """One kill: who died with the main process, what stood when all was quiet, what was said."""

    children: list[str]
    seconds: float
    says: str
    finished: dict[str, int]
    step: int
    left: set[str] = field(repr=False)


def stages(out: Path) -> dict[str, int]:
    """How many calls of each corpus stage have left their mark of finished work."""
    work = out / "corpus" / ".work"
    return {s: len(list((work / s).glob("*/result.json"))) for s in ("clean", "scatter", "gather")}


def checkpoint_step(out: Path) -> int:
    """Step of the newest checkpoint; 0 where there is none."""
    latest = out / "checkpoints" / "LATEST"
    return int(latest.read_text().removeprefix("step_")) if latest.exists() else 0


def kill(place: Place, out: Path, when: Callable[[], bool], everything: bool) -> Kill:
    """Start the command, kill it once `when` holds, and wait until no process of it is left."""
    log = place.folder / f"killed-{time.monotonic_ns()}.log"
    process = place.start(out, log)
    give_up = time.monotonic() + 200
    while not when():
        assert process.poll() is None and time.monotonic() < give_up, log.read_text()
        time.sleep(0.02)
    children = place.processes()
    assert children.pop(process.pid, None), "it had ended before it could be killed"
    (os.killpg if everything else os.kill)(process.pid, signal.SIGKILL)
    for pid in children if everything else ():  # servers and ranks have sessions of their own
        if pid in place.processes():
            os.kill(pid, signal.SIGKILL)
    start = time.monotonic()
    assert process.wait(30) == -signal.SIGKILL
    while (left := place.processes()) and time.monotonic() - start < 60:
        time.sleep(0.05)
    assert not left, f"these outlived the killed run: {left}"
    files = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
    seconds = time.monotonic() - start
    says = log.read_text()
    return Kill([*children.values()], seconds, says, stages(out), checkpoint_step(out), files)


def digests(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Six files of made-up text, a few hundred documents of three components."""
    folder = tmp_path_factory.mktemp("kill-run")
    (folder / "source").mkdir()
    (folder / "temporary").mkdir()
    (folder / "run.yaml").write_text(RECIPE)
    random = Random(0)
    for number in range(6):
        rows = []
        for n in range(60):
            words = [f"w{random.randrange(5_000)}" for _ in range(random.randint(40, 160))]
            lines = [" ".join(words[i : i + 9]) + ".\n" for i in range(0, len(words), 9)]
            rows.append(Document("".join(lines), random.choice(COMPONENTS), f"{number}-{n}", ""))
        write_documents(str(folder / "source" / f"{number:02d}.jsonl.zst"), rows)
    return Place(folder)


@pytest.fixture(scope="module")
def undisturbed(place: Place) -> Path:
    """Output folder of a run that nobody disturbed."""
    place.finish(place.folder / "undisturbed", place.folder / "undisturbed.log")
    return place.folder / "undisturbed"


@dataclass
class Drill:
    """Four kills and the run that got through, all into `out`."""

    out: Path
    kills: list[Kill]
    run_id: str
    says: str


@pytest.fixture(scope="module")
def drill(place: Place, undisturbed: Path) -> Drill:
    """Needs `undisturbed` only to stand behind it: two runs at once would disturb each other."""
    out = place.folder / "out"
    kills = [kill(place, out, lambda: stages(out)["clean"] > 0, everything=False)]
    run_id = json.loads((out / ".run.json").read_text())["run_id"]
    kills.append(kill(place, out, lambda: stages(out)["scatter"] > 0, everything=True))
    kills.append(kill(place, out, lambda: checkpoint_step(out) > 0, everything=False))
    beyond = kills[-1].step
    kills.append(kill(place, out, lambda: checkpoint_step(out) > beyond, everything=True))
    return Drill(out, kills, run_id, place.finish(out, place.folder / "finish.log"))


def test_every_kill_fell_in_the_middle(drill: Drill) -> None:
    first, second, third, fourth = drill.kills
    for one in (first, second):
        assert not [n for n in one.left if n.endswith(".zst") or n == "corpus/manifest.json"]
    assert 0 < third.step < fourth.step < STEPS
    for one in (third, fourth):
        assert "corpus/manifest.json" in one.left
        assert not [n for n in one.left if n.startswith("model/")]


def test_children_of_a_killed_main_process_end_by_themselves(place: Place, drill: Drill) -> None:
    """`kill` waited for it; here: there were children of each kind, and they went soon."""
    corpus, training = drill.kills[0], drill.kills[2]
    for kind, least, one in (
        ("uvicorn", 1, corpus),
        ("multiprocessing.spawn", 2, corpus),
        ("uvicorn", 1, training),
        ("seamount.training.ranks", 1, training),
    ):
        assert sum(kind in line for line in one.children) >= least, (kind, one.children)
    assert max(corpus.seconds, training.seconds) < 30
    assert place.processes() == {}, "and none is left after the last run"


def test_finished_corpus_work_is_not_done_again(drill: Drill) -> None:
    first, second, third, fourth = drill.kills
    reused = re.findall(r"cleaned \d+ batch(?:es)?, (\d+) reused", second.says)
    assert sum(map(int, reused)) == first.finished["clean"] > 0
    batches = sum(map(int, re.findall(r"cleaned (\d+) batch(?:es)?", second.says)))
    assert batches == 6
    for stage in ("cleaned", "scattered"):
        reused = re.findall(rf"{stage} \d+ batch(?:es)?, (\d+) reused", third.says)
        standing = second.finished["clean" if stage == "cleaned" else "scatter"]
        assert sum(map(int, reused)) == standing > 0, stage
    for says in (fourth.says, drill.says):
        assert "corpus: unchanged, reused from an earlier run (0 shards read)" in says


def test_the_corpus_has_the_bytes_of_an_undisturbed_run(drill: Drill, undisturbed: Path) -> None:
    found = digests(drill.out / "corpus")
    assert found == digests(undisturbed / "corpus")
    assert sum(name.endswith(".zst") for name in found) > 4


def test_training_continued_to_the_weights_of_an_undisturbed_run(
    drill: Drill, undisturbed: Path
) -> None:
    third, fourth = drill.kills[2:]
    assert "continuing from step" not in third.says, "there was nothing to continue from yet"
    for step, says in ((third.step, fourth.says), (fourth.step, drill.says)):
        assert re.findall(r"continuing from step (\d+)", says) == [str(step)]
        shown = [int(n) for n in re.findall(r"step (\d+)/", says)]
        assert shown and min(shown) > step, "it began at an earlier step than it says"
    last = Path("checkpoints") / f"step_{STEPS:08d}"
    for name in (last / "__0_0.distcp", "model/model.safetensors", "tokens/train.bin"):
        mine, other = drill.out / name, undisturbed / name
        assert mine.read_bytes() == other.read_bytes(), name
    losses = [
        json.loads((out / last / "manifest.json").read_text())["loss"]
        for out in (drill.out, undisturbed)
    ]
    assert losses[0] == losses[1]


def test_results_and_curve_are_whole(drill: Drill, undisturbed: Path) -> None:
    def read(name: str, out: Path) -> Any:
        return json.loads((out / name).read_text())

    curve = read("scores/training.json", drill.out)["train"]
    assert curve == read("scores/training.json", undisturbed)["train"]
    assert [step for step, _ in curve] == list(range(10, STEPS + 1, 10)), "the curve has a gap"
    mine, other = read("result.json", drill.out), read("result.json", undisturbed)
    assert mine["bpb"] == other["bpb"] and mine["baselines"] == other["baselines"]
    names = [{n for n in digests(out) if "step_" not in n} for out in (drill.out, undisturbed)]
    assert names[0] == names[1], "a kill left a file behind"


def test_one_tracked_run_holds_it_all(drill: Drill, place: Place) -> None:
    assert json.loads((drill.out / "result.json").read_text())["run_id"] == drill.run_id
    proof = verify(open_store(f"seamount://{place.folder}/home/tracking"), drill.run_id)
    assert proof["ok"], proof["problems"]
