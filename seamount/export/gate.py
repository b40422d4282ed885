"""The gate: an exported file is published only if its bits per byte hold in every component."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from seamount.core.errors import SeamountError
from seamount.evaluation.bpb import BpbResult


class GateFailed(SeamountError):
    """The export costs more bits per byte than allowed; `report` holds all the deltas."""

    def __init__(self, message: str, report: dict[str, Any]) -> None:
        super().__init__(message)
        self.report = report


@dataclass(frozen=True)
class Deltas:
    """Bits per byte after the export minus before, on the same documents."""

    weighted: float
    unweighted: float
    all: float
    components: dict[str, float]


@dataclass(frozen=True)
class Gate:
    """Bounds on the deltas; `max_component_bpb_delta` defaults to the overall bound."""

    max_bpb_delta: float
    max_component_bpb_delta: float | None = None
    passed: bool = True
    failed: dict[str, float] = field(default_factory=dict)

    @property
    def component_bound(self) -> float:
        """Bound on each component."""
        bound = self.max_component_bpb_delta
        return self.max_bpb_delta if bound is None else bound


def deltas(before: BpbResult, after: BpbResult) -> Deltas:
    """Differences; raises SeamountError where the two scored other documents."""
    if before.documents_digest != after.documents_digest:
        raise SeamountError("the model and its export were scored on different documents")
    return Deltas(
        weighted=after.weighted - before.weighted,
        unweighted=after.unweighted - before.unweighted,
        all=after.all - before.all,
        components={
            name: after.components[name].bpb - component.bpb
            for name, component in before.components.items()
        },
    )


def judge(found: Deltas, max_bpb_delta: float, per_component: float | None = None) -> Gate:
    """Which bounds are broken: "weighted" or a component's name, with its delta."""
    gate = Gate(max_bpb_delta, per_component)
    failed = {n: d for n, d in found.components.items() if not d <= gate.component_bound}
    if not found.weighted <= max_bpb_delta:
        failed["weighted"] = found.weighted
    return Gate(max_bpb_delta, per_component, not failed, failed)


def require(gate: Gate, report: dict[str, Any]) -> None:
    """Raise GateFailed naming the worst domain."""
    if gate.passed:
        return
    name, delta = max(gate.failed.items(), key=lambda item: item[1])
    bound = gate.max_bpb_delta if name == "weighted" else gate.component_bound
    raise GateFailed(
        f"the export loses {delta:.4f} bits per byte in {name!r}, more than the {bound:g} allowed "
        f"({len(gate.failed)} bounds broken): not published; allow more with --max-bpb-delta, or "
        "quantise less",
        report,
    )
