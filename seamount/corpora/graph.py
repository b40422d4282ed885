"""Fan-out of a function over items: in this process, on an embedded or a given Dask cluster.

The only Dask import of the engine. Functions and items must be importable and picklable.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from seamount.core.errors import SeamountError, UserError

T = TypeVar("T")
R = TypeVar("R")
Report = Callable[[Any], None]
_IN_FLIGHT_PER_WORKER = 2
_CONNECT_TIMEOUT_S = 20
_START_TRIES = 3
# Dask would sample each worker's stack 100 times a second, for a page nobody sees, and give freed
# memory back to the system at 64 KiB, to fault it in again for the next block of text.
_SETTINGS = {
    "distributed.comm.timeouts.connect": "60s",
    "distributed.worker.profile.enabled": False,
    "distributed.nanny.pre-spawn-environ": {
        f"{name}_NUM_THREADS": 1 for name in ("OMP", "MKL", "OPENBLAS")
    },
}


class Handle(Protocol):
    """Where work is sent; `address` reaches the same cluster again (None: this process)."""

    address: str | None

    def map(
        self, function: Callable[[T], R], items: Sequence[T], report: Report | None = None
    ) -> list[R]:
        """`function` of every item, in their order; `report` is called with each result as it
        comes. The first exception of any call is raised here.
        """
        ...


class Serial:
    """Does the work in this process."""

    address: str | None = None

    def map(
        self, function: Callable[[T], R], items: Sequence[T], report: Report | None = None
    ) -> list[R]:
        """See Handle."""
        results = []
        for item in items:
            results.append(function(item))
            if report is not None:
                report(results[-1])
        return results


class DaskHandle:
    """Sends work to a Dask cluster, a bounded number of calls at a time.

    A call whose worker dies is done again on another one, up to three times.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.address: str | None = client.scheduler.address

    def map(
        self, function: Callable[[T], R], items: Sequence[T], report: Report | None = None
    ) -> list[R]:
        """See Handle."""
        from distributed import KilledWorker, as_completed

        waiting = iter(enumerate(items))
        position: dict[Any, int] = {}
        results: dict[int, R] = {}
        running = as_completed(loop=self.client.loop)
        try:
            for _ in range(_IN_FLIGHT_PER_WORKER * self._workers()):
                self._submit_next(function, waiting, position, running)
            for future in running:
                result = future.result()
                results[position.pop(future)] = result
                if report is not None:
                    report(result)
                self._submit_next(function, waiting, position, running)
        except KilledWorker as error:
            raise SeamountError(
                "the workers died again and again at the same piece of work (often for lack of "
                "memory): run with fewer workers or smaller inputs"
            ) from error
        finally:
            self.client.cancel(list(position))
        return [results[i] for i in range(len(items))]

    def _submit_next(
        self, function: Callable[[T], R], waiting: Any, position: dict[Any, int], running: Any
    ) -> None:
        try:
            index, item = next(waiting)
        except StopIteration:
            return
        future = self.client.submit(function, item, pure=False)
        position[future] = index
        running.add(future)

    def _workers(self) -> int:
        return max(1, len(self.client.scheduler_info(n_workers=-1)["workers"]))


@contextmanager
def cluster(workers: int = 0, scheduler: str | None = None) -> Iterator[Handle]:
    """Give a handle: the scheduler at an address, else `workers` processes of one thread each, else
    (0 or 1 worker) this process. All is closed at the end, and dies with this process.
    """
    if workers < 0:
        raise UserError(f"{workers} workers cannot be: give 0 (this process) or more")
    if scheduler is not None:
        with _connected(scheduler) as handle:
            yield handle
    elif workers > 1:
        with _local(workers) as handle:
            yield handle
    else:
        yield Serial()


@contextmanager
def _connected(address: str) -> Iterator[Handle]:
    from distributed import Client

    try:
        client = Client(address, timeout=_CONNECT_TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UserError(
            f"no Dask scheduler answers at {address!r}: check the address, or leave it out to use "
            "this machine"
        ) from error
    with client:
        yield DaskHandle(client)


@contextmanager
def _local(workers: int) -> Iterator[Handle]:
    import dask
    from distributed import Client

    with (
        _quiet_logs(),
        tempfile.TemporaryDirectory(prefix="seamount-dask-") as scratch,
        dask.config.set(_SETTINGS),
        _started(workers, scratch) as local,
        Client(local, set_as_default=False) as client,
    ):
        yield DaskHandle(client)


def _started(workers: int, scratch: str) -> Any:
    """An embedded cluster; tried again where a worker dies before it is up."""
    from distributed import LocalCluster

    for _ in range(_START_TRIES):
        try:
            return LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address="127.0.0.1:0",
                memory_limit=None,
                silence_logs=logging.CRITICAL,
                local_directory=scratch,
            )
        except RuntimeError as error:  # LocalCluster has closed what it had started
            failure = error
    raise SeamountError(
        f"a worker died while the workers started, {_START_TRIES} times: run with fewer of them "
        f"(Dask says: {failure})"
    ) from failure


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Dask tells of every worker that comes and goes; nobody here wants to read it."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
