"""A file on its way: its bytes so far, and what is known about them.

Beside `NAME.part` stands `NAME.part.json` with marks: the SHA-256 of the first n bytes, for some n.
What a part holds is believed only as far as a mark proves it, whatever stopped the writer (kill -9,
a power cut, another program); the rest is cut off.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from seamount.core import storage
from seamount.core.errors import SeamountError
from seamount.corpora.text.download.addresses import shown

log = logging.getLogger("seamount")
_READ_BYTES = 1 << 20
_MARK_EVERY_S = 5.0


@dataclass
class _State:
    """What is known of the bytes of a part.

    source: digest of the URL they came from last (a URL may hold a secret)
    validator: entity tag or time of last change there
    wanted: SHA-256 the list gave for the whole file
    total: size of the whole file
    one_pass: whether one answer of one source gave all of them
    marks: (n, SHA-256 of the first n bytes), n rising
    """

    source: str = ""
    validator: str | None = None
    wanted: str | None = None
    total: int | None = None
    one_pass: bool = True
    marks: list[tuple[int, str]] = field(default_factory=list)


class PartFile:
    """The part at `path`, open for appending; to be used under the file's lock only."""

    def __init__(self, path: Path, wanted: str | None, mark_bytes: int) -> None:
        self.path, self.state_path = path, _state_path(path)
        self.wanted, self.mark_bytes = wanted, mark_bytes
        self._state = _read_state(self.state_path)
        self._stream: IO[bytes] = path.open("r+b" if path.exists() else "w+b")
        self._marked_at_s = time.monotonic()
        self._take_up()

    @property
    def total(self) -> int | None:
        """Size of the whole file, as far as it is known."""
        return self._state.total

    @property
    def is_whole(self) -> bool:
        """Whether as many bytes are here as the whole file has."""
        return self.size_bytes > 0 and self.size_bytes == self._state.total

    @property
    def is_of_one_pass(self) -> bool:
        """Whether one answer gave all bytes: then only its source can be at fault."""
        return self._state.one_pass

    @property
    def sha256(self) -> str:
        """Hex SHA-256 of the bytes so far."""
        return self._digest.hexdigest()

    def validator_for(self, url: str) -> str | None:
        """The state of the file at `url` these bytes are of; None where they came from another."""
        return self._state.validator if self._state.source == _mark_of(url) else None

    def may_continue_from(self, url: str) -> bool:
        """Whether bytes from `url` may follow.

        With a digest for the whole, from every source (a wrong mixture will not pass it); else from
        the same source only, and only in the same state.
        """
        return self._state.wanted is not None or self.validator_for(url) is not None

    def begin(self, url: str, validator: str | None, total: int | None) -> None:
        """Note where the next bytes come from."""
        known = self._state
        known.one_pass = self.size_bytes == 0
        known.source, known.validator = _mark_of(url), validator
        known.total = known.total if total is None else total

    def append(self, piece: bytes) -> None:
        """Write the next bytes, and a mark now and then."""
        self._stream.write(piece)
        self._digest.update(piece)
        self.size_bytes += len(piece)
        new = self.size_bytes - (self._state.marks[-1][0] if self._state.marks else 0)
        if new >= self.mark_bytes or time.monotonic() - self._marked_at_s >= _MARK_EVERY_S:
            self.mark()

    def mark(self) -> None:
        """Make all bytes so far proven ones."""
        self._stream.flush()
        self._marked_at_s = time.monotonic()
        marks = self._state.marks
        if self.size_bytes and (not marks or marks[-1][0] < self.size_bytes):
            marks.append((self.size_bytes, self.sha256))
            storage.write_json(str(self.state_path), vars(self._state))

    def reset(self) -> int:
        """Throw all bytes away; returns how many there were."""
        lost = self.size_bytes
        self._cut(0)
        self._state = _State(wanted=self.wanted)
        self._digest = hashlib.sha256()
        self.state_path.unlink(missing_ok=True)
        return lost

    def close(self) -> None:
        """Close the file; bytes behind the last mark are lost."""
        self._stream.close()

    def publish(self, target: Path) -> None:
        """Give the whole file its name, once its bytes are on the disk."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.path, target)
        self.state_path.unlink(missing_ok=True)

    def _take_up(self) -> None:
        """Keep the longest beginning a mark proves, read once."""
        digest, at = hashlib.sha256(), 0
        proven = (0, digest.copy())
        for end, wanted in self._state.marks:
            at += _feed(digest, self._stream, end - at)
            if at < end or digest.hexdigest() != wanted:
                break
            proven = (end, digest.copy())
        self._digest = proven[1]
        self._state.marks = [mark for mark in self._state.marks if mark[0] <= proven[0]]
        self._cut(proven[0])
        if not proven[0]:
            self._state = _State(wanted=self._state.wanted)
        before, self._state.wanted = self._state.wanted, self.wanted
        if before and self.wanted and before != self.wanted:  # the list now names other content
            self.reset()

    def _cut(self, size_bytes: int) -> None:
        there = os.fstat(self._stream.fileno()).st_size
        if there > size_bytes > 0:
            log.info("%s: %d bytes kept, %d unproven", self.path, size_bytes, there - size_bytes)
        self._stream.seek(size_bytes)
        self._stream.truncate()
        self.size_bytes = size_bytes


def remove(path: Path) -> None:
    """Remove the part at `path` and what is known about it, if they are there."""
    path.unlink(missing_ok=True)
    _state_path(path).unlink(missing_ok=True)


def _state_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _feed(digest: Any, stream: IO[bytes], size_bytes: int) -> int:
    done = 0
    while done < size_bytes and (chunk := stream.read(min(_READ_BYTES, size_bytes - done))):
        digest.update(chunk)
        done += len(chunk)
    return done


def _read_state(path: Path) -> _State:
    """What the state file says; nothing where it is absent or damaged."""
    if not path.exists():
        return _State()
    try:
        state = _State(**storage.read_json(str(path)))
        state.marks = [(int(end), str(digest)) for end, digest in state.marks]
    except (SeamountError, TypeError, ValueError):
        return _State()
    ends = [0, *(end for end, _ in state.marks)]
    rising = all(a < b for a, b in pairwise(ends))
    return state if rising and isinstance(state.total, int | None) else _State()


def _mark_of(url: str) -> str:
    return f"{shown(url)} {storage.digest_of(url)[:16]}"
