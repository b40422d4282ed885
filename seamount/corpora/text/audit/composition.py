"""What a corpus is composed of, and how evenly."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from seamount.core.records import Quarantined
from seamount.corpora.text import jsonl_zst, manifest

Composition = dict[str, dict[str, int]]


def audit(url: str) -> dict[str, Any]:
    """Composition by component, and effective numbers of components.

    A built corpus is described by its manifest; other jsonl.zst files are read. Result: documents,
    bytes, components {name: {documents, bytes, mean_bytes, share}}, effective_components; a built
    corpus also has splits and effective_components_before_mixture.
    """
    if not manifest.is_corpus(url):
        return _described(_read_composition(url))
    content = manifest.load_manifest(url)
    supply = [part["available_bytes"] for part in content["mixture"].values()]
    return {
        **_described(content["components"]),
        "splits": content["splits"],
        "effective_components_before_mixture": effective_number(supply),
    }


def effective_number(sizes: Iterable[int]) -> float:
    """Exponential of the Shannon entropy of the shares: n where n parts are equal, 1 where one has
    all (Hill number of order 1).
    """
    positive = [s for s in sizes if s > 0]
    total = sum(positive)
    return math.exp(-sum(s / total * math.log(s / total) for s in positive)) if total else 0.0


def _described(composition: Composition) -> dict[str, Any]:
    size = sum(part["bytes"] for part in composition.values())
    components = {
        name: {
            **part,
            "mean_bytes": part["bytes"] / max(1, part["documents"]),
            "share": part["bytes"] / max(1, size),
        }
        for name, part in sorted(composition.items())
    }
    return {
        "documents": sum(part["documents"] for part in composition.values()),
        "bytes": size,
        "components": components,
        "effective_components": effective_number(p["bytes"] for p in composition.values()),
    }


def _read_composition(url: str) -> Composition:
    found: Composition = defaultdict(lambda: {"documents": 0, "bytes": 0})
    for file in jsonl_zst.list_inputs(url):
        for record in jsonl_zst.read_documents(file):
            if not isinstance(record, Quarantined):
                found[record.component]["documents"] += 1
                found[record.component]["bytes"] += len(record.text.encode())
    return dict(found)
