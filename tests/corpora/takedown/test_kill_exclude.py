"""kill -9 at any operation on a file, then the same command: the bytes of an undisturbed one."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from killing import count_events, in_child, kill_at_event
from standing import build, digests, records

from seamount.core.errors import UserError
from seamount.corpora.text import manifest
from seamount.corpora.text.takedown.exclude import exclude
from seamount.corpora.text.takedown.rule import Rule

RULES = {
    "match": Rule(match="SECRET-[13]"),
    "component": Rule(components=("ArXiv",)),
    "ids": Rule(ids=("0-3", "2-7")),
}


def killed_at(corpus: Path, rule: Rule, number: int) -> None:
    def killed() -> None:
        kill_at_event(number)
        exclude(str(corpus), rule)

    status = os.waitpid(in_child(killed), 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def look_at_what_is_left(corpus: Path, old: dict[str, str], new: dict[str, str]) -> str:
    """The whole old corpus, the whole new one, or none that passes for a corpus."""
    standing = {k: v for k, v in digests(corpus).items() if not k.startswith(".exclude")}
    if not manifest.is_corpus(str(corpus)):
        with pytest.raises(UserError, match=r"stopped half-way"):
            manifest.load_manifest(str(corpus))
        return "none"
    assert standing in (old, new)
    records(corpus)
    return "old" if standing == old else "new"


def drill(untouched: Path, folder: Path, rule: Rule, pick: Callable[[int], list[int]]) -> set[str]:
    calm = shutil.copytree(untouched, folder / "calm")
    old = digests(untouched)
    events = count_events(lambda: exclude(str(calm), rule))
    new = digests(calm)
    assert new != old and events > 20
    left = set()
    for point in pick(events):
        corpus = Path(shutil.copytree(untouched, folder / "killed"))
        killed_at(corpus, rule, point)
        left.add(look_at_what_is_left(corpus, old, new))
        exclude(str(corpus), rule)
        assert digests(corpus) == new, f"killed before operation {point} of {events}"
        shutil.rmtree(corpus)
    return left


@pytest.mark.parametrize("name", RULES)
def test_killed_before_file_operations(name: str, untouched: Path, tmp_path: Path) -> None:
    """A sample of all operations, the last ones (where files are put in place) all of them."""

    def pick(events: int) -> list[int]:
        early = Random(5).sample(range(1, events - 16), 6)
        return [*sorted(early), *range(events - 16, events + 1)]

    assert drill(untouched, tmp_path, RULES[name], pick) == {"old", "none", "new"}


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_killed_before_every_file_operation(name: str, untouched: Path, tmp_path: Path) -> None:
    drill(untouched, tmp_path, RULES[name], lambda events: list(range(1, events + 1)))


def test_killed_again_and_again_at_random_times(untouched: Path, tmp_path: Path) -> None:
    random = Random(11)
    rule = RULES["match"]
    calm = Path(shutil.copytree(untouched, tmp_path / "calm"))
    exclude(str(calm), rule)
    wanted, old = digests(calm), digests(untouched)
    corpus = Path(shutil.copytree(untouched, tmp_path / "killed"))
    for _ in range(30):
        pid = in_child(lambda: exclude(str(corpus), rule))
        time.sleep(random.uniform(0.0, 0.08))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if look_at_what_is_left(corpus, old, wanted) == "new":
            break
    exclude(str(corpus), rule)
    assert digests(corpus) == wanted


def test_another_command_first_ends_what_was_stopped(untouched: Path, tmp_path: Path) -> None:
    """Killed while files are put in place, then another exclusion: both happened, in order."""
    calm = Path(shutil.copytree(untouched, tmp_path / "calm"))
    exclude(str(calm), RULES["match"])
    exclude(str(calm), RULES["ids"])
    counted = str(shutil.copytree(untouched, tmp_path / "count"))
    count = count_events(lambda: exclude(counted, RULES["match"]))
    corpus = Path(shutil.copytree(untouched, tmp_path / "killed"))
    for point in range(count, 0, -1):
        shutil.rmtree(corpus)
        shutil.copytree(untouched, corpus)
        killed_at(corpus, RULES["match"], point)
        if not manifest.is_corpus(str(corpus)):
            break
    with pytest.raises(UserError, match="stopped half-way"):
        build(tmp_path, corpus)
    exclude(str(corpus), RULES["ids"])
    assert digests(corpus) == digests(calm)
