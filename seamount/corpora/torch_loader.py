"""Documents of a corpus for PyTorch: each once, over any ranks and workers, resumable anywhere.

    documents = CorpusDocuments("runs/corpus", rank=0, world_size=2)
    loader = DataLoader(documents, batch_size=8, num_workers=4)

The lines of a split are cut into one run of (almost) equal length for each worker of each rank, so
no two deliver the same document and none reads shards of the others. To go on after a stop, either
hand `resume_at(batches, batch_size, num_workers)` what the loader had given, or use torchdata's
StatefulDataLoader, which calls `state_dict` and `load_state_dict` in its workers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info

from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.corpora.text import ranges

log = logging.getLogger("seamount")


class CorpusDocuments(IterableDataset[dict[str, str]]):
    """{"text", "component", "id"} of every document of `url` (a corpus folder, a file, a URL).

    Damaged lines are passed over, counted and told at the end; raises UserError for a rank that is
    not below `world_size`.
    """

    def __init__(
        self, url: str, split: str | None = "train", rank: int = 0, world_size: int = 1
    ) -> None:
        if not 0 <= rank < world_size:
            raise UserError(f"rank {rank} of {world_size} cannot be: ranks count from 0")
        self.shards = ranges.shards_of(url, split)
        self.rank, self.world_size = rank, world_size
        self.lines = sum(shard.lines for shard in self.shards)
        self.quarantined = 0
        self._done: dict[int, int] = {}  # run -> lines of it that were delivered
        self._first = 0  # the run that worker 0 takes

    def __len__(self) -> int:
        """Lines of this rank's part: its documents, where none is damaged."""
        start, stop = ranges.share(self.lines, self.rank, self.world_size)
        return stop - start

    def __iter__(self) -> Iterator[dict[str, str]]:
        worker, workers = _worker()
        run = (worker + self._first) % workers
        start, stop = self._run(run, workers)
        for record in ranges.read_lines(self.shards, start + self._done.get(run, 0), stop):
            self._done[run] = self._done.get(run, 0) + 1
            if isinstance(record, Document):
                yield {"text": record.text, "component": record.component, "id": record.id}
            else:
                self.quarantined += record is not None
        self._done.pop(run, None)  # the next epoch begins anew
        if self.quarantined:
            log.warning("%d damaged lines were passed over", self.quarantined)

    def _run(self, run: int, workers: int) -> tuple[int, int]:
        """First and last line (excluded) of one worker's run: a part of the rank's part."""
        first, last = ranges.share(self.lines, self.rank, self.world_size)
        start, stop = ranges.share(last - first, run, workers)
        return first + start, first + stop

    def state_dict(self) -> dict[str, Any]:
        """Where this worker is; goes with the same shards, ranks and workers only."""
        return {"done": dict(self._done), "lines": self.lines, "world_size": self.world_size}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict`; raises UserError for one of another corpus or world."""
        mine = {"lines": self.lines, "world_size": self.world_size}
        for key, value in mine.items():
            if state[key] != value:
                raise UserError(
                    f"the saved position is of {key} {state[key]}, but here it is {value}: "
                    "resume with the same corpus and the same number of ranks"
                )
        self._done = dict(state["done"])

    def resume_at(self, batches: int, batch_size: int, num_workers: int = 0) -> None:
        """Go on after `batches` batches of a plain DataLoader with these settings.

        Such a loader takes a batch from each worker in turn, and passes over those that ended. It
        hands a copy of this object to its workers: before the next epoch call resume_at(0, ...).
        """
        workers = max(1, num_workers)
        sizes = [stop - start for start, stop in (self._run(w, workers) for w in range(workers))]
        done = [0] * workers
        turn = _turns(sizes, done)
        for _ in range(batches):
            worker = next(turn, None)
            if worker is None:
                raise UserError(
                    f"{batches} batches of {batch_size} are more than this rank's part has "
                    f"({len(self)} documents): resume with the batch size of the first run"
                )
            done[worker] = min(sizes[worker], done[worker] + batch_size)
        self._done = dict(enumerate(done))
        self._first = next(turn, 0)


def _turns(sizes: list[int], done: list[int]) -> Iterator[int]:
    """The worker of each next batch: in turn, while any has something left."""
    while any(d < size for d, size in zip(done, sizes, strict=True)):
        for worker, size in enumerate(sizes):
            if done[worker] < size:
                yield worker


def _worker() -> tuple[int, int]:
    """Number of this worker and how many there are; 0 of 1 in the main process."""
    info = get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)
