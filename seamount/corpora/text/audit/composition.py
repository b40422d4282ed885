"""What a corpus is composed of, and how evenly."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seamount.corpora.text import document_index, formats, manifest
from seamount.corpora.text.audit import decades as decades_module
from seamount.corpora.text.audit import token_counts
from seamount.corpora.text.located import located_documents

_MIXTURE = "mixture: "


@dataclass
class _Counts:
    """Documents and bytes by component, source (the input) and decade."""

    components: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    sources: Counter[str] = field(default_factory=Counter)
    decades: dict[str, Counter[str]] | None = None


def audit(url: str, *, decades: bool = True, tokens: str | None = None) -> dict[str, Any]:
    """Composition by component, kind, decade and tokens, and effective numbers.

    A built corpus is described by its manifest and documents.parquet; its shards are read for
    `decades` alone (of each document the metadata). Other files are read whole. `tokens`
    is a token folder of this corpus, for counts instead of estimates.

    Result: documents, bytes, components {name: {documents, bytes, mean_bytes, share, kind,
    tokens}}, kinds {name: {documents, bytes, share}}, decades {"1990s" or "unknown": {documents,
    bytes}} (None where not asked for), tokens (see token_counts), effective {components, kinds,
    sources: {before, after}} (the exponential of the entropy of the shares of bytes, before and
    after the mixture; `before` is None for files that are no built corpus); a built corpus has
    splits too. A source is an input of the build (a file or item), or a file.
    """
    built = manifest.is_corpus(url)
    content = manifest.load_manifest(url) if built else {}
    catalog = token_counts.rules_of(content)
    counts = _counts_built(url, content, decades) if built else _counts_read(url, decades)
    counted = (
        token_counts.exact(tokens, content)
        if tokens is not None
        else token_counts.estimated(counts.components, catalog)
    )
    kinds = {name: catalog.get(name, {}).get("kind") or "unknown" for name in counts.components}
    described = _described(counts, kinds, counted)
    after = _effective(counts, kinds)
    before = _before(content, catalog) if built else dict.fromkeys(after)
    effective = {k: {"before": before[k], "after": after[k]} for k in after}
    result = {**described, "effective": effective, "effective_components": after["components"]}
    if built:
        result["splits"] = content["splits"]
        result["effective_components_before_mixture"] = before["components"]
    return result


def effective_number(sizes: Iterable[int]) -> float:
    """Exponential of the Shannon entropy of the shares: n where n parts are equal, 1 where one has
    all (Hill number of order 1).
    """
    positive = [s for s in sizes if s > 0]
    total = sum(positive)
    return math.exp(-sum(s / total * math.log(s / total) for s in positive)) if total else 0.0


def _counts_built(url: str, content: dict[str, Any], decades: bool) -> _Counts:
    counts = _Counts()
    for name, part in content["components"].items():
        counts.components[name].update(part)
    for batch in document_index.batches(url, ("input", "bytes")):
        for name, size in zip(*(c.to_pylist() for c in batch.columns), strict=True):
            counts.sources[name] += size
    if decades:
        counts.decades = decades_module.of_corpus(url, content)
    return counts


def _counts_read(url: str, decades: bool) -> _Counts:
    counts = _Counts(decades=defaultdict(Counter) if decades else None)
    formats.list_inputs(url)  # a mistaken address is told before anything is read
    for one in located_documents(url):
        size = len(one.document.text.encode())
        counts.components[one.document.component].update(documents=1, bytes=size)
        counts.sources[one.shard] += size
        if counts.decades is not None:
            year = decades_module.year_of(one.document.meta)
            counts.decades[decades_module.decade(year)].update(documents=1, bytes=size)
    return counts


def _described(counts: _Counts, kinds: Mapping[str, str], tokens: dict[str, Any]) -> dict[str, Any]:
    size = sum(part["bytes"] for part in counts.components.values())
    components = {
        name: {
            "documents": part["documents"],
            "bytes": part["bytes"],
            "mean_bytes": part["bytes"] / max(1, part["documents"]),
            "share": part["bytes"] / max(1, size),
            "kind": kinds[name],
            "tokens": tokens["components"].get(name),
        }
        for name, part in sorted(counts.components.items())
    }
    return {
        "documents": sum(part["documents"] for part in counts.components.values()),
        "bytes": size,
        "components": components,
        "kinds": _by_kind(components, size),
        "decades": counts.decades and {n: dict(c) for n, c in sorted(counts.decades.items())},
        "tokens": tokens,
    }


def _by_kind(components: dict[str, Any], size: int) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for part in components.values():
        mine = found.setdefault(part["kind"], {"documents": 0, "bytes": 0})
        mine["documents"] += part["documents"]
        mine["bytes"] += part["bytes"]
    return {
        name: {**part, "share": part["bytes"] / max(1, size)}
        for name, part in sorted(found.items())
    }


def _effective(counts: _Counts, kinds: Mapping[str, str]) -> dict[str, float]:
    sizes = {name: part["bytes"] for name, part in counts.components.items()}
    return {
        "components": effective_number(sizes.values()),
        "kinds": effective_number(_sums(sizes, kinds).values()),
        "sources": effective_number(counts.sources.values()),
    }


def _before(content: dict[str, Any], catalog: Mapping[str, Any]) -> dict[str, float]:
    """The same of what there was to mix: survivors of deduplication, each counted once."""
    sizes = {name: part["available_bytes"] for name, part in content["mixture"].items()}
    kinds = {name: catalog.get(name, {}).get("kind") or "unknown" for name in sizes}
    sources = (
        row["kept"]["bytes"]
        + sum(part["bytes"] for why, part in row["dropped"].items() if why.startswith(_MIXTURE))
        for row in content["ledger"]["inputs"]
    )
    return {
        "components": effective_number(sizes.values()),
        "kinds": effective_number(_sums(sizes, kinds).values()),
        "sources": effective_number(sources),
    }


def _sums(sizes: Mapping[str, int], kinds: Mapping[str, str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, size in sizes.items():
        found[kinds[name]] += size
    return found
