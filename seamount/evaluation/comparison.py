"""Two bits-per-byte results side by side, and why they may not be comparable."""

from __future__ import annotations

from typing import Any

from seamount.core import storage
from seamount.core.errors import CorruptData, UserError
from seamount.evaluation.bpb import BpbResult

_PROTOCOL_KEYS = ("name", "context_length", "stride", "unit")


def read_result(path: str) -> BpbResult:
    """The result in a file of `eval bpb --json`, or the exported model's in one of an export.

    Raises UserError naming the file where it holds neither.
    """
    content = storage.read_json(path)
    if isinstance(content, dict) and content.get("after"):
        content = content["after"]
    try:
        return BpbResult.from_dict(content)
    except CorruptData as error:
        raise UserError(
            f"{path!r} holds no bits-per-byte result ({error}): give a file that "
            "`seamount eval bpb --json` wrote, or a measured export's"
        ) from error


def compare(first: BpbResult, second: BpbResult) -> dict[str, Any]:
    """{rows: [(name, first, second, second - first)], warnings}, over the components of both.

    Raises UserError where they have no component in common.
    """
    shared = [name for name in first.components if name in second.components]
    if not shared:
        raise UserError(
            f"the results have no component in common ({sorted(first.components)} and "
            f"{sorted(second.components)}): compare two of the same data"
        )
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
