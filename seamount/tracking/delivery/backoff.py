"""How long to wait before the next try."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

FIRST_S, MOST_S = 0.5, 60.0


@dataclass
class Backoff:
    """Waits that double up to a minute, each shortened by up to a half by chance.

    Chance keeps the hosts of one job from asking a server that comes back all at once.
    """

    failures: int = 0
    chance: random.Random = field(default_factory=random.Random)

    def next_s(self, at_least_s: float = 0.0) -> float:
        """Seconds to wait after one more failure."""
        longest = min(MOST_S, FIRST_S * 2.0 ** min(self.failures, 10))
        self.failures += 1
        return max(at_least_s, longest * self.chance.uniform(0.5, 1.0))

    def reset(self) -> None:
        """Something went well."""
        self.failures = 0
