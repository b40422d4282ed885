"""The manifest and the lineage of a corpus after an exclusion; the account still adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from seamount.core import lineage, storage
from seamount.corpora.text import ledger
from seamount.corpora.text.takedown.rule import Rule
from seamount.corpora.text.takedown.selection import copies_among, is_repeated

REBUILD = (
    "documents were excluded from this corpus: a build into this folder that does not reuse it as "
    "it stands is refused; build into another folder and repeat the exclusions there"
)
_UNITS = ("documents", "bytes")


def excluded(
    content: dict[str, Any], shards: Sequence[dict[str, Any]], rows: pa.Table, rule: Rule
) -> dict[str, Any]:
    """The manifest `content` after `rows` (of documents.parquet) went by `rule`.

    `shards` are the new entries of the touched ones. Raises SeamountError where the ledger would
    not add up.
    """
    new = {shard["path"]: shard for shard in shards}
    standing = [new.get(shard["path"], shard) for shard in content["shards"]]
    copies = copies_among(rows) if is_repeated(content) else [False] * rows.num_rows
    ledger_rows = _ledger_rows(content, rows, copies, rule)
    kept = ledger.total(ledger_rows).kept
    totals = {unit: sum(shard[unit] for shard in standing) for unit in _UNITS}
    changed = {
        **content,
        **totals,
        "shards": standing,
        "digest": storage.digest_of([[s["path"], s["sha256"]] for s in standing]),
        "splits": {
            name: {u: sum(s[u] for s in standing if s["split"] == name) for u in _UNITS}
            for name in content["splits"]
        },
        "components": _components(standing),
        "ledger": {
            "inputs": [ledger.row_to_dict(row) for row in ledger_rows],
            "total": ledger.row_to_dict(ledger.total(ledger_rows)),
        },
        "copies": {unit: totals[unit] - getattr(kept, unit) for unit in _UNITS},
        "rebuild": REBUILD,
    }
    changed["mixture"] = _mixture(content["mixture"], changed["components"], rows, copies)
    entry = _entry(content, changed, rows, copies, rule, sorted(new))
    changed["exclusions"] = [*content.get("exclusions", ()), entry]
    return changed


def _ledger_rows(
    content: dict[str, Any], rows: pa.Table, copies: list[bool], rule: Rule
) -> list[ledger.Row]:
    """Every input's row: what was kept and goes now counts as dropped, copies by epochs apart."""
    found = [ledger.row_from_dict(row) for row in content["ledger"]["inputs"]]
    by_input = {row.input: row for row in found}
    columns = (rows[name].to_pylist() for name in ("input", "component", "bytes"))
    for name, component, size, copy in zip(*columns, copies, strict=True):
        if not copy:
            by_input[name].kept.add(-size, -1)
            by_input[name].drop(rule.reason(component), size)
    for row in found:
        row.check()
    return found


def _components(shards: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    total: dict[str, dict[str, int]] = {}
    for shard in shards:
        for name, part in shard["components"].items():
            mine = total.setdefault(name, dict.fromkeys(_UNITS, 0))
            for unit in _UNITS:
                mine[unit] += part[unit]
    return dict(sorted(total.items()))


def _mixture(
    before: dict[str, Any], components: dict[str, Any], rows: pa.Table, copies: list[bool]
) -> dict[str, Any]:
    """The certificate of what is left: weights and shares scaled to the components that remain.

    The bytes wanted of each component stay what the build wanted.
    """
    supply = {name: part["available_bytes"] for name, part in before.items()}
    columns = (rows[name].to_pylist() for name in ("component", "bytes"))
    touched = set()
    for name, size, copy in zip(*columns, copies, strict=True):
        supply[name] -= 0 if copy else size
        touched.add(name)
    # one that had no room in the mixture and so no bytes before is not gone by this
    gone = touched - set(components)
    left = {name: part for name, part in before.items() if name not in gone}
    achieved = {name: components.get(name, {"bytes": 0})["bytes"] for name in left}
    weights = sum(part["weight"] or 0.0 for part in left.values())
    wanted = sum(part["wanted_bytes"] for part in left.values())
    total = sum(achieved.values())
    certificate = {}
    for name, part in left.items():
        weight = part["weight"] and part["weight"] / weights
        share = part["wanted_bytes"] / wanted if wanted else 0.0
        certificate[name] = {
            **part,
            "available_bytes": supply[name],
            "weight": weight,
            "achieved_bytes": achieved[name],
            "wanted_share": share,
            "achieved_share": achieved[name] / total if total else 0.0,
        }
    return certificate


def _entry(
    before: dict[str, Any],
    after: dict[str, Any],
    rows: pa.Table,
    copies: list[bool],
    rule: Rule,
    touched: list[str],
) -> dict[str, Any]:
    """What the history keeps: the rule, counts, and the state of the corpus on either side."""
    sizes, names = rows["bytes"].to_pylist(), rows["component"].to_pylist()
    components: dict[str, dict[str, int]] = {}
    for name, size in zip(names, sizes, strict=True):
        mine = components.setdefault(name, dict.fromkeys(_UNITS, 0))
        mine["documents"] += 1
        mine["bytes"] += size
    return {
        "number": len(before.get("exclusions", ())) + 1,
        "rule": rule.as_dict(),
        "documents": rows.num_rows,
        "bytes": sum(sizes),
        "copies": {
            "documents": sum(copies),
            "bytes": sum(s for s, c in zip(sizes, copies, strict=True) if c),
        },
        "components": dict(sorted(components.items())),
        "shards": touched,
        "mixture": _changes(before["mixture"], after["mixture"]),
        "digest_before": before["digest"],
        "digest_after": after["digest"],
    }


def _changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Weight and achieved share of each component before and after.

    A mixture that keeps natural proportions has no weights in force: then those that the catalog
    states, scaled to the components that are there. None where a component is gone or has none.
    """
    old, new = _weights(before), _weights(after)
    return {
        name: {
            "weight": [old[name], new.get(name)],
            "share": [part["achieved_share"], after.get(name, {}).get("achieved_share", 0.0)],
        }
        for name, part in before.items()
    }


def _weights(mixture: dict[str, Any]) -> dict[str, float | None]:
    total = sum(part["stated_weight"] or 0.0 for part in mixture.values())
    return {
        name: part["stated_weight"] / total
        if part["weight"] is None and part["stated_weight"]
        else part["weight"]
        for name, part in mixture.items()
    }


def lineage_of(record: lineage.Lineage, content: dict[str, Any]) -> lineage.Lineage:
    """The lineage of a corpus after the exclusions of its manifest."""
    told = [
        {k: one[k] for k in ("rule", "documents", "bytes", "digest_before", "digest_after")}
        for one in content["exclusions"]
    ]
    parameters = {**record.parameters, "exclusions": told}
    return replace(record, digest=content["digest"], parameters=parameters)
