"""Stage 3: where each document goes that is no copy, and the account of every input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.corpora.text import ledger, split
from seamount.corpora.text.stages import deduplicate, index, placing, stage


def mix_and_split(
    cleaned: Sequence[stage.Done], deduped: stage.Done, rules: stage.Rules, work: str
) -> stage.Done:
    """Give every document its split, shard and place, into WORK/mix/<key>/.

    <batch number>.parquet says it for the rows of one batch; result.json has the shards, the
    mixture's certificate and the ledger's rows. Memory: about 70 bytes a document.
    """
    folder = storage.join(work, "mix", stage.combined_key("mix", deduped.folder))
    return stage.run(folder, lambda where: _mix_and_split(cleaned, deduped, rules, where))


def _mix_and_split(
    cleaned: Sequence[stage.Done], deduped: stage.Done, rules: stage.Rules, where: str
) -> dict[str, Any]:
    documents = placing.Documents.load(cleaned, deduped)
    if not (documents.kind == 0).any():
        raise UserError(_nothing_left(cleaned))
    plan = placing.place(documents, rules)
    first = 0
    for number, done in enumerate(cleaned):
        rows = plan.rows(documents.kind, first, done.documents)
        with storage.atomic_write(storage.join(where, f"{number}.parquet")) as stream:
            pq.write_table(rows, stream, compression="zstd", row_group_size=index.SEGMENT)
        first += done.documents
    rows_of_inputs = _ledger_rows(cleaned, documents, plan.taken)
    counts = {s: [x["documents"] for x in plan.shards if x["split"] == s] for s in split.SPLITS}
    return {
        "documents": len(plan.document),
        "bytes": sum(shard["bytes"] for shard in plan.shards),
        "shards": plan.shards,
        "mixture": plan.certificate,
        "ledger": [ledger.row_to_dict(row) for row in rows_of_inputs],
        "splits": {name: sum(found) for name, found in counts.items()},
    }


def _rows_after_cleaning(cleaned: Sequence[stage.Done]) -> list[ledger.Row]:
    return [ledger.row_from_dict(r) for done in cleaned for r in stage.result_of(done)["rows"]]


def _nothing_left(cleaned: Sequence[stage.Done]) -> str:
    """The sentence for a build without documents; with none left, none can be a copy of another."""
    rows = _rows_after_cleaning(cleaned)
    total = ledger.total(rows)
    damaged = [f"; {row.error}" for row in rows if row.error][:1]
    if not total.read.documents:
        return "".join(
            [
                f"no document is left: 0 records were read from {len(rows)} input(s): "
                "give sources that hold some",
                *damaged,
            ]
        )
    parts = [f"{t.documents} dropped ({why})" for why, t in sorted(total.dropped.items())]
    parts += [f"{total.quarantined.documents} quarantined"] * bool(total.quarantined.documents)
    return (
        f"no document is left after filters and deduplication: {total.read.documents} records "
        f"read, {', '.join(parts)}{''.join(damaged)}: look at the filters of the catalog, or give "
        "more text"
    )


def _ledger_rows(
    cleaned: Sequence[stage.Done], documents: placing.Documents, taken_N: np.ndarray
) -> list[ledger.Row]:
    """Every input's row, completed by what happened after cleaning; each is checked."""
    rows = _rows_after_cleaning(cleaned)
    by_name = {row.input: row for row in rows}
    for first, part in index.numbered_parts(cleaned, ("input", "bytes")):
        here = slice(first, first + part.num_rows)
        fate = np.where(taken_N[here] > 0, len(deduplicate.KINDS), documents.kind[here])
        _count(by_name, part, fate)
    for row in rows:
        row.check()
    return rows


def _count(by_name: dict[str, ledger.Row], part: pa.RecordBatch, fate: np.ndarray) -> None:
    """Add a part's documents to their inputs' rows: kept, copies by kind, or left out (0)."""
    names, sizes = part["input"].dictionary_encode(), part["bytes"].to_numpy()
    inputs, codes = names.dictionary.to_pylist(), names.indices.to_numpy().astype(np.int64)
    fates = len(deduplicate.KINDS) + 1
    both = codes * fates + fate
    documents = np.bincount(both, minlength=len(inputs) * fates).reshape(-1, fates)
    size = np.zeros(documents.size, np.int64)
    np.add.at(size, both, sizes)
    for name, counts, amounts in zip(inputs, documents, size.reshape(-1, fates), strict=True):
        row = by_name[name]
        for number in np.flatnonzero(counts).tolist():
            tally = _tally(row, number)
            tally.add(int(amounts[number]), int(counts[number]))


def _tally(row: ledger.Row, fate: int) -> ledger.Tally:
    if fate == len(deduplicate.KINDS):
        return row.kept
    if fate == 0:
        return row.dropped.setdefault(placing.MIXTURE_REASON, ledger.Tally())
    return row.duplicates.setdefault(deduplicate.KINDS[fate], ledger.Tally())
