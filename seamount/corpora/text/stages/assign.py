"""Stages 2 and 3: which documents are copies, and where each of the others goes.

They run once, in one process, over the index rows of all batches (no text is read).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.corpora.text import ledger, split
from seamount.corpora.text.dedupe import clusters, minhash
from seamount.corpora.text.stages import placing, stage
from seamount.corpora.text.stages.clean import INDEX

TABLE, DOCUMENTS = "table.parquet", "documents.parquet"
_ALARM_SHARE = 0.5
_ALARM_CLUSTER = 1_000
_HIDDEN = ("signature", "priority")


def dedupe(cleaned: Sequence[stage.Done], rules: stage.Rules, work: str) -> stage.Done:
    """Find copies among all cleaned documents, into WORK/dedupe/<key>/.

    table.parquet has a row for each, in the order of survival, with `cluster` (row number of the
    survivor), `kind` ("", "exact" or "near") and `group` (what must stay in one split).
    """
    key = stage.combined_key("dedupe", [d.folder for d in cleaned])
    folder = storage.join(work, "dedupe", key)
    return stage.run(folder, lambda where: _dedupe([d.folder for d in cleaned], rules, where))


def _dedupe(folders: list[str], rules: stage.Rules, where: str) -> dict[str, Any]:
    table = _in_order_of_survival(folders, rules)
    exact = clusters.exact_pairs(np.array(table["digest"].to_pylist(), dtype="S16"))
    near, leak = _near_pairs(table, rules)
    size = table.num_rows
    first = clusters.join(size, exact)
    same = {
        "none": np.arange(size),
        "exact": first,
        "near": clusters.join(size, np.concatenate([exact, near])),
    }[rules.dedupe]
    copy = same != np.arange(size)
    kind = np.where(copy, np.where(first != np.arange(size), "exact", "near"), "")
    group = clusters.join(size, np.concatenate([exact, leak]))
    for name, column in (("cluster", same), ("kind", kind), ("group", group)):
        table = table.append_column(name, pa.array(column))
    _write(table.drop_columns(list(_HIDDEN)), storage.join(where, TABLE))
    kept = table.filter(pc.equal(table["kind"], ""))
    return {
        "documents": kept.num_rows,
        "bytes": pc.sum(kept["size_bytes"]).as_py() or 0,
        "alarms": _alarms(table, same),
        "largest_cluster": int(np.bincount(same).max(initial=0)),
    }


def _in_order_of_survival(folders: list[str], rules: stage.Rules) -> pa.Table:
    """All index rows by (component priority, id, input, row), so that the best copy comes first."""
    parts = []
    for number, folder in enumerate(folders):
        with storage.open_read(storage.join(folder, INDEX)) as stream:
            part = pq.read_table(stream)
        part = part.append_column("batch", pa.array(np.full(part.num_rows, number)))
        parts.append(part.append_column("row", pa.array(np.arange(part.num_rows))))
    table = pa.concat_tables(parts)
    priority = [rules.catalog.component(name).priority for name in table["component"].to_pylist()]
    table = table.append_column("priority", pa.array(priority, pa.int64()))
    keys = [(name, "ascending") for name in ("priority", "id", "input", "row")]
    return table.sort_by(keys)


def _near_pairs(table: pa.Table, rules: stage.Rules) -> tuple[np.ndarray, np.ndarray]:
    none = np.empty((0, 2), np.int64)
    if rules.dedupe != "near" or table.num_rows == 0:
        return none, none
    flat = np.frombuffer(b"".join(table["signature"].to_pylist()), np.uint32)
    signatures = flat.reshape(table.num_rows, minhash.HASHES)
    leak, similarity = clusters.similar_pairs(signatures, clusters.LEAK)
    return leak[similarity >= clusters.SAME], leak


def _alarms(table: pa.Table, same: np.ndarray) -> list[str]:
    """What a person should look at: a source that is mostly copies, a cluster out of bounds."""
    before: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    columns = (table[n].to_pylist() for n in ("component", "size_bytes", "kind"))
    for component, size, kind in zip(*columns, strict=True):
        before[component] += size
        lost[component] += size if kind else 0
    alarms = [
        f"{name} loses {lost[name] / before[name]:.0%} of its bytes as copies"
        for name in sorted(before)
        if lost[name] > _ALARM_SHARE * before[name]
    ]
    largest = int(np.bincount(same).max(initial=0))
    if largest > _ALARM_CLUSTER:
        alarms.append(f"{largest} documents are copies of one another, directly or by steps")
    return alarms


def mix_and_split(
    cleaned: Sequence[stage.Done], deduped: stage.Done, rules: stage.Rules, work: str
) -> stage.Done:
    """Give every document its split, shard and place, into WORK/mix/<key>/.

    <batch number>.parquet says it for the rows of one batch, documents.parquet for the corpus, and
    result.json has the shards, the mixture's certificate and the ledger's rows.
    """
    folder = storage.join(work, "mix", stage.combined_key("mix", deduped.folder))
    rows = [d.folder for d in cleaned]
    return stage.run(folder, lambda where: _mix_and_split(rows, deduped, rules, where))


def _mix_and_split(
    cleaned: list[str], deduped: stage.Done, rules: stage.Rules, where: str
) -> dict[str, Any]:
    with storage.open_read(storage.join(deduped.folder, TABLE)) as stream:
        table = pq.read_table(stream)
    documents = placing.Documents(table, rules)
    if not documents.kept:
        raise UserError(_nothing_left(cleaned))
    plan = placing.place(documents, rules)
    rows = _ledger_rows(cleaned, table, plan.reasons)
    _write(plan.documents, storage.join(where, DOCUMENTS))
    for batch in range(len(cleaned)):
        part = plan.rows.filter(pc.equal(plan.rows["batch"], batch))
        _write(part.drop_columns(["batch"]), storage.join(where, f"{batch}.parquet"))
    return {
        "documents": plan.documents.num_rows,
        "bytes": pc.sum(plan.documents["bytes"]).as_py(),
        "shards": plan.shards,
        "mixture": plan.certificate,
        "ledger": [ledger.row_to_dict(row) for row in rows],
        "splits": {s: plan.splits.count(s) for s in split.SPLITS},
    }


def _nothing_left(cleaned: list[str]) -> str:
    """The sentence for a build without documents; with none left, none can be a copy of another."""
    rows = [ledger.row_from_dict(r) for f in cleaned for r in stage.result_of(f)["rows"]]
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


def _ledger_rows(cleaned: list[str], table: pa.Table, reasons: list[str]) -> list[ledger.Row]:
    """Every input's row, completed by what happened after cleaning; each is checked."""
    rows = [ledger.row_from_dict(r) for f in cleaned for r in stage.result_of(f)["rows"]]
    by_name = {row.input: row for row in rows}
    columns = (table[n].to_pylist() for n in ("input", "size_bytes", "kind"))
    for name, size, kind, reason in zip(*columns, reasons, strict=True):
        row = by_name[name]
        if kind:
            row.duplicate(kind, size)
        elif reason:
            row.drop(reason, size)
        else:
            row.kept.add(size)
    for row in rows:
        row.check()
    return rows


def _write(table: pa.Table, url: str) -> None:
    with storage.atomic_write(url) as stream:
        pq.write_table(table, stream, compression="zstd")
