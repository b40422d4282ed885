"""The plots of a report, drawn from the same figures as its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamount.core import charts
from seamount.core.charts import Point
from seamount.evaluation.report import Report

_UNIT = "bits per byte (less is better)"
_SHOWN = ("zstd", "xz", "zstd_whole", "xz_whole")


def draw(report: Report) -> dict[str, str]:
    """Name -> SVG of every plot, empty where there are no figures for it."""
    return {
        "headline": _headline(report),
        "components": _components(report),
        "mixture": _mixture(report.manifest),
        "curves": _curves(report.curves),
        "changes": _changes(report.export),
    }


def _headline(report: Report) -> str:
    if not report.scores or not report.baselines:
        return ""
    values = {"this model": float(report.scores["weighted"])}
    values |= {name: float(r["weighted"]) for name, r in report.baselines.items()}
    ordered = dict(sorted(values.items(), key=lambda item: item[1]))
    title = "Weighted bits per byte of the model and of compressors"
    return charts.bars(ordered, _UNIT, title, "this model")


def _components(report: Report) -> str:
    if not report.scores:
        return ""
    parts = report.scores["components"]
    rows = sorted(parts, key=lambda name: parts[name]["bpb"])
    series = {"this model": _points(parts)}
    for name in _SHOWN:
        if name in report.baselines:
            series[name] = _points(report.baselines[name]["components"], bare=True)
    return charts.dots(rows, series, _UNIT, "Bits per byte by component")


def _points(parts: Mapping[str, Any], bare: bool = False) -> dict[str, Point]:
    return {
        name: Point(c["bpb"]) if bare else Point(c["bpb"], c["low"], c["high"])
        for name, c in parts.items()
    }


def _mixture(manifest: Mapping[str, Any] | None) -> str:
    shares = (manifest or {}).get("mixture") or {}
    if not shares:
        return ""
    rows = sorted(shares, key=lambda name: -shares[name]["achieved_share"])
    series = {
        "in the corpus": [100 * shares[n]["achieved_share"] for n in rows],
        "aimed at": [100 * shares[n]["wanted_share"] for n in rows],
    }
    return charts.pairs(rows, series, "share of bytes, %", "Mixture of the corpus")


def _curves(curves: Mapping[str, Any]) -> str:
    drawn = {name: points for name, points in curves.items() if points}
    return charts.lines(drawn, "step", "bits per byte", "Training curve") if drawn else ""


def _changes(export: Mapping[str, Any] | None) -> str:
    if not export or not export["components"]:
        return ""
    ordered = sorted(export["components"].items(), key=lambda item: -item[1])
    values = {name: 1000 * delta for name, delta in ordered}
    bound = (export["gate"] or {}).get("max_bpb_delta")
    unit = "change in 1/1000 bits per byte (left is better)"
    title = "What quantising and exporting cost, by component"
    return charts.changes(values, unit, title, None if bound is None else 1000 * bound)
