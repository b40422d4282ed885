"""The account of a build: in = kept + dropped + duplicates + quarantined, in documents and bytes.

Bytes are UTF-8 bytes of normalised and edited text; `normalisation_bytes` is what normalising took
away and `edited` what each edit did (less than 0 where a mask is longer than what it hides) and
what was cut out as repeated (`dedupe: line`), so that both count among the bytes that came in. A
quarantined record counts with its raw line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from seamount.core.errors import SeamountError


@dataclass
class Tally:
    """Some documents and their bytes."""

    documents: int = 0
    bytes: int = 0

    def add(self, bytes: int, documents: int = 1) -> None:
        """Count more."""
        self.documents += documents
        self.bytes += bytes


@dataclass
class Row:
    """The account of one input, or of all together."""

    input: str
    read: Tally = field(default_factory=Tally)
    kept: Tally = field(default_factory=Tally)
    quarantined: Tally = field(default_factory=Tally)
    dropped: dict[str, Tally] = field(default_factory=dict)
    duplicates: dict[str, Tally] = field(default_factory=dict)
    normalisation_bytes: int = 0
    edited: dict[str, int] = field(default_factory=dict)
    sha256: str = ""
    error: str | None = None

    def drop(self, reason: str, bytes: int) -> None:
        """Count a document as dropped for `reason`."""
        self.dropped.setdefault(reason, Tally()).add(bytes)

    def duplicate(self, kind: str, bytes: int) -> None:
        """Count a document as a copy (`exact` or `near`) of one that is kept."""
        self.duplicates.setdefault(kind, Tally()).add(bytes)

    def edit(self, name: str, bytes: int) -> None:
        """Count what the edit `name` took away from a document."""
        self.edited[name] = self.edited.get(name, 0) + bytes

    def add(self, other: Row) -> None:
        """Count all of `other` too."""
        for name in ("read", "kept", "quarantined"):
            tally = getattr(other, name)
            getattr(self, name).add(tally.bytes, tally.documents)
        for name in ("dropped", "duplicates"):
            for reason, tally in getattr(other, name).items():
                mine = getattr(self, name).setdefault(reason, Tally())
                mine.add(tally.bytes, tally.documents)
        self.normalisation_bytes += other.normalisation_bytes
        for name, size in other.edited.items():
            self.edit(name, size)

    def check(self) -> None:
        """Raise SeamountError where a document or a byte is not accounted for."""
        parts = [self.kept, self.quarantined, *self.dropped.values(), *self.duplicates.values()]
        documents = sum(p.documents for p in parts)
        changed = self.normalisation_bytes + sum(self.edited.values())
        size = sum(p.bytes for p in parts) + changed
        if (documents, size) != (self.read.documents, self.read.bytes):
            raise SeamountError(
                f"the ledger of {self.input} does not add up: {self.read.documents} documents and "
                f"{self.read.bytes} bytes came in, {documents} and {size} are accounted for; "
                "please report this with the corpus's manifest"
            )


def row_to_dict(row: Row) -> dict[str, Any]:
    """The row as it stands in the manifest."""
    return {
        "input": row.input,
        "in": vars(row.read),
        "kept": vars(row.kept),
        "dropped": {reason: vars(t) for reason, t in sorted(row.dropped.items())},
        "duplicates": {kind: vars(t) for kind, t in sorted(row.duplicates.items())},
        "quarantined": vars(row.quarantined),
        "normalisation_bytes": row.normalisation_bytes,
        "edited": dict(sorted(row.edited.items())),
        "sha256": row.sha256,
        "error": row.error,
    }


def row_from_dict(content: dict[str, Any]) -> Row:
    """The inverse of `row_to_dict`."""
    return Row(
        input=content["input"],
        read=Tally(**content["in"]),
        kept=Tally(**content["kept"]),
        quarantined=Tally(**content["quarantined"]),
        dropped={reason: Tally(**t) for reason, t in content["dropped"].items()},
        duplicates={kind: Tally(**t) for kind, t in content["duplicates"].items()},
        normalisation_bytes=content["normalisation_bytes"],
        edited=dict(content.get("edited", {})),  # manifests before there were edits have none
        sha256=content["sha256"],
        error=content["error"],
    )


def total(rows: Iterable[Row]) -> Row:
    """All rows added up."""
    together = Row("total")
    for row in rows:
        together.add(row)
    return together
