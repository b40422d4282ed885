"""Where each surviving document goes: mixture, split, shard and line, all by hashes of its id."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import xxhash

from seamount.corpora.text import mixture, split
from seamount.corpora.text.stages import stage

MIXTURE_REASON = "mixture: beyond the component's share"


class Documents:
    """The deduplicated table as columns; `kept` are the survivors' row numbers in hash order."""

    def __init__(self, table: pa.Table, rules: stage.Rules) -> None:
        self.table, self.seed = table, rules.seed
        self.id = table["id"].to_pylist()
        self.component = table["component"].to_pylist()
        self.bytes = table["size_bytes"].to_pylist()
        self.group = table["group"].to_pylist()
        kinds = table["kind"].to_pylist()
        survivors = [i for i, kind in enumerate(kinds) if not kind]
        self.kept = sorted(survivors, key=lambda i: (self.hash(i, 0), self.id[i], i))

    def hash(self, index: int, copy: int) -> int:
        """The number by which a document (and each copy of it) is put in order."""
        return xxhash.xxh3_64_intdigest(f"{self.seed}\0{copy}\0{self.id[index]}".encode())

    def supply(self, rules: stage.Rules) -> dict[str, mixture.Supply]:
        """What there is of each component."""
        there: dict[str, int] = defaultdict(int)
        for i in self.kept:
            there[self.component[i]] += self.bytes[i]
        described = {name: rules.catalog.component(name) for name in sorted(there)}
        if rules.catalog.mixture == "natural":
            return {n: mixture.Supply(there[n]) for n in described}
        return {n: mixture.Supply(there[n], c.epochs, c.weight) for n, c in described.items()}


@dataclass(frozen=True)
class Plan:
    """`rows` (batch, row, copy, shard, line or reason), `documents` (a row for each line of the
    corpus), `shards` (path, split and what must be in them), why others are left out.
    """

    rows: pa.Table
    documents: pa.Table
    shards: list[dict[str, Any]]
    certificate: dict[str, Any]
    reasons: list[str]
    splits: list[str]


def place(documents: Documents, rules: stage.Rules) -> Plan:
    """Decide everything about the surviving documents."""
    supply = documents.supply(rules)
    wanted = mixture.targets(supply, rules.catalog.mixture, rules.total_bytes)
    splits = _splits(documents, supply, wanted, rules)
    copies = _copies(documents, splits, wanted)
    placed = [(i, c) for i in documents.kept for c in range(copies[i])]
    lines, shards = _shards(documents, placed, splits, rules.shard_bytes)
    achieved: dict[str, int] = defaultdict(int)
    for i, _ in placed:
        achieved[documents.component[i]] += documents.bytes[i]
    reasons = [""] * len(documents.id)
    for i in documents.kept:
        reasons[i] = "" if copies[i] else MIXTURE_REASON
    return Plan(
        rows=_rows(documents, lines, reasons),
        documents=_table(documents, lines, shards),
        shards=shards,
        certificate=mixture.certificate(supply, wanted, achieved, rules.catalog.weights()),
        reasons=reasons,
        splits=[shards[shard]["split"] for _, _, shard, _ in lines],
    )


def _splits(
    documents: Documents,
    supply: dict[str, mixture.Supply],
    wanted: dict[str, float],
    rules: stage.Rules,
) -> dict[int, str]:
    kept = documents.kept
    names = split.assign(
        components=[documents.component[i] for i in kept],
        sizes=[documents.bytes[i] for i in kept],
        groups=[documents.group[i] for i in kept],
        order=range(len(kept)),
        budgets={name: min(wanted[name], s.bytes) for name, s in supply.items()},
        shares={"val": rules.val_share, "test": rules.test_share},
    )
    return dict(zip(kept, names, strict=True))


def _copies(documents: Documents, splits: dict[int, str], wanted: dict[str, float]) -> list[int]:
    """How often each document is taken: held-out ones once, training ones to meet the target."""
    taken = [0] * len(documents.id)
    training: dict[str, list[int]] = defaultdict(list)
    held_out: dict[str, int] = defaultdict(int)
    for i in documents.kept:
        if splits[i] == "train":
            training[documents.component[i]].append(i)
        else:
            taken[i] = 1
            held_out[documents.component[i]] += documents.bytes[i]
    for component, members in training.items():
        rest = max(0.0, wanted[component] - held_out[component])
        counts = mixture.copies([documents.bytes[i] for i in members], rest)
        for i, count in zip(members, counts, strict=True):
            taken[i] = count
    return taken


_Line = tuple[int, int, int, int]  # document, copy, shard, line


def _shards(
    documents: Documents,
    placed: list[tuple[int, int]],
    splits: dict[int, str],
    shard_bytes: int,
) -> tuple[list[_Line], list[dict[str, Any]]]:
    """Shuffle each split by hash; train is cut into shards of equal bytes, the others are whole."""
    lines: list[_Line] = []
    shards: list[dict[str, Any]] = []
    for name in split.SPLITS:
        members = [(i, c) for i, c in placed if splits[i] == name]
        members.sort(key=lambda m: (documents.hash(m[0], m[1] + 1), documents.id[m[0]], m))
        total = sum(documents.bytes[i] for i, _ in members)
        count = max(1, -(-total // shard_bytes)) if name == "train" else 1
        offset, before = len(shards), 0
        shards += [_shard(name, number, count) for number in range(count)]
        for i, copy in members:
            number = offset + min(count - 1, before * count // max(1, total))  # empty ones count 0
            shard = shards[number]
            lines.append((i, copy, number, shard["documents"]))
            shard["documents"] += 1
            shard["bytes"] += documents.bytes[i]
            before += documents.bytes[i]
    return lines, shards


def _shard(name: str, number: int, count: int) -> dict[str, Any]:
    width = max(2, len(str(count - 1)))
    path = f"train/{number:0{width}d}.jsonl.zst" if name == "train" else f"{name}.jsonl.zst"
    return {"path": path, "split": name, "documents": 0, "bytes": 0}


def _rows(documents: Documents, lines: list[_Line], reasons: list[str]) -> pa.Table:
    """What the scatter stage must do with each row of each batch, in row order."""
    batch, row = documents.table["batch"].to_pylist(), documents.table["row"].to_pylist()
    kinds = documents.table["kind"].to_pylist()
    work = [(batch[i], row[i], copy, shard, line, "") for i, copy, shard, line in lines]
    for i, reason in enumerate(reasons):
        if reason or kinds[i]:
            work.append((batch[i], row[i], 0, -1, -1, reason or f"{kinds[i]} duplicate"))
    work.sort()
    names = ("batch", "row", "copy", "shard", "line", "reason")
    columns = list(zip(*work, strict=True))
    return pa.table(dict(zip(names, map(list, columns), strict=True)))


def _table(documents: Documents, lines: list[_Line], shards: list[dict[str, Any]]) -> pa.Table:
    """documents.parquet: one row for each line of the corpus, in the corpus's order."""
    table = documents.table.take([i for i, _, _, _ in lines])
    digests = [d.hex() for d in table["digest"].to_pylist()]
    ids = [copy_id(documents.id[i], copy) for i, copy, _, _ in lines]
    return pa.table(
        {
            "id": ids,
            "component": table["component"],
            "digest": digests,
            "source": table["source"],
            "input": table["input"],
            "split": [shards[shard]["split"] for _, _, shard, _ in lines],
            "shard": [shards[shard]["path"] for _, _, shard, _ in lines],
            "line": [line + 1 for _, _, _, line in lines],
            "bytes": table["size_bytes"],
        }
    )


def copy_id(name: str, copy: int) -> str:
    """Id of the n-th copy (from 0) of a document that is repeated by its epochs."""
    return name if copy == 0 else f"{name}#{copy + 1}"
