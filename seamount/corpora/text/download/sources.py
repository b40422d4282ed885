"""What every kind of source gives: the bytes of a file from an offset on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Opened:
    """An answer: bytes of the file from `offset` on (0 although more was asked: all anew).

    `total` is the whole file's size and `validator` names its state, where the source tells them;
    `coding` is a compression made for the way, though none was asked for.
    """

    offset: int
    total: int | None
    validator: str | None
    pieces: Iterator[bytes]
    media_type: str = ""
    coding: str = ""


class Source(Protocol):
    """One protocol; its failures come out as mirrors.Transient, Changed or Unusable."""

    def open(self, url: str, offset: int, validator: str | None) -> AbstractContextManager[Opened]:
        """The file from `offset` on, provided it is still in the state `validator` names."""

    def size_bytes(self, url: str) -> int | None:
        """The file's size where it is told without fetching it; no failure is raised."""

    def close(self) -> None:
        """Give connections back."""
