"""What a build will cost, told from a sample that is built: hours, memory, disk, kept shares.

The sample is the head of inputs spread over all of them. It goes through every stage in a temporary
folder; work that is done a byte (clean, scatter, gather) is scaled by bytes and shared by the
workers, work that is done a document in one process (dedupe, mix) by documents. Copies are more
frequent in the whole than in a sample, so the share kept is an upper bound.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from seamount.core import storage
from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document
from seamount.corpora.text import build, formats, inputs, jsonl_zst, ledger
from seamount.corpora.text.catalog import load_catalog
from seamount.corpora.text.stages import clean, deduplicate, mix, shards, stage

SAMPLE_BYTES = 16_000_000
WORKERS = (1, 16, 64)
_FILES = 32
_GIB = 1 << 30
# Each worker holds a batch of lines to scatter, and the text and packed lines of a shard.
_SCATTER_BYTES = 64 << 20
_SHARD_COPIES = 3


@dataclass(frozen=True)
class Cost:
    """CPU seconds of a build: shared by workers, and in one process; scratch and kept text."""

    parallel_cpu_s: float
    serial_cpu_s: float
    scratch_bytes: float
    kept_bytes: float

    def hours(self, workers: int) -> float:
        """By the clock on `workers` cores, where disk and network keep up."""
        return (self.parallel_cpu_s / workers + self.serial_cpu_s) / 3600


def predict(request: build.CorpusRequest, sample_bytes: int = SAMPLE_BYTES) -> dict[str, Any]:
    """Predictions for the request and for the whole Pile, as plain values.

    Keys: sample {documents, bytes, cpu_s by stage}, rules {reason: share of bytes},
    worker_memory_bytes, corpus and pile {documents, bytes, scratch_bytes, kept_bytes, hours by
    number of workers}. Raises UserError where there is nothing to take a sample of.
    """
    planned = build.plan(request)
    with tempfile.TemporaryDirectory(prefix="seamount-dry-run-") as folder:
        sample = Path(folder) / "sample"
        size_read = _write_sample(planned.inputs, sample, sample_bytes)
        small = replace(
            request, sources=(str(sample),), out=f"{folder}/out", catalog=None, max_bytes=None
        )
        measured = _build(replace(build.plan(small), rules=planned.rules))
    stored = sum(one.size_bytes for one in planned.inputs) / max(1, size_read)
    whole = measured.row.read
    pile = load_catalog("pile").components.values()
    pile_documents = sum(c.documents or 0 for c in pile)
    pile_bytes = sum((c.raw_gib or 0) for c in pile) * _GIB
    return {
        "sample": {"documents": whole.documents, "bytes": whole.bytes, "cpu_s": measured.cpu_s},
        "rules": _shares(measured.row),
        "worker_memory_bytes": measured.resident_bytes
        + _SCATTER_BYTES
        + _SHARD_COPIES * request.shard_bytes,
        "corpus": _scaled(measured, whole.documents * stored, whole.bytes * stored),
        "pile": _scaled(measured, pile_documents, pile_bytes),
    }


@dataclass(frozen=True)
class _Measured:
    row: ledger.Row
    cpu_s: dict[str, float]
    scratch_bytes: int
    resident_bytes: int


def _scaled(measured: _Measured, documents: float, size_bytes: float) -> dict[str, Any]:
    by_byte = size_bytes / max(1, measured.row.read.bytes)
    by_document = documents / max(1, measured.row.read.documents)
    parallel = sum(measured.cpu_s[name] for name in ("clean", "scatter", "gather"))
    cost = Cost(
        parallel_cpu_s=parallel * by_byte,
        serial_cpu_s=measured.cpu_s["dedupe and mix"] * by_document,
        scratch_bytes=measured.scratch_bytes * by_byte,
        kept_bytes=measured.row.kept.bytes * by_byte,
    )
    return {
        "documents": round(documents),
        "bytes": round(size_bytes),
        "scratch_bytes": round(cost.scratch_bytes),
        "kept_bytes": round(cost.kept_bytes),
        "hours": {str(workers): cost.hours(workers) for workers in WORKERS},
    }


def _shares(row: ledger.Row) -> dict[str, float]:
    """Share of the bytes read that each reason takes away; `kept` is what is left."""
    total = max(1, row.read.bytes)
    found = {f"dropped, {why}": tally.bytes / total for why, tally in row.dropped.items()}
    found |= {f"copies, {kind}": tally.bytes / total for kind, tally in row.duplicates.items()}
    found |= {f"edited, {name}": size / total for name, size in row.edited.items()}
    found["quarantined"] = row.quarantined.bytes / total
    found["normalised"] = row.normalisation_bytes / total
    return {"kept": row.kept.bytes / total, **dict(sorted(found.items(), key=lambda f: -f[1]))}


def _write_sample(found: Sequence[inputs.Input], folder: Path, limit: int) -> int:
    """Write heads of evenly spread inputs; returns the bytes those heads take where they stand."""
    count = min(len(found), _FILES)
    chosen = [found[number * len(found) // count] for number in range(count)]
    stored = 0
    for number, one in enumerate(chosen):
        take = _head_of_file if one.reader in formats.FORMS else _head_of_items
        documents, size_bytes = take(one, limit // count)
        jsonl_zst.write_documents(str(folder / f"{number:02d}.jsonl.zst"), documents)
        stored += size_bytes
    if stored == 0:
        raise UserError("the sources hold nothing to take a sample of")
    return stored


def _head_of_file(one: inputs.Input, limit: int) -> tuple[list[Document], int]:
    head: tuple[list[Document], int] = formats.FORMS[one.reader].head(one.location, one.name, limit)
    return head


def _head_of_items(one: inputs.Input, limit: int) -> tuple[list[Document], int]:
    """The documents of the first items, and the bytes of those; of a long item a part."""
    documents: list[Document] = []
    size_bytes = text = 0
    for item in one.items:
        for document in _readable(inputs.read(replace(one, items=(item,)))):
            documents.append(document)
            text += len(document.text.encode())
            if text >= limit:
                return documents, size_bytes + min(item.size_bytes, text)
        size_bytes += item.size_bytes
    return documents, size_bytes


def _readable(records: Iterable[Any]) -> Iterator[Document]:
    """Documents up to the first damage (a head ends in the middle of something)."""
    try:
        yield from (record for record in records if isinstance(record, Document))
    except CorruptData:
        return


def _build(planned: build.Plan) -> _Measured:
    """Every stage in this process, timed."""
    cpu_s: dict[str, float] = {}

    def timed(label: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = work()
        cpu_s[label] = cpu_s.get(label, 0.0) + time.process_time() - start
        return result

    rules, work = planned.rules, planned.work
    storage.make_folder(work)
    clean.clean(stage.Batch("warm", (), 0), rules, work)  # what is compiled once is no cost a byte
    cleaned = timed("clean", lambda: [clean.clean(b, rules, work) for b in planned.batches])
    deduped = timed("dedupe and mix", lambda: deduplicate.dedupe(cleaned, rules, work))
    mixed = timed("dedupe and mix", lambda: mix.mix_and_split(cleaned, deduped, rules, work))
    scatter = partial(shards.scatter, cleaned=cleaned, mixed=mixed, rules=rules, work=work)
    scattered = timed("scatter", lambda: [scatter(n) for n in range(len(cleaned))])
    gather = partial(shards.gather, scattered=scattered, mixed=mixed, work=work)
    timed("gather", lambda: [gather(task) for task in shards.tasks(mixed)])
    rows = [ledger.row_from_dict(r) for r in stage.result_of(mixed)["ledger"]]
    files = (path for path in Path(work).rglob("*") if path.is_file())
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return _Measured(ledger.total(rows), cpu_s, sum(f.stat().st_size for f in files), resident)
