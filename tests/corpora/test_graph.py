"""Fan-out: order, errors, bounded flight, a dying worker."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest

from seamount.core.errors import SeamountError, UserError
from seamount.corpora import graph


def square(n: int) -> int:
    return n * n


def fail_at_three(n: int) -> int:
    if n == 3:
        raise SeamountError("three is too many")
    return n


def die_once(path: str) -> str:
    """Kills its worker the first time."""
    mark = Path(path)
    if mark.name == "2" and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return mark.name


@pytest.fixture(scope="module")
def two():  # type: ignore[no-untyped-def]
    with graph.cluster(2) as handle:
        yield handle


@pytest.mark.parametrize("workers", [0, 1])
def test_serial_needs_no_dask(workers: int) -> None:
    with graph.cluster(workers) as handle:
        assert isinstance(handle, graph.Serial)
        seen: list[int] = []
        assert handle.map(square, range(5), seen.append) == [0, 1, 4, 9, 16] == seen


def test_results_come_in_order(two: graph.Handle) -> None:
    seen: list[int] = []
    assert two.map(square, range(40), seen.append) == [n * n for n in range(40)]
    assert sorted(seen) == [n * n for n in range(40)]
    assert two.map(square, []) == []


def test_the_first_error_comes_out_as_it_is(two: graph.Handle) -> None:
    with pytest.raises(SeamountError, match="three is too many"):
        two.map(fail_at_three, range(8))


def test_a_dying_worker_is_survived(two: graph.Handle, tmp_path: Path) -> None:
    items = [str(tmp_path / str(n)) for n in range(6)]
    assert two.map(die_once, items) == [str(n) for n in range(6)]
    assert (tmp_path / "2").exists()


def test_a_worker_that_dies_while_it_starts_is_survived() -> None:
    """The first process that is started is killed at once, long before it has imported Dask."""
    killed: list[int] = []
    here = psutil.Process()
    before = here.children()

    def kill_the_first() -> None:
        give_up = time.monotonic() + 60
        while not killed and time.monotonic() < give_up:
            for child in here.children():
                if child not in before and "spawn_main" in " ".join(child.cmdline()):
                    child.kill()
                    killed.append(child.pid)
                    break

    killer = threading.Thread(target=kill_the_first)
    killer.start()
    with graph.cluster(2) as handle:
        assert handle.map(square, [3, 4]) == [9, 16]
    killer.join()
    assert killed


def test_a_given_scheduler_is_used(two: graph.DaskHandle) -> None:
    address = two.client.scheduler.address
    with graph.cluster(scheduler=address) as handle:
        assert handle.map(square, [7]) == [49]
    assert two.map(square, [8]) == [64]  # it was ours to leave running


def test_mistakes() -> None:
    with pytest.raises(UserError, match="-1 workers"), graph.cluster(-1):
        pass
    with (
        pytest.raises(UserError, match="no Dask scheduler answers at 'nonsense://x'"),
        graph.cluster(scheduler="nonsense://x"),
    ):
        pass
