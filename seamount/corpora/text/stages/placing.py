"""Where each surviving document goes: mixture, split, shard and line, all by hashes of its id.

Everything is arrays over documents, numbered as they were read. Legend: N documents, S survivors
in hash order, P placed lines (a survivor as often as the mixture takes it).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from seamount.core import storage
from seamount.corpora.text import mixture, split
from seamount.corpora.text.stages import deduplicate, held_out, index, stage

MIXTURE_REASON = "mixture: beyond the component's share"
_MIX_1, _MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)  # MurmurHash3
_SHIFT = np.uint64(33)


@dataclass(frozen=True)
class Documents:
    """Columns over all documents [N]; `names` are the components that `component` numbers."""

    names: list[str]
    component: np.ndarray
    bytes: np.ndarray
    order: np.ndarray
    kind: np.ndarray
    group: np.ndarray

    @classmethod
    def load(cls, cleaned: Sequence[stage.Done], deduped: stage.Done) -> Documents:
        """Read them from the batches' indexes and from what deduplication found."""
        size = sum(done.documents for done in cleaned)
        component, order = np.empty(size, np.uint16), np.empty(size, np.uint64)
        sizes, known = np.empty(size, np.int64), {}  # type: ignore[var-annotated]
        for first, part in index.numbered_parts(cleaned, ("component", "bytes", "order")):
            here = slice(first, first + part.num_rows)
            names = part["component"].dictionary_encode()
            codes = [known.setdefault(n, len(known)) for n in names.dictionary.to_pylist()]
            component[here] = np.array(codes, np.uint16)[names.indices.to_numpy()]
            sizes[here], order[here] = part["bytes"].to_numpy(), part["order"].to_numpy()
        kind, group = np.empty(size, np.uint8), np.empty(size, _number_type(size))
        first = 0
        with storage.open_read(storage.join(deduped.folder, deduplicate.TABLE)) as stream:
            for part in pq.ParquetFile(stream).iter_batches(index.SEGMENT):
                here = slice(first, first + part.num_rows)
                kind[here], group[here] = part["kind"].to_numpy(), part["group"].to_numpy()
                first += part.num_rows
        return cls(list(known), component, sizes, order, kind, group)

    def supply(self, rules: stage.Rules) -> dict[str, mixture.Supply]:
        """What there is of each component."""
        kept = self.kind == 0
        there = np.zeros(len(self.names), np.int64)
        np.add.at(there, self.component[kept], self.bytes[kept])
        present = np.bincount(self.component[kept], minlength=len(self.names)) > 0
        sizes = {name: int(there[i]) for i, name in enumerate(self.names) if present[i]}
        described = {name: rules.catalog.component(name) for name in sorted(sizes)}
        if rules.catalog.mixture == "natural":
            return {n: mixture.Supply(sizes[n]) for n in described}
        return {n: mixture.Supply(sizes[n], c.epochs, c.weight) for n, c in described.items()}


@dataclass(frozen=True)
class Plan:
    """Placed lines [P], sorted by document and copy: their document, copy, shard and line; how
    often each document is taken [N]; the shards (path, split, what must be in them).
    """

    document: np.ndarray
    copy: np.ndarray
    shard: np.ndarray
    line: np.ndarray
    taken: np.ndarray
    shards: list[dict[str, Any]]
    certificate: dict[str, Any]

    def rows(self, kind: np.ndarray, first: int, size: int) -> pa.Table:
        """What the scatter stage must do with each row of a batch of `size` documents."""
        low, high = np.searchsorted(self.document, (first, first + size))
        here = slice(first, first + size)
        gone = np.flatnonzero(self.taken[here] == 0)
        kinds = kind[here][gone]
        reason = np.r_[np.zeros(high - low, np.int8), np.where(kinds > 0, kinds, 3).astype(np.int8)]
        nowhere = np.full(len(gone), -1)
        row = np.r_[self.document[low:high] - first, gone]
        copy = np.r_[self.copy[low:high], np.zeros(len(gone), np.int32)]
        order = np.lexsort((copy, row))
        texts = ["", *(f"{name} duplicate" for name in deduplicate.KINDS[1:]), MIXTURE_REASON]
        return pa.table(
            {
                "row": row[order],
                "copy": copy[order],
                "shard": np.r_[self.shard[low:high], nowhere][order],
                "line": np.r_[self.line[low:high], nowhere][order],
                "reason": pa.DictionaryArray.from_arrays(reason[order], texts),
            }
        )


def _number_type(size: int) -> Any:
    return np.int32 if size < 1 << 31 else np.int64


def shuffled(order_N: np.ndarray, seed: int, copy: int) -> np.ndarray:
    """The numbers [N] by which documents (each copy of them anew) are put in order."""
    salt = np.uint64(xxhash.xxh3_64_intdigest(f"{seed}\0{copy}".encode()))
    value = order_N ^ salt
    for factor in (_MIX_1, _MIX_2):
        value ^= value >> _SHIFT
        value *= factor
    value ^= value >> _SHIFT
    return value


def place(documents: Documents, rules: stage.Rules) -> Plan:
    """Decide everything about the surviving documents."""
    survivors_S = np.flatnonzero(documents.kind == 0).astype(_number_type(len(documents.kind)))
    keys = shuffled(documents.order[survivors_S], rules.seed, 0)
    survivors_S = survivors_S[np.argsort(keys, kind="stable")]
    supply = documents.supply(rules)
    wanted = mixture.targets(supply, rules.catalog.mixture, rules.total_bytes)
    splits_S = _splits(documents, survivors_S, supply, wanted, rules)
    taken_S = _taken(documents, survivors_S, splits_S, wanted)
    document, copy, shard, line, shards = _lines(documents, survivors_S, splits_S, taken_S, rules)
    by_row = np.lexsort((copy, document))
    taken = np.zeros(len(documents.kind), np.int32)
    taken[survivors_S] = taken_S
    achieved = np.zeros(len(documents.names), np.int64)
    np.add.at(achieved, documents.component[document], documents.bytes[document])
    got = dict(zip(documents.names, achieved.tolist(), strict=True))
    certificate = mixture.certificate(supply, wanted, got, rules.catalog.weights())
    return Plan(
        document=document[by_row],
        copy=copy[by_row],
        shard=shard[by_row],
        line=line[by_row],
        taken=taken,
        shards=shards,
        certificate=certificate,
    )


def _splits(
    documents: Documents,
    survivors_S: np.ndarray,
    supply: dict[str, mixture.Supply],
    wanted: dict[str, float],
    rules: stage.Rules,
) -> np.ndarray:
    return held_out.assign(
        components=documents.component[survivors_S],
        sizes=documents.bytes[survivors_S],
        groups=documents.group[survivors_S],
        budgets={
            documents.names.index(name): min(wanted[name], s.bytes) for name, s in supply.items()
        },
        shares={"val": rules.val_share, "test": rules.test_share},
    )


def _taken(
    documents: Documents, survivors_S: np.ndarray, splits_S: np.ndarray, wanted: dict[str, float]
) -> np.ndarray:
    """How often each document is taken: held-out ones once, training ones to meet the target."""
    taken = np.ones(len(survivors_S), np.int32)
    training = splits_S == split.SPLITS.index("train")
    component, sizes = documents.component[survivors_S], documents.bytes[survivors_S]
    for code, name in enumerate(documents.names):
        mine = component == code
        if name not in wanted:
            continue
        held_out = int(sizes[mine & ~training].sum())
        members = np.flatnonzero(mine & training)
        taken[members] = mixture.copies(sizes[members], max(0.0, wanted[name] - held_out))
    return taken


def _lines(
    documents: Documents,
    survivors_S: np.ndarray,
    splits_S: np.ndarray,
    taken_S: np.ndarray,
    rules: stage.Rules,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
    """Shuffle each split by hash; train is cut into shards of equal bytes, the others are whole."""
    parts = []
    shards: list[dict[str, Any]] = []
    for code, name in enumerate(split.SPLITS):
        members = np.flatnonzero(splits_S == code)
        document = np.repeat(survivors_S[members], taken_S[members])
        copy = _count_within(taken_S[members])
        order = np.lexsort((copy, document, _copy_keys(documents, document, copy, rules.seed)))
        document, copy = document[order], copy[order]
        sizes = documents.bytes[document]
        total = int(sizes.sum())
        count = max(1, -(-total // rules.shard_bytes)) if name == "train" else 1
        before = np.cumsum(sizes) - sizes
        number = np.minimum(count - 1, before * count // max(1, total)).astype(np.int32)
        found = np.bincount(number, minlength=count)
        line = np.arange(len(number)) - (np.cumsum(found) - found)[number]
        held = np.zeros(count, np.int64)
        np.add.at(held, number, sizes)
        parts.append((document, copy, number + np.int32(len(shards)), line))
        shards += [_shard(name, n, count, int(found[n]), int(held[n])) for n in range(count)]
    return *(np.concatenate(column) for column in zip(*parts, strict=True)), shards  # type: ignore[return-value]


def _count_within(counts: np.ndarray) -> np.ndarray:
    """0 .. n-1 for every count n, one after another."""
    ends = np.cumsum(counts)
    return (np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)).astype(
        np.int32
    )


def _copy_keys(
    documents: Documents, document: np.ndarray, copy: np.ndarray, seed: int
) -> np.ndarray:
    keys = documents.order[document]
    for number in range(int(copy.max(initial=-1)) + 1):
        mine = copy == number
        keys[mine] = shuffled(keys[mine], seed, number + 1)
    return keys


def _shard(name: str, number: int, count: int, documents: int, size: int) -> dict[str, Any]:
    width = max(2, len(str(count - 1)))
    path = f"train/{number:0{width}d}.jsonl.zst" if name == "train" else f"{name}.jsonl.zst"
    return {"path": path, "split": name, "documents": documents, "bytes": size}


def copy_id(name: str, copy: int) -> str:
    """Id of the n-th copy (from 0) of a document that is repeated by its epochs."""
    return name if copy == 0 else f"{name}#{copy + 1}"
