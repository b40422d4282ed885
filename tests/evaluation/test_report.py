"""The page: complete, self-contained, and deaf to what names say."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from seamount.core import charts
from seamount.core.charts import Point
from seamount.core.records import DocumentScore
from seamount.evaluation.bpb import bpb
from seamount.evaluation.report import Report, gather, ledger_rows
from seamount.evaluation.report_page import render, write_report

HOSTILE = '<script>alert("1")</script>&$\\frac{'
SCORES = [DocumentScore(f"{c}{i}", c, 10 + i, 4, 9.0) for c in ("A", HOSTILE) for i in range(3)]


@pytest.fixture(scope="module")
def report():
    result = bpb(SCORES, protocol={"name": "paper", "context_length": 64, "prefix_token": "<s>"})
    scores = json.loads(json.dumps(result.to_dict()))
    tally = {"documents": 3, "bytes": 4000}
    total = {
        "in": tally,
        "kept": tally,
        "dropped": {HOSTILE: tally},
        "duplicates": {"near": tally},
        "quarantined": tally,
    }
    shares = {"achieved_share": 0.5, "wanted_share": 0.4}
    return Report(
        title=HOSTILE,
        manifest={"ledger": {"total": total}, "mixture": {"A": shares, HOSTILE: shares}},
        scores=scores,
        baselines={"zstd": scores},
        export={
            "format": "onnx",
            "quantize": "int8",
            "size_bytes": 1000,
            "size_ratio": 0.3,
            "bpb_delta": 0.001,
            "components": {"A": 0.001, HOSTILE: -0.002},
            "before": scores,
            "after": scores,
            "gate": {"max_bpb_delta": 0.01, "passed": True},
            "parity": {"ok": True, "shapes": []},
        },
        curves={"train": [(1, 8.0), (2, 4.0)], HOSTILE: [(1, 8.0)]},
        lineage={
            "kind": HOSTILE,
            "digest": "ab" * 32,
            "state": "missing",
            "path": HOSTILE,
            "inputs": {
                HOSTILE: {"kind": "x", "digest": "1", "state": "ok", "path": "p", "inputs": {}}
            },
        },
        model={"model_type": HOSTILE},
        sample=(HOSTILE, HOSTILE),
        commands=[("say", HOSTILE)],
        facts=[(HOSTILE, HOSTILE)],
    )


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def page(report):
    return render(report)


def test_hostile_names_stay_text(page):
    parser = Tags()
    parser.feed(page)
    assert not [tag for tag, _ in parser.seen if tag in ("script", "iframe", "object", "img")]
    assert "alert(" in page  # shown, escaped
    assert not [a for _, attrs in parser.seen for a in attrs if a.startswith("on")]


def test_the_page_asks_for_nothing_from_outside(page):
    hosts = set(re.findall(r"https?://[^\"'\s)]+", page))
    assert hosts <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "url(" not in page.replace("url(#", "")


def test_all_sections_are_there_and_the_same_each_time(report, page, tmp_path):
    for words in ("Bits per byte", "Corpus", "Training", "Export", "Lineage", "How to go on"):
        assert words in page
    assert page.count('<svg class="chart"') == 5
    path = write_report(report, str(tmp_path / "report.html"))
    assert Path(path).read_text(encoding="utf-8") == page


def test_an_empty_run_still_gives_a_page(tmp_path):
    page = render(gather(str(tmp_path), title="nothing yet"))
    assert "nothing yet" in page
    assert "seamount generate" in page


def test_ledger_rows_tell_every_fate(report):
    names = [name for name, _, _ in ledger_rows(report.manifest)]
    assert names == ["read", "kept", f"dropped: {HOSTILE}", "copy, near", "quarantined"]


def test_charts_are_well_formed_labelled_and_follow_the_pages_colours():
    drawn = [
        charts.bars({HOSTILE: 1.0, "b": 2.0}, "bits per byte", HOSTILE, "b"),
        charts.dots(["東京", HOSTILE], {"m": {"東京": Point(1, 0.9, 1.2)}}, "bits", "t"),
        charts.pairs(["a"], {"x": [1.0], "y": [2.0]}, "%", "t"),
        charts.changes({"a": -0.1, "b": 0.0}, "bits", "t", bound=0.2),
        charts.changes({"a": 0.0}, "bits", "t"),
        charts.lines({"x": [(0, 1), (1, 2)], "y": [(0, 2)]}, "step", "bits", "t"),
    ]
    for svg in drawn:
        root = ElementTree.fromstring(svg)
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"]
        assert "var(--" in svg
        assert not re.search(r"#0[1-6]0[1-6]0[1-6]\b", svg)
    assert "bits per byte" in drawn[0]
