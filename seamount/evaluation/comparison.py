"""Two bits-per-byte results side by side, and why they may not be comparable."""

from __future__ import annotations

from typing import Any

from seamount.evaluation.bpb import BpbResult

_PROTOCOL_KEYS = ("name", "context_length", "stride", "unit")


def compare(first: BpbResult, second: BpbResult) -> dict[str, Any]:
    """{rows: [(name, first, second, second - first)], warnings}, over the components of both."""
    shared = [name for name in first.components if name in second.components]
    pairs = {n: (first.components[n].bpb, second.components[n].bpb) for n in shared}
    pairs |= {
        "weighted": (first.weighted, second.weighted),
        "unweighted": (first.unweighted, second.unweighted),
        "all": (first.all, second.all),
    }
    return {
        "rows": [(name, a, b, b - a) for name, (a, b) in pairs.items()],
        "warnings": _warnings(first, second),
    }


def _warnings(first: BpbResult, second: BpbResult) -> list[str]:
    found = []
    if first.documents_digest != second.documents_digest:
        found.append("the two results are of different documents")
    for key in _PROTOCOL_KEYS:
        a, b = first.protocol.get(key), second.protocol.get(key)
        if a != b:
            found.append(f"the protocols differ in {key}: {a!r} and {b!r}")
    if first.weights["values"] != second.weights["values"]:
        found.append("the weighted figures use different weights")
    return found
