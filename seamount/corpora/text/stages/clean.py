"""Stage 1: read a batch of inputs, normalise, filter by component, take digests and signatures."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from seamount.core import registry, storage
from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document, Quarantined, Skipped
from seamount.core.wording import counted
from seamount.corpora.text import inputs, jsonl_zst, ledger, zstd_stream
from seamount.corpora.text.catalog import Catalog
from seamount.corpora.text.edits import load_edits
from seamount.corpora.text.edits._samples import Samples
from seamount.corpora.text.filters import load_rules
from seamount.corpora.text.normalise import normalise
from seamount.corpora.text.stages import index, stage, unit_index

DOCUMENTS, DROPPED = "documents", "dropped.jsonl.gz"
EDITED = "edited.jsonl.gz"
_SCRATCH_LEVEL = 1


def clean(batch: stage.Batch, rules: stage.Rules, work: str) -> stage.Done:
    """Clean one batch into WORK/clean/<key>/.

    It holds `documents` (the lines of what passed, zstd), the index of them (see index.py), their
    lines or paragraphs where a component dedupes them (unit_index.py) and result.json (ledger rows,
    quarantined lines).
    """
    folder = storage.join(work, "clean", batch.key)
    return stage.run(folder, lambda where: _Cleaner(rules).run(batch, where))


def lines(url: str) -> Iterator[bytes]:
    """The lines of a batch's `documents`, in order, each with its line feed."""
    with storage.open_read(url) as stream:
        for block in zstd_stream.line_blocks(stream, url):
            yield from split_lines(block)


def split_lines(block: bytes) -> list[bytes]:
    """The lines of a block of whole lines, each with its line feed."""
    return [line + b"\n" for line in block.removesuffix(b"\n").split(b"\n")]


class _Cleaner:
    def __init__(self, rules: stage.Rules) -> None:
        self.rules = rules
        components = {} if rules.catalog.as_is else rules.catalog.components
        self.edits = {n: load_edits(c.edits) for n, c in components.items()}
        self.filters = {n: load_rules(c.filters) for n, c in components.items()}
        self.samples = Samples()
        self.quarantined: list[dict[str, Any]] = []

    def run(self, batch: stage.Batch, folder: str) -> dict[str, Any]:
        with ExitStack() as stack:
            stream = stack.enter_context(storage.atomic_write(storage.join(folder, DOCUMENTS)))
            kept = stack.enter_context(zstd_stream.line_writer(stream, _SCRATCH_LEVEL))
            dropped = stack.enter_context(
                dropped_writer(storage.join(folder, DROPPED), self.rules.keep_dropped)
            )
            self.index = stack.enter_context(index.writer(folder, self.rules.dedupe == "near"))
            self.units = stack.enter_context(
                unit_index.writer(folder, self.rules.catalog.dedupe_lines())
            )
            rows = [self._input(one, batch.total == 1, kept, dropped) for one in batch.inputs]
        if self.rules.keep_dropped:
            self.samples.write(storage.join(folder, EDITED))
        return {
            "documents": self.index.documents,
            "bytes": self.index.bytes,
            "rows": [ledger.row_to_dict(row) for row in rows],
            "quarantined": self.quarantined,
            **({unit_index.COUNT: self.units.files} if self.units.files else {}),
        }

    def _input(self, one: inputs.Input, alone: bool, kept: Any, dropped: Any) -> ledger.Row:
        row = ledger.Row(one.name)
        digest = hashlib.sha256()
        try:
            for record in inputs.read(one, digest.update):
                if isinstance(record, Quarantined):
                    self._quarantine(record, row)
                elif isinstance(record, Skipped):
                    row.read.add(record.size_bytes)
                    row.drop(f"{one.reader}: {record.reason}", record.size_bytes)
                else:
                    self._document(record, row, kept, dropped)
        except CorruptData as error:
            if not self.rules.allow_broken:
                raise _with_advice(error, row, alone) from None
            row.error = str(error)
        row.sha256 = digest.hexdigest() if inputs.sees_all_bytes(one) else ""
        row.sha256 = row.sha256 or inputs.content_digest(one)
        return row

    def _quarantine(self, record: Quarantined, row: ledger.Row) -> None:
        row.read.add(record.size_bytes)
        row.quarantined.add(record.size_bytes)
        self.quarantined.append(
            {
                "input": row.input,
                "file": record.source,
                "line": record.line,
                "bytes": record.size_bytes,
                "reason": record.reason,
            }
        )

    def _document(self, record: Document, row: ledger.Row, kept: Any, dropped: Any) -> None:
        text = record.text if self.rules.catalog.as_is else normalise(record.text)
        data = text.encode()
        before = len(data) if text == record.text else len(record.text.encode())
        row.read.add(before)
        row.normalisation_bytes += before - len(data)
        component = canonical(record, self.rules.catalog)
        document = replace(record, text=text, component=component or record.component)
        if component is not None and self.edits.get(component):
            document = self._edited(document, row)
            data = document.text.encode()
        reason = "component not in catalog" if component is None else self._reason(document, data)
        if reason is not None:
            row.drop(reason, len(data))
            dropped(document, reason)
            return
        kept.write(jsonl_zst.encode_line(document))
        self.units.add(self.index.documents, document)
        self.index.add(document, data, row.input)

    def _edited(self, document: Document, row: ledger.Row) -> Document:
        for name, edit in self.edits[document.component]:
            text = edit(document.text)
            if text != document.text:
                row.edit(name, len(document.text.encode()) - len(text.encode()))
                if self.rules.keep_dropped:
                    self.samples.add(name, document, text)
                document = replace(document, text=text)
        return document

    def _reason(self, document: Document, data: bytes) -> str | None:
        if self.rules.catalog.as_is:
            return None
        if not document.text.strip():
            return "empty"
        filters = self.filters.get(document.component)
        if not filters:
            return None
        from seamount.corpora.text import text_statistics

        statistics = text_statistics.measure(data)
        for name, rule in filters:
            if reason := rule(document.text, statistics, document.id):
                return f"{name}: {reason}"
        return None


def _with_advice(error: CorruptData, row: ledger.Row, alone: bool) -> CorruptData:
    """`error` with what --allow-broken would do, unless the build would then hold nothing."""
    good = row.read.documents - row.quarantined.documents
    if not good and alone:
        return error
    effect = (
        f"keeps the {counted(good, 'record')} before the damage" if good else "leaves this file out"
    )
    return type(error)(f"{error} (or build with --allow-broken, which {effect})")


def canonical(document: Document, catalog: Catalog) -> str | None:
    """The catalog's spelling of a document's component; None where it is to be dropped.

    Raises UserError where the catalog wants an error for a component that it does not list.
    """
    name = catalog.canonical.get(document.component)
    if name is not None:
        return name
    if catalog.unknown_components == "keep":
        return document.component
    if catalog.unknown_components == "drop":
        return None
    known = sorted(catalog.components)
    raise UserError(
        f"{document.source}: {registry.unknown('component', document.component, known)}; or set "
        f"unknown_components to keep or drop in catalog {catalog.name!r}"
    )


@contextmanager
def dropped_writer(url: str, wanted: bool) -> Iterator[Any]:
    """A function (document, reason) that stores what is dropped, or does nothing."""
    if not wanted:
        yield lambda document, reason: None
        return
    with (
        storage.atomic_write(url) as stream,
        gzip.GzipFile("", "wb", 1, stream, mtime=0) as packed,
    ):
        yield lambda document, reason: packed.write(
            jsonl_zst.encode_line(replace(document, meta={**document.meta, "dropped": reason}))
        )
