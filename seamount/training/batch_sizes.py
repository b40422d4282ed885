"""How many sequences each update takes, where that number grows with the steps (batch ramp-up).

The order of data stays one row of sequences: an update takes the next ones, however many came
before, so that a resumed run and another layout read the same. Steps count from 0 here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BatchSizes:
    """`first` sequences an update; from step s on as many as the pair (s, size) in `changes` says.

    Steps of `changes` rise, and are above 0.
    """

    first: int
    changes: tuple[tuple[int, int], ...] = ()

    @property
    def all(self) -> tuple[int, ...]:
        """Every size that comes, in order."""
        return (self.first, *(size for _, size in self.changes))

    def at(self, step: int) -> int:
        """Sequences of the update of `step`."""
        return [size for start, size in ((0, self.first), *self.changes) if start <= step][-1]

    def before(self, step: int) -> int:
        """Sequences that all updates before that of `step` take."""
        starts = [0, *(start for start, _ in self.changes)]
        ends = [*starts[1:], step]
        spans = zip(starts, ends, self.all, strict=True)
        return sum(max(0, min(end, step) - start) * size for start, end, size in spans)

    def step_of(self, sequence: int) -> int:
        """The step whose update takes sequence number `sequence` of the run."""
        passed = [start for start, _ in self.changes if self.before(start) <= sequence]
        start = passed[-1] if passed else 0
        return start + (sequence - self.before(start)) // self.at(start)
