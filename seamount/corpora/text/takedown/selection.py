"""Which lines of a corpus an exclusion takes away, as rows of documents.parquet."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seamount.core import registry
from seamount.core.errors import UserError
from seamount.core.wording import one_line
from seamount.corpora.text import document_index, located
from seamount.corpora.text.takedown.rule import Rule

_COPY = re.compile(r"(.+)#([2-9]|[1-9]\d+)", re.DOTALL)
_IDENTITY = ("input", "source", "digest", "component")


@dataclass(frozen=True)
class Selection:
    """`rows` of documents.parquet to go, in the corpus's order; ids that stay though their text is
    the same as that of one that goes; ids asked for that are not there.
    """

    rows: pa.Table
    same_text: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    lines: dict[str, np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", _lines(self.rows))


def select(url: str, content: dict[str, Any], rule: Rule) -> Selection:
    """The lines of the corpus in `url` (with manifest `content`) that `rule` takes.

    A document goes with its copies by epochs. Only a `match` reads shards. Raises UserError for a
    component that the corpus does not have.
    """
    if rule.match is not None:
        return _by_text(url, content, rule)
    if rule.components:
        return Selection(rows_with(url, "component", rule.components))
    return _by_id(url, content, rule)


def check_components(content: dict[str, Any], rule: Rule) -> None:
    """Raise UserError for a component that is neither there nor was."""
    before = {n for one in content.get("exclusions", ()) for n in one["components"]}
    known = sorted({*content["components"], *before})
    for name in rule.components:
        if name not in known:
            raise registry.unknown("component", one_line(name), [one_line(n) for n in known])


def base_of(name: str) -> str | None:
    """The id of which `name` can be a copy by epochs (`x` for `x#2`)."""
    found = _COPY.fullmatch(name)
    return found[1] if found else None


def copies_among(rows: pa.Table) -> list[bool]:
    """For each row whether it is a copy by epochs of another of these rows."""
    columns = [rows[name].to_pylist() for name in ("id", *_IDENTITY)]
    there = set(zip(*columns, strict=True))
    return [
        (base := base_of(name)) is not None and (base, *rest) in there
        for name, *rest in zip(*columns, strict=True)
    ]


def is_repeated(content: dict[str, Any]) -> bool:
    """Whether the corpus holds copies by epochs at all."""
    return bool(content["copies"]["documents"])


def _by_id(url: str, content: dict[str, Any], rule: Rule) -> Selection:
    named = rows_with(url, "id", rule.ids)
    found = set(named["id"].to_pylist())
    absent = tuple(name for name in rule.ids if name not in found)
    alike = rows_with(url, "digest", tuple(set(named["digest"].to_pylist())))
    bases = set(found)
    if is_repeated(content):
        bases |= {base for name in found if (base := base_of(name)) is not None}
    identities = set(_identities(named))
    goes = []
    for name, identity in zip(alike["id"].to_pylist(), _identities(alike), strict=True):
        copy = is_repeated(content) and base_of(name) in bases and identity in identities
        original = name in found or (name in bases and identity in identities)
        goes.append(original or copy)
    mask = pa.array(goes, pa.bool_())
    return Selection(
        alike.filter(mask), tuple(alike.filter(pc.invert(mask))["id"].to_pylist()), absent
    )


def _identities(rows: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(rows[name].to_pylist() for name in _IDENTITY), strict=True))


def _by_text(url: str, content: dict[str, Any], rule: Rule) -> Selection:
    wanted = {}
    for shard in content["shards"]:
        found = [
            one.line
            for one in located.in_shard(url, shard["path"])
            if rule.takes(one.document.component, one.document.id, one.document.text)
        ]
        if found:
            wanted[shard["path"]] = np.array(found, np.int64)
    parts = (batch.filter(pa.array(chosen(batch, wanted))) for batch in document_index.batches(url))
    return Selection(_table(url, [part for part in parts if part.num_rows]))


def chosen(batch: pa.RecordBatch, lines: dict[str, np.ndarray]) -> np.ndarray:
    """bool [rows]: whether each row's line is among `lines` (sorted, by shard)."""
    mask = np.zeros(batch.num_rows, np.bool_)
    shards, places = batch.column("shard"), batch.column("line").to_numpy()
    for shard in pc.unique(shards).to_pylist():
        if shard in lines:
            here = pc.equal(shards, shard).to_numpy(zero_copy_only=False)
            mask |= here & np.isin(places, lines[shard])
    return mask


def rows_with(url: str, column: str, values: tuple[str, ...]) -> pa.Table:
    """Rows of documents.parquet whose `column` has one of `values`, in the corpus's order."""
    wanted = pa.array(values, pa.string())
    parts = []
    for batch in document_index.batches(url):
        names = pc.cast(batch.column(column), pa.string())
        part = batch.filter(pc.is_in(names, value_set=wanted))
        if part.num_rows:
            parts.append(part)
    return _table(url, parts)


def _table(url: str, parts: list[pa.RecordBatch]) -> pa.Table:
    with document_index.opened(url) as file:
        return pa.Table.from_batches(parts, file.schema_arrow)


def _lines(rows: pa.Table) -> dict[str, np.ndarray]:
    found: dict[str, list[int]] = {}
    for shard, line in zip(rows["shard"].to_pylist(), rows["line"].to_pylist(), strict=True):
        found.setdefault(shard, []).append(line)
    return {shard: np.sort(np.array(lines, np.int64)) for shard, lines in found.items()}


def found_or_excluded(selection: Selection, gone: set[str]) -> None:
    """Raise UserError for ids that neither stand in the corpus nor were excluded before."""
    unknown = [name for name in selection.absent if name not in gone]
    if unknown:
        shown = ", ".join(one_line(name, 80) for name in unknown[:5])
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise UserError(f"no document has the id {shown}{more}: look with `seamount corpus find`")
