"""The recall of a dedupe report as a picture."""

from __future__ import annotations

from typing import Any

from seamount.core import chart_curve
from seamount.core.charts import Point
from seamount.corpora.text.dedupe import minhash


def write(result: dict[str, Any], path: str) -> None:
    """Draw the result of `dedupe_report` into `path` (.png or .svg)."""
    steps = [n / 200 for n in range(201)]
    rule = f"1 - (1 - s^{minhash.ROWS})^{minhash.BANDS}"
    points = {
        name: [
            (
                part["mean"],
                Point(part[key]["share"], part[key]["low"], part[key]["high"]),
            )
            for part in result["bins"]
            if part[key]["of"]
        ]
        for name, key in (("share a band", "met"), ("joined", "joined"))
    }
    chart_curve.write(
        path,
        (rule, [(s, minhash.candidate_probability(s)) for s in steps]),
        points,
        ("Jaccard similarity of word 5-grams", "share of pairs"),
        "Copies found by similarity",
    )
