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
from seamount.corpora.text.stages import cuts, deduplicate, index, placing, stage

_KEPT = placing.EMPTIED + 1


def mix_and_split(
    cleaned: Sequence[stage.Done], deduped: stage.Done, rules: stage.Rules, work: str
) -> stage.Done:
    """Give every document its split, shard and place, into WORK/mix/<key>/.

    <batch number>.parquet says it for the rows of one batch, <batch number>-cuts.parquet what goes
    out of them where lines are deduped; result.json has the shards, the
    mixture's certificate and the ledger's rows. Memory: about 130 bytes a document.
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
    pieces = storage.join(deduped.folder, cuts.FILE_NAME)
    _divide_cuts(cleaned, pieces, where)
    rows_of_inputs = _ledger_rows(cleaned, documents, plan.taken, pieces)
    counts = {s: [x["documents"] for x in plan.shards if x["split"] == s] for s in split.SPLITS}
    return {
        "documents": len(plan.document),
        "bytes": sum(shard["bytes"] for shard in plan.shards),
        "shards": plan.shards,
        "mixture": plan.certificate,
        "alarms": _alarms(documents),
        "ledger": [ledger.row_to_dict(row) for row in rows_of_inputs],
        "splits": {name: sum(found) for name, found in counts.items()},
    }


def _alarms(documents: placing.Documents) -> list[str]:
    """Ids that more than one document has: they are found, traced and excluded together."""
    marks = np.sort(documents.order[documents.kind == 0])
    same = marks[1:] == marks[:-1]
    shared = int((np.r_[same, False] | np.r_[False, same]).sum()) if len(marks) else 0
    told = "documents share their id with another: find, trace and exclude take all of them"
    return [f"{shared} {told}"] if shared else []


def cuts_url(where: str, number: int) -> str:
    """What goes out of the documents of batch `number`."""
    return storage.join(where, f"{number}-{cuts.FILE_NAME}")


def _divide_cuts(cleaned: Sequence[stage.Done], url: str, where: str) -> None:
    """Give every batch its part of what is cut, numbered within the batch."""
    if not storage.exists(url):
        return
    reader, first = cuts.Reader(url), 0
    for number, done in enumerate(cleaned):
        last = first + done.documents
        cuts.write(cuts_url(where, number), (_from(p, first) for p in reader.until(last)))
        first = last


def _from(part: pa.RecordBatch, first: int) -> pa.RecordBatch:
    number = pa.array(part["number"].to_numpy() - first)
    return pa.record_batch([number, *part.columns[1:]], schema=cuts.SCHEMA)


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
    cleaned: Sequence[stage.Done], documents: placing.Documents, taken_N: np.ndarray, pieces: str
) -> list[ledger.Row]:
    """Every input's row, completed by what happened after cleaning; each is checked."""
    rows = _rows_after_cleaning(cleaned)
    by_name = {row.input: row for row in rows}
    reader = cuts.Reader(pieces)
    for first, part in index.numbered_parts(cleaned, ("input",)):
        here = slice(first, first + part.num_rows)
        fate = np.where(taken_N[here] > 0, _KEPT, documents.kind[here])
        names = part["input"].dictionary_encode()
        codes = names.indices.to_numpy().astype(np.int64)
        inputs = [by_name[name] for name in names.dictionary.to_pylist()]
        _count(inputs, codes, fate, documents.bytes[here])
        for cut in reader.until(here.stop):
            _count_cuts(inputs, codes[cut["number"].to_numpy() - first], cut)
    for row in rows:
        row.check()
    return rows


def _count(
    inputs: list[ledger.Row], codes: np.ndarray, fate: np.ndarray, sizes: np.ndarray
) -> None:
    """Add documents to the rows of their inputs: kept, copies by kind, or left out (0)."""
    fates = _KEPT + 1
    both = codes * fates + fate
    documents = np.bincount(both, minlength=len(inputs) * fates).reshape(-1, fates)
    size = np.zeros(documents.size, np.int64)
    np.add.at(size, both, sizes)
    for row, counts, amounts in zip(inputs, documents, size.reshape(-1, fates), strict=True):
        for number in np.flatnonzero(counts).tolist():
            tally = _tally(row, number)
            tally.add(int(amounts[number]), int(counts[number]))


def _count_cuts(inputs: list[ledger.Row], codes: np.ndarray, cut: pa.RecordBatch) -> None:
    """Add bytes that were cut out of documents to the rows of their inputs, by kind."""
    kinds = cut["kind"].dictionary_encode()
    for kind_code, kind in enumerate(kinds.dictionary.to_pylist()):
        mine = kinds.indices.to_numpy() == kind_code
        size = np.zeros(len(inputs), np.int64)
        np.add.at(size, codes[mine], cuts.lengths(cut)[mine])
        for at in np.unique(codes[mine]).tolist():
            inputs[at].edit(cuts.edit_name(kind), int(size[at]))


def _tally(row: ledger.Row, fate: int) -> ledger.Tally:
    if fate == _KEPT:
        return row.kept
    if fate == 0:
        return row.dropped.setdefault(placing.MIXTURE_REASON, ledger.Tally())
    if fate == placing.EMPTIED:
        return row.dropped.setdefault(placing.EMPTIED_REASON, ledger.Tally())
    return row.duplicates.setdefault(deduplicate.KINDS[fate], ledger.Tally())
