"""Stage 2: which documents are copies of which; no text is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seamount.core import storage
from seamount.corpora.text.dedupe import matching, survivors
from seamount.corpora.text.stages import index, stage

TABLE, DUPLICATES = "copies.parquet", "duplicates.parquet"
KINDS = ("", "exact", "near")
_ALARM_SHARE = 0.5
_ALARM_CLUSTER = 1_000
_TABLE_SCHEMA = pa.schema({"kind": pa.uint8(), "group": pa.int64()})
_DUPLICATES_SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "component": pa.string(),
        "digest": pa.string(),
        "source": pa.string(),
        "input": pa.string(),
        "bytes": pa.int64(),
        "kind": pa.string(),
        "kept_id": pa.string(),
        "similarity": pa.float64(),
    }
)


def dedupe(cleaned: Sequence[stage.Done], rules: stage.Rules, work: str) -> stage.Done:
    """Find copies among all cleaned documents, into WORK/dedupe/<key>/.

    copies.parquet has a row for each in the order of reading: `kind` (0 kept, 1 exact, 2 near) and
    `group` (what must stay in one split); duplicates.parquet one for each copy, with the id of the
    document kept in its place.
    """
    key = stage.combined_key("dedupe", [d.folder for d in cleaned])
    folder = storage.join(work, "dedupe", key)
    return stage.run(folder, lambda where: _Dedupe(cleaned, rules).run(where))


class _Dedupe:
    def __init__(self, cleaned: Sequence[stage.Done], rules: stage.Rules) -> None:
        self.cleaned, self.rules = cleaned, rules
        self.files = index.open_bands(cleaned)
        self.before: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()

    def run(self, where: str) -> dict[str, Any]:
        scratch = str(storage.local_path(where)) if storage.is_local(where) else None
        storage.make_folder(where)
        near = self.rules.dedupe == "near"
        with matching.opened_sketches(self.files if near else [], scratch) as sketches:
            copies = matching.find(self.files, sketches if near else None)
            found = self._survivors(copies)
            self._write(where, copies, *found, sketches)
        largest = 0 if self.rules.dedupe == "none" else int(np.bincount(copies.same).max(initial=0))
        return {
            "documents": self.kept["documents"],
            "bytes": self.kept["bytes"],
            "compared": copies.compared,
            "alarms": self._alarms(largest),
            "largest_cluster": largest or min(1, self.kept["documents"]),
        }

    def _survivors(self, copies: matching.Copies) -> tuple[np.ndarray, np.ndarray, pa.Table]:
        """The survivor among each one's equal texts, and among all its copies; and their ids."""
        if self.rules.dedupe == "none":
            alone = np.arange(len(copies.same))
            return alone, alone, survivors.choose(alone, [], self._priority)
        of_exact = survivors.choose(copies.exact, self._ids(), self._priority)
        of_all = survivors.choose(copies.same, self._ids(), self._priority)
        exact = survivors.survivor_of(copies.exact, of_exact)
        return exact, survivors.survivor_of(copies.same, of_all), of_all.sort_by("number")

    def _ids(self) -> Any:
        return index.numbered_parts(self.cleaned, ("id", "component"))

    def _priority(self, component: str) -> int:
        return self.rules.catalog.component(component).priority

    def _write(
        self,
        where: str,
        copies: matching.Copies,
        exact: np.ndarray,
        same: np.ndarray,
        chosen: pa.Table,
        sketches: np.ndarray,
    ) -> None:
        with (
            storage.atomic_write(storage.join(where, TABLE)) as stream,
            pq.ParquetWriter(stream, _TABLE_SCHEMA, compression="zstd") as table,
            storage.atomic_write(storage.join(where, DUPLICATES)) as stream_of_copies,
            pq.ParquetWriter(stream_of_copies, _DUPLICATES_SCHEMA, compression="zstd") as removed,
        ):
            for first, part in index.numbered_parts(self.cleaned, index.SCHEMA.names):
                here = slice(first, first + part.num_rows)
                number = np.arange(first, first + part.num_rows)
                kind = np.where(same[here] == number, 0, np.where(exact[here] == number, 2, 1))
                group = copies.group[here].astype(np.int64)
                arrays = [pa.array(kind.astype(np.uint8)), pa.array(group)]
                table.write_table(pa.table(arrays, schema=_TABLE_SCHEMA))
                self._count(part, kind)
                gone = np.flatnonzero(kind)
                if len(gone):
                    kept = same[gone + first].astype(np.int64)
                    likeness = np.ones(len(gone))
                    near = kind[gone] == 2
                    if near.any():
                        pairs = gone[near] + first, kept[near]
                        likeness[near] = matching.similarities(sketches, *pairs)
                    removed.write_table(_removed(part, gone, kind, kept, chosen, likeness))

    def _count(self, part: pa.RecordBatch, kind: np.ndarray) -> None:
        names = part["component"].dictionary_encode()
        sizes, codes = part["bytes"].to_numpy(), names.indices.to_numpy()
        for code, name in enumerate(names.dictionary.to_pylist()):
            mine = codes == code
            self.before[name] += int(sizes[mine].sum())
            self.lost[name] += int(sizes[mine & (kind > 0)].sum())
        self.kept["documents"] += int((kind == 0).sum())
        self.kept["bytes"] += int(sizes[kind == 0].sum())

    def _alarms(self, largest: int) -> list[str]:
        """What a person should look at: a source mostly of copies, a cluster out of bounds."""
        alarms = [
            f"{name} loses {self.lost[name] / self.before[name]:.0%} of its bytes as copies"
            for name in sorted(self.before)
            if self.lost[name] > _ALARM_SHARE * self.before[name]
        ]
        if largest > _ALARM_CLUSTER:
            alarms.append(f"{largest} documents are copies of one another, directly or by steps")
        return alarms


def _removed(
    part: pa.RecordBatch,
    gone: np.ndarray,
    kind: np.ndarray,
    kept: np.ndarray,
    chosen: pa.Table,
    similarity: np.ndarray,
) -> pa.Table:
    """Rows of duplicates.parquet for documents `gone` of a part; `chosen` is sorted by number."""
    rows = part.take(pa.array(gone))
    at = np.searchsorted(chosen["number"].to_numpy(), kept)
    columns = {
        **{n: rows[n] for n in ("id", "component", "source", "input", "bytes")},
        "digest": [digest.hex() for digest in rows["digest"].to_pylist()],
        "kind": [KINDS[code] for code in kind[gone]],
        "kept_id": chosen["id"].take(pa.array(at)).combine_chunks(),
        "similarity": similarity,
    }
    return pa.table([columns[name] for name in _DUPLICATES_SCHEMA.names], schema=_DUPLICATES_SCHEMA)
