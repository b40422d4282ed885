"""What a batch keeps of the lines or paragraphs of components that dedupe them: sorted files.

They lie in BATCH/units/00000 ..., so many units each that memory does not grow with an input. A
unit is compared within its component.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import xxhash

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.corpora.text.catalog import DedupeLines
from seamount.corpora.text.dedupe import unit_files
from seamount.corpora.text.dedupe.unit_files import UnitFile
from seamount.corpora.text.dedupe.units import KINDS, units
from seamount.corpora.text.stages import stage

FOLDER = "units"
COUNT = "unit_files"  # in a batch's result.json; not there where no component dedupes its lines
RUN = 1 << 20
_ENTRY = struct.Struct("<16sIIIB")
_WHOLE = struct.Struct("<III")


class UnitWriter:
    """Takes the documents that passed one by one, in order."""

    def __init__(self, folder: str, rules: Mapping[str, DedupeLines]) -> None:
        self.folder, self.rules = folder, rules
        self.seeds = {
            name: xxhash.xxh3_64_intdigest(f"{rule.kind}\0{name}".encode())
            for name, rule in rules.items()
        }
        self.files = 0
        self._clear()

    def add(self, row: int, document: Document) -> None:
        """Add the document with number `row` in the batch, if its component dedupes lines.

        Raises UserError for a text of 4 GiB or more.
        """
        rule = self.rules.get(document.component)
        if rule is None:
            return
        seed, kind = self.seeds[document.component], KINDS.index(rule.kind)
        count = size = 0
        alone = True
        for start, size, data in units(document.text, rule.kind):
            if size > unit_files.MOST_BYTES:
                raise UserError(
                    f"{document.source}: a text of 4 GiB or more in {document.component!r}: leave "
                    "dedupe_lines of that component out of the catalog, or divide the text"
                )
            if len(data) < rule.least_bytes or len(data.strip()) < rule.least_bytes:
                alone = False
                continue
            digest = xxhash.xxh3_128_digest(data, seed)
            self.entries += _ENTRY.pack(digest, row, start, size, kind)
            count += 1
        if count and alone:
            self.whole += _WHOLE.pack(row, count, len(document.text.encode()))
        if len(self.entries) >= RUN * _ENTRY.size:
            self.flush()

    def flush(self) -> None:
        """Write what has come since the last time."""
        if self.entries:
            with storage.atomic_write(_url(self.folder, self.files)) as stream:
                unit_files.write(stream, bytes(self.entries), bytes(self.whole))
            self.files += 1
        self._clear()

    def _clear(self) -> None:
        self.entries, self.whole = bytearray(), bytearray()


@contextmanager
def writer(folder: str, rules: Mapping[str, DedupeLines]) -> Iterator[UnitWriter]:
    """Write the units of a batch by the `rules` of its components."""
    found = UnitWriter(folder, rules)
    yield found
    found.flush()


def open_files(cleaned: Sequence[stage.Done]) -> list[UnitFile]:
    """The files of all batches, numbered through."""
    files: list[UnitFile] = []
    first = 0
    for done in cleaned:
        for number in range(stage.result_of(done).get(COUNT, 0)):
            files.append(UnitFile.open(_url(done.folder, number), first))
        first += done.documents
    return files


def _url(folder: str, number: int) -> str:
    return storage.join(folder, FOLDER, f"{number:05d}")
