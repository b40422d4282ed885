"""Runs beside a baseline over HTTP, against values worked out from what was logged."""

from __future__ import annotations

import json
import math

import pytest

from seamount.tracking import Run
from seamount.tracking.dashboard import tokens
from seamount.tracking.dashboard.compare.direction import guessed
from seamount.tracking.dashboard.compare.source import split_patch

NAN = float("nan")
LOSSES = {
    "base": [4.0, 2.0, 1.0, 1.5],
    "good": [4.0, 1.0, 0.5, NAN, 0.75],
    "late": [8.0, 3.0],
}
STEPS = {"base": [0, 10, 20, 30], "good": [0, 10, 20, 25, 30], "late": [5, 15]}
BASE_PATCH = (
    "diff --git a/one.py b/one.py\nindex 1..2\n--- a/one.py\n+++ b/one.py\n@@ -1 +1 @@\n-a\n+b\n"
    "diff --git a/two.py b/two.py\nindex 1..2\n--- a/two.py\n+++ b/two.py\n@@ -1 +1 @@\n-a\n+b\n"
)
GOOD_PATCH = BASE_PATCH.replace("+b\n", "+c\n", 1).replace("index 1..2", "index 1..9") + (
    "diff --git a/three.py b/three.py\nnew file mode 100644\n+++ b/three.py\n+x = '<script>'\n"
)


@pytest.fixture
def compared(store):
    configs = {
        "base": {"lr": 0.1, "opt": {"name": "sgd", "eps": 1}, "same": [1, 2]},
        "good": {"lr": 0.2, "opt": {"name": "sgd", "eps": 1.0}, "same": [1, 2], "new": None},
        "late": {"lr": 0.1, "opt": {"name": "adam"}, "same": [1, 2]},
    }
    patches = {"base": BASE_PATCH, "good": GOOD_PATCH}
    for run_id, values in LOSSES.items():
        with Run(project="p", run_id=run_id, store=store.uri, capture=False) as run:
            run.log_configs(configs[run_id])
            for step, value in zip(STEPS[run_id], values, strict=True):
                run.log_metrics({"val/loss": value}, step=step)
            run.log_metrics({"acc": 0.5, "zero": 0.0 if run_id == "base" else 2.0}, step=0)
            run.add_tags({"source_code/commit": "c" * 40 if run_id == "base" else "d" * 40})
            run.log_string_series({"sample": f"text of {run_id} <b>"}, step=3)
            run.log_files({"table": f"{run_id}\n".encode()}, step=4)
            if run_id in patches:
                run.assign_files({"source_code/diff.patch": patches[run_id].encode()})
    return store


@pytest.fixture
def ask(compared, client_of):
    client = client_of(compared)

    def get(part="metrics", noun="compare", more=None, **spec):
        spec = {"runs": ["base", "good", "late"]} | spec
        parameters = {"spec": json.dumps(spec), "part": part} | (more or {})
        answer = client.get(f"/api/v1/{noun}", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return get


def row(answer, name):
    return next(each for each in answer["metrics"]["rows"] if each["name"] == name)


def column(found, name):
    return [cell[name] for cell in found["cells"]]


def test_last_values_and_their_changes(ask):
    found = row(ask(), "val/loss")
    assert column(found, "value") == [1.5, 0.75, 3.0]
    assert column(found, "step") == [30, 30, 15]
    assert column(found, "change")[1:] == [0.75 - 1.5, 3.0 - 1.5]
    assert column(found, "relative")[1:] == [-0.5, 1.0]
    assert column(found, "verdict") == [None, "better", "worse"]


def test_best_is_by_direction_and_passes_over_nan(ask):
    lowest = row(ask(at="best"), "val/loss")
    assert column(lowest, "value") == [
        min(v for v in values if math.isfinite(v)) for values in LOSSES.values()
    ]
    assert column(lowest, "step") == [20, 20, 15]
    highest = row(ask(at="best", better={"val/loss": "higher"}), "val/loss")
    assert column(highest, "value") == [4.0, 4.0, 8.0]
    assert column(highest, "step") == [0, 0, 5]
    assert column(highest, "verdict") == [None, None, "better"]


def brute(run_id, step):
    seen = [v for s, v in zip(STEPS[run_id], LOSSES[run_id], strict=True) if s <= step]
    return seen[-1] if seen else None


@pytest.mark.parametrize("step", [None, 0, 5, 12.5, 15, 25, 1000])
def test_at_an_equal_step_each_run_has_its_newest_point_up_to_it(ask, step):
    found = row(ask(at="step", step=step, everything=True), "val/loss")
    reached = 15 if step is None else step  # what all have reached
    expected = [brute(run_id, reached) for run_id in LOSSES]
    assert found["step"] == reached
    assert column(found, "value") == [
        "NaN" if value is not None and math.isnan(value) else value for value in expected
    ]
    for cell, value in zip(found["cells"], expected, strict=True):
        comparable = None not in (value, expected[0]) and math.isfinite(value)
        assert cell["change"] == (value - expected[0] if comparable else None)


def test_a_nan_is_worse_than_a_number(ask):
    assert column(row(ask(at="step", step=25), "val/loss"), "verdict")[1] == "worse"


def test_differences_alone_unless_all_is_asked_for(ask):
    names = [each["name"] for each in ask()["metrics"]["rows"]]
    assert names == ["zero", "val/loss"]  # from 0 there is no relative change: it comes first
    everything = ask(everything=True, sort="name")["metrics"]
    assert [each["name"] for each in everything["rows"]] == ["acc", "val/loss", "zero"]
    assert (everything["total"], everything["different"]) == (3, 2)
    assert column(row(ask(), "zero"), "relative") == [0.0, None, None]
    assert [r["name"] for r in ask(everything=True, search="LOSS")["metrics"]["rows"]] == [
        "val/loss"
    ]


def test_another_baseline_turns_the_changes_round(ask):
    answer = ask(baseline="good")
    assert [run["run_id"] for run in answer["runs"]] == ["good", "base", "late"]
    assert column(row(answer, "val/loss"), "change") == [0.0, 0.75, 2.25]


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("loss", "lower"), ("val/loss", "lower"), ("valLoss", "lower"), ("eval_bpb", "lower"),
        ("test/wordErrorRate", "lower"), ("WER", "lower"), ("acc", "higher"), ("top1", "higher"),
        ("macro_f1", "higher"), ("sacre.bleu", "higher"), ("tokens_per_second", "higher"),
        ("loss/accuracy", "higher"), ("lr", "none"), ("glossary", "none"), ("epoch", "none"),
    ],
)  # fmt: skip
def test_direction_is_guessed_from_the_words_of_a_name(name, way):
    assert guessed(name) == way


def test_configs_leaf_by_leaf(ask):
    found = ask("configs")["configs"]
    texts = {
        each["name"]: [cell and (cell["text"], cell["changed"]) for cell in each["cells"]]
        for each in found["rows"]
    }
    assert texts == {
        "lr": [("0.1", False), ("0.2", True), ("0.1", False)],
        "new": [None, ("null", True), None],
        "opt/eps": [("1", False), ("1.0", True), None],
        "opt/name": [("sgd", False), ("sgd", False), ("adam", True)],
    }
    assert (found["total"], found["different"]) == (5, 4)
    every = ask("configs", everything=True)["configs"]["rows"]
    assert [each["name"] for each in every] == ["lr", "new", "opt/eps", "opt/name", "same"]


def test_source_file_by_file(ask):
    base, good, late = ask("source")["source"]
    assert [each["facts"]["commit"][0] for each in (base, good, late)] == ["c", "d", "d"]
    assert [(f["name"], f["status"]) for f in good["files"]] == [
        ("one.py", "changed"), ("three.py", "added"), ("two.py", "same"),
    ]  # fmt: skip
    changed = good["files"][0]["lines"]
    assert "-+b" in changed and "++c" in changed
    assert [(f["name"], f["status"]) for f in late["files"]] == [
        ("one.py", "removed"), ("two.py", "removed"),
    ]  # fmt: skip
    assert late["has_diff"] is False


def test_a_patch_is_split_by_its_files():
    assert list(split_patch(GOOD_PATCH)) == ["one.py", "two.py", "three.py"]
    assert split_patch("") == {}
    assert split_patch("no diff at all\n") == {}


def test_media_side_by_side(ask):
    found = ask(noun="media", more={"name": "sample", "kind": "strings"})
    assert {(s["name"], s["kind"]) for s in found["series"]} == {
        ("sample", "strings"), ("table", "file_series"),
    }  # fmt: skip
    assert found["runs"]["good"]["entries"] == [
        {"step": 3, "kind": "text", "text": "text of good <b>", "cut": False}
    ]
    files = ask(noun="media", more={"name": "table", "kind": "file_series"})["runs"]
    assert [e["step"] for e in files["late"]["entries"]] == [4]


@pytest.mark.parametrize(
    ("spec", "more"),
    [
        ({"runs": []}, ""),
        ({"runs": ["base", "base"]}, ""),
        ({"runs": ["base", "gone"]}, ""),
        ({"runs": ["base"], "baseline": "gone"}, ""),
        ({"runs": ["base"], "at": "median"}, ""),
        ({"runs": [f"r{n}" for n in range(21)]}, ""),
        ({"runs": ["base"]}, "nothing"),
    ],
)
def test_odd_questions_are_one_sentence(compared, client_of, spec, more):
    parameters = {"spec": json.dumps(spec), "part": more or "metrics"}
    answer = client_of(compared).get("/api/v1/compare", params=parameters)
    assert answer.status_code == 400
    assert "\n" not in answer.json()["error"]


def test_a_reader_compares_the_runs_of_its_project_alone(compared, client_of):
    with Run(project="other", run_id="hidden", store=compared.uri, capture=False):
        pass
    share = tokens.issue(compared, project="p")
    spec = json.dumps({"runs": ["base", "hidden"]})
    answer = client_of(compared).get("/api/v1/compare", params={"spec": spec, "share": share})
    assert answer.status_code == 400
