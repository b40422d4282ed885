"""Bits per byte: -log2 p(text) / UTF-8 bytes of the source text (Gao et al. 2020, section 3.1).

Sums of nats and bytes are exact, so the figures do not depend on the order of documents. The
weighted mean uses the weights of the components that are present, scaled to sum to one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from seamount.core.errors import CorruptData, SeamountError, UserError
from seamount.core.records import DocumentScore
from seamount.core.storage import digest_of
from seamount.evaluation import bootstrap


@dataclass(frozen=True)
class Weights:
    """Share of each component in the weighted mean, and where the shares come from.

    `source` is "catalog", "pile", "given" or "bytes" (each component counts by its own size).
    """

    source: str
    values: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ComponentBpb:
    """One component: exact sums, bits per byte and its interval (None for a single document)."""

    bytes: int
    tokens: int
    nats: float
    bpb: float
    low: float | None
    high: float | None
    documents: int
    weight: float


@dataclass(frozen=True)
class Headline:
    """The three summaries: weighted, plain mean of components, all bytes pooled.

    Intervals are None where no component has two documents. `single_document_share` is the share
    of the weight on components of one document, which add nothing to the weighted interval.
    """

    weighted: float
    unweighted: float
    all: float
    weighted_interval: tuple[float, float] | None
    all_interval: tuple[float, float] | None
    components: list[str]
    single_document_share: float = 0.0


@dataclass(frozen=True)
class BpbResult:
    """Bits per byte of one scorer over one set of documents.

    `warnings` are sentences a reader of the figures must know.
    """

    protocol: dict[str, Any]
    components: dict[str, ComponentBpb]
    headline: Headline
    without_generated: Headline | None
    weights: dict[str, Any]
    documents_digest: str
    without_bytes: dict[str, int]
    interval: dict[str, Any]
    warnings: list[str] = field(default_factory=list)

    @property
    def weighted(self) -> float:
        """Mean over components by weight."""
        return self.headline.weighted

    @property
    def unweighted(self) -> float:
        """Plain mean over components."""
        return self.headline.unweighted

    @property
    def all(self) -> float:
        """All nats over all bytes."""
        return self.headline.all

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON, with `weighted`, `unweighted` and `all` at the top."""
        return {
            "weighted": self.weighted,
            "unweighted": self.unweighted,
            "all": self.all,
            **asdict(self),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> BpbResult:
        """The result behind `to_dict`, read back from JSON."""
        try:
            other = content["without_generated"]
            return cls(
                protocol=content["protocol"],
                components={n: ComponentBpb(**c) for n, c in content["components"].items()},
                headline=Headline(**content["headline"]),
                without_generated=None if other is None else Headline(**other),
                weights=content["weights"],
                documents_digest=content["documents_digest"],
                without_bytes=content["without_bytes"],
                interval=content["interval"],
                warnings=list(content.get("warnings", [])),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise CorruptData(f"this is not a bits-per-byte result: {error}") from error


def choose_weights(
    components: Collection[str], catalog: Mapping[str, float] | None = None
) -> Weights:
    """The catalog's weights if given, the Pile's if all names are its own, else bytes."""
    if catalog is not None:
        return Weights("catalog", dict(catalog))
    pile = _pile_weights()
    return (
        Weights("pile", pile) if components and set(components) <= set(pile) else Weights("bytes")
    )


def bpb(
    scores: Iterable[DocumentScore],
    weights: Mapping[str, float] | Weights | None = None,
    protocol: Mapping[str, Any] | None = None,
    generated: Collection[str] = (),
    replicates: int = bootstrap.REPLICATES,
    seed: int = 0,
) -> BpbResult:
    """Aggregate document scores.

    `weights` None chooses the Pile's or bytes (`choose_weights`); `generated` names components
    whose text a program made, for a second headline without them. Raises UserError where nothing
    was scored or no present component has a weight, SeamountError where a score is not finite.
    """
    groups = _grouped(scores)
    full = {name: rows for name, rows in groups.items() if sum(r.size_bytes for r in rows)}
    if not full:
        raise UserError("nothing to score: the documents hold no text; check --data and the split")
    if isinstance(weights, Weights):
        chosen = weights
    else:
        chosen = Weights("given", dict(weights)) if weights else choose_weights(full)
    raw = _raw_weights(full, chosen)
    draws = {
        name: bootstrap.resampled_totals(
            ([r.nats for r in rows], [r.size_bytes for r in rows]), name, seed, replicates
        )
        for name, rows in full.items()
    }
    natural = sorted(set(full) - set(generated))
    return BpbResult(
        protocol=dict(protocol or {}),
        components={n: _component(full[n], draws[n], _share(raw, n)) for n in sorted(full)},
        headline=_headline(sorted(full), full, draws, raw),
        without_generated=_headline(natural, full, draws, raw)
        if natural and len(natural) < len(full) and sum(raw[n] for n in natural)
        else None,
        weights=_describe(raw, chosen),
        documents_digest=_documents_digest(groups),
        without_bytes={n: len(rows) for n, rows in groups.items() if n not in full},
        interval={
            "method": "document-clustered percentile bootstrap",
            "level": bootstrap.LEVEL,
            "replicates": replicates,
            "seed": seed,
        },
    )


def _grouped(scores: Iterable[DocumentScore]) -> dict[str, list[DocumentScore]]:
    groups: dict[str, list[DocumentScore]] = {}
    for score in scores:
        if not math.isfinite(score.nats):
            raise SeamountError(
                f"document {score.id!r} ({score.component}) has the score {score.nats}: the model "
                "gives no finite probability for it; check its weights and precision"
            )
        groups.setdefault(score.component, []).append(score)
    for rows in groups.values():
        rows.sort(key=lambda r: (r.id, r.size_bytes, r.nats))
    return groups


def _raw_weights(full: dict[str, list[DocumentScore]], chosen: Weights) -> dict[str, float]:
    if chosen.source == "bytes":
        return {name: float(sum(r.size_bytes for r in rows)) for name, rows in full.items()}
    raw = {name: float(chosen.values.get(name, 0.0)) for name in full}
    if not sum(raw.values()):
        raise UserError(
            f"none of the components {sorted(full)} has a weight in the {chosen.source} weights: "
            "give a catalog that names them, or leave the weights out"
        )
    return raw


def _share(raw: dict[str, float], name: str) -> float:
    return raw[name] / math.fsum(raw.values())


def _ratio(nats: float, size_bytes: float) -> float:
    return nats / (size_bytes * math.log(2))


def _component(rows: list[DocumentScore], draws_RC: Any, share: float) -> ComponentBpb:
    nats = math.fsum(r.nats for r in rows)
    size_bytes = sum(r.size_bytes for r in rows)
    low: float | None = None
    high: float | None = None
    if sum(r.size_bytes > 0 for r in rows) > 1:
        low, high = bootstrap.interval(_draws_of(draws_RC, _ratio(nats, size_bytes)))
    return ComponentBpb(
        bytes=size_bytes,
        tokens=sum(r.tokens for r in rows),
        nats=nats,
        bpb=_ratio(nats, size_bytes),
        low=low,
        high=high,
        documents=len(rows),
        weight=share,
    )


def _headline(
    names: list[str],
    full: dict[str, list[DocumentScore]],
    draws: dict[str, Any],
    raw: dict[str, float],
) -> Headline:
    nats = {n: math.fsum(r.nats for r in full[n]) for n in names}
    sizes = {n: sum(r.size_bytes for r in full[n]) for n in names}
    each = {n: _ratio(nats[n], sizes[n]) for n in names}
    total = math.fsum(raw[n] for n in names)
    certain = all(len(full[n]) == 1 for n in names)
    weighted_R = sum(raw[n] / total * _draws_of(draws[n], each[n]) for n in names)
    all_R = _draws_of(sum(draws[n] for n in names), 0.0)
    return Headline(
        weighted=math.fsum(raw[n] * each[n] for n in names) / total,
        unweighted=math.fsum(each.values()) / len(names),
        all=_ratio(math.fsum(nats.values()), sum(sizes.values())),
        weighted_interval=None if certain else bootstrap.interval(weighted_R),
        all_interval=None if certain else bootstrap.interval(all_R),
        components=names,
        single_document_share=math.fsum(raw[n] for n in names if _is_single(full[n])) / total,
    )


def _is_single(rows: list[DocumentScore]) -> bool:
    return sum(r.size_bytes > 0 for r in rows) == 1


def _draws_of(totals_RC: Any, otherwise: float) -> Any:
    """Bits per byte of each draw; a draw of empty documents alone has none, hence `otherwise`."""
    import numpy as np

    nats_R, bytes_R = totals_RC.T
    whole = np.full(len(bytes_R), otherwise)
    return np.divide(nats_R, bytes_R * math.log(2), out=whole, where=bytes_R > 0)


def _describe(raw: dict[str, float], chosen: Weights) -> dict[str, Any]:
    given = math.fsum(chosen.values.values())
    present = math.fsum(raw.values())
    missing = sorted(n for n, w in chosen.values.items() if w and n not in raw)
    return {
        "source": chosen.source,
        "renormalised": bool(missing),
        "present_share": present / given if given else 1.0,
        "missing": missing,
        "unweighted_components": sorted(n for n, w in raw.items() if not w),
        "values": {n: w / present for n, w in sorted(raw.items())},
    }


def _documents_digest(groups: dict[str, list[DocumentScore]]) -> str:
    """Names the scored set: results of different digests are not comparable."""
    return digest_of([[n, [[r.id, r.size_bytes] for r in groups[n]]] for n in sorted(groups)])


def _pile_weights() -> dict[str, float]:
    from seamount.corpora.text.catalog import load_catalog

    return load_catalog("pile").weights() or {}
