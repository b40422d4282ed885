"""Deployments on a real server, process work pool and worker, all started by `services up`."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

pytestmark = [pytest.mark.server, pytest.mark.timeout(600)]

OPTIONS = {"workers": 0, "test_share": 0.1, "val_share": 0.05}
TINY = [
    "model.preset=tiny",
    "model.vocab_size=512",
    "data.sequence_length=32",
    "data.batch_size=2",
    "schedule.warmup_steps=2",
]


def test_every_deployment_of_the_file_is_there_with_its_schedule(services: Any) -> None:
    found = services.call("/deployments/filter", {"limit": 100})
    names = {d["name"] for d in found}
    assert {"corpus-to-model", "nightly", "build-corpus", "evaluate-bpb"} <= names
    assert all(d["work_pool_name"] == "seamount-local" and d["description"] for d in found)
    assert all(d["enforce_parameter_schema"] for d in found)
    weekly = next(d for d in found if d["name"] == "build-corpus")
    assert [s["active"] for s in weekly["schedules"]] == [False]


def test_the_nightly_run_is_created_ahead(services: Any) -> None:
    identity = services.deployment("corpus-to-model", "nightly")["id"]
    wanted = {"deployments": {"id": {"any_": [identity]}}}
    give_up = time.monotonic() + 180
    while not (runs := services.call("/flow_runs/filter", wanted)):
        assert time.monotonic() < give_up, "the scheduler created no run"
        time.sleep(2)
    assert {r["state_type"] for r in runs} == {"SCHEDULED"}
    assert all("T02:30:00" in r["expected_start_time"] for r in runs)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"sources": ["local"], "options": {"workers": -3}}, "workers"),
        ({"sources": []}, "sources"),
        ({"sources": ["local"], "options": {"wrkers": 1}}, "wrkers"),
    ],
)
def test_bad_parameters_are_refused_before_anything_starts(
    services: Any, parameters: dict, says: str
) -> None:
    before = services.call("/flow_runs/count", {})
    with pytest.raises(urllib.error.HTTPError) as refused:
        services.trigger("build-corpus", "build-corpus", parameters)
    assert refused.value.code == 409 and says in refused.value.read().decode()
    assert services.call("/flow_runs/count", {}) == before


def test_a_corpus_is_built_by_the_worker_and_reused_by_the_next_run(
    services: Any, corpus_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "corpus"
    parameters = {"sources": [str(corpus_file)], "out": str(out), "options": OPTIONS}
    first = services.trigger("build-corpus", "build-corpus", parameters)
    services.wait(first)
    artifacts = services.artifacts(first)
    assert {"corpus-sources", "corpus-ledger", "pile-mixture", "tracked-run"} <= set(artifacts)
    ledger = json.loads(artifacts["corpus-ledger"]["data"])
    manifest = json.loads((out / "manifest.json").read_text())
    lines = zstandard.ZstdDecompressor().stream_reader(corpus_file.read_bytes()).read()
    assert ledger[0]["documents in"] == len(lines.splitlines())
    assert ledger[0]["kept"] == manifest["documents"]
    assert services.says(first, "corpus: 1 input read"), services.log(first)

    second = services.trigger("build-corpus", "build-corpus", parameters)
    services.wait(second)
    task_runs = services.call("/task_runs/filter", {"flow_runs": {"id": {"any_": [second]}}})
    assert {t["name"].rpartition("-")[0] for t in task_runs} == {"find_sources", "report_corpus"}
    reused = "corpus: unchanged, reused from an earlier run (0 shards read)"
    assert services.says(second, reused), services.log(second)


@pytest.mark.slow
def test_a_users_mistake_fails_the_run_with_its_sentence_and_no_retry(
    services: Any, tmp_path: Path
) -> None:
    parameters = {"sources": [str(tmp_path / "nothing")], "out": str(tmp_path / "out")}
    run = services.trigger("build-corpus", "build-corpus", parameters)
    services.wait(run, "FAILED")
    assert services.says(run, "nothing stands at"), services.log(run)
    task_runs = services.call("/task_runs/filter", {"flow_runs": {"id": {"any_": [run]}}})
    assert [t["run_count"] for t in task_runs] == [1]


@pytest.mark.slow
def test_a_cancelled_training_leaves_no_process_and_continues(
    services: Any, marked_processes: Callable[..., list[int]], corpus_file: Path, tmp_path: Path
) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    built = {"sources": [str(corpus_file)], "out": str(corpus), "options": OPTIONS}
    services.wait(services.trigger("build-corpus", "build-corpus", built))
    standing = set(marked_processes(str(services.home)))
    parameters = {
        "corpus": str(corpus),
        "out": str(out),
        "overrides": [*TINY, "steps=1500", "checkpoint.every_steps=50"],
    }
    run = services.trigger("train-language-model", "train-language-model", parameters)
    latest = out / "checkpoints" / "LATEST"
    give_up = time.monotonic() + 240
    while not latest.exists():
        assert time.monotonic() < give_up and services.state(run) not in ("FAILED", "CRASHED"), (
            services.log(run)
        )
        time.sleep(0.3)
    assert len(set(marked_processes(str(services.home))) - standing) >= 2, "flow and rank"

    cancelling = {"state": {"type": "CANCELLING", "name": "Cancelling"}}
    services.call(f"/flow_runs/{run}/set_state", cancelling)
    services.wait(run, "CANCELLED", 120)
    give_up = time.monotonic() + 60
    while left := set(marked_processes(str(services.home))) - standing:
        assert time.monotonic() < give_up, f"processes {left} outlived the cancelled run"
        time.sleep(0.3)
    assert not (out / "model").exists(), "nothing half-done under a final name"
    assert not list(out.rglob("*.partial-*"))

    again = services.trigger("train-language-model", "train-language-model", parameters)
    services.wait(again)
    assert (out / "model" / "model.safetensors").exists()
    summary = services.artifacts(again)["training-summary"]["data"]
    assert "Step 1500" in summary and "resumed from" in summary


def test_the_pages_and_the_tracking_ui_answer(services: Any) -> None:
    state = json.loads((services.home / "services" / "services.json").read_text())
    for name in ("prefect", "tracking"):
        with urllib.request.urlopen(state[name]["url"], timeout=60) as answer:
            assert answer.status == 200
