"""The last station: one page, one result file and one lineage for the whole road."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from seamount.core import lineage, storage
from seamount.evaluation.report import gather
from seamount.evaluation.report_page import write_report as write_page
from seamount.inference.generate import generate
from seamount.inference.loading import load_model
from seamount.tracking.run import Run
from tasks import publish
from tasks.curve import read_curves
from tasks.reference import Artefact
from tasks.tracking import station
from tasks.training import curve_path

PROMPT = "def main"
_SAMPLE_TOKENS = 96
_EXPORT_KEYS = ("path", "format", "bpb_delta", "components", "gate")
Road = Mapping[str, Artefact]


@task(
    description="Write report.html, result.json and lineage.json, and attach them to the run.",
    cache_policy=NO_CACHE,
)
def write_report(road: Road, out: str, recipe: dict[str, Any], run: Run, start_s: float) -> dict:
    """The content of result.json; `road` maps the name of a station to what it left."""
    with station(run, "report", f"report: {out}/report.html"):
        result = _result(road, out, run, start_s)
        _write_lineage(road, out, recipe, run)
        storage.write_json(result["result"], result)
        page = gather(
            out,
            curves=read_curves(curve_path(out)),
            sample=_sample(result["export"]["path"]),
            facts=[("tracked run", run.run_id), ("corpus", road["corpus"].path)],
        )
        run.assign_files({"report.html": write_page(page, result["report"])})
        run.assign_files({"result.json": result["result"]})
        publish.place("report", result["report"], "One page with every figure and plot")
    return result


def _sample(path: str) -> tuple[str, str]:
    """What the exported model writes after the prompt, greedily."""
    written = generate(load_model(path), PROMPT, max_new_tokens=_SAMPLE_TOKENS)
    return PROMPT, written.text


def _result(road: Road, out: str, run: Run, start_s: float) -> dict[str, Any]:
    scores = storage.read_json(road["scores"].path)
    export = road["export"].facts
    return {
        "corpus": road["corpus"].path,
        "tokenizer": road["tokenizer"].path,
        "checkpoint": road["model"].facts["checkpoint"],
        "model": road["model"].path,
        "bpb": {
            "weighted": scores["weighted"],
            "components": {name: part["bpb"] for name, part in scores["components"].items()},
            "weights": scores["weights"],
        },
        "baselines": road["baselines"].facts["weighted"],
        "export": {key: export[key] for key in _EXPORT_KEYS},
        "run_id": run.run_id,
        "report": storage.join(out, "report.html"),
        "result": storage.join(out, "result.json"),
        "lineage": storage.join(out, lineage.FILE_NAME),
        "seconds": round(time.monotonic() - start_s, 1),
    }


def _write_lineage(road: Road, out: str, recipe: dict[str, Any], run: Run) -> None:
    """The whole run as an artefact; its digest is that of everything it left."""
    folders = {n: a for n, a in road.items() if n in ("corpus", "tokenizer", "model", "export")}
    inputs = {name: {"path": a.path, "digest": a.digest} for name, a in folders.items()}
    digest = storage.digest_of({name: a.digest for name, a in road.items()})
    scores = {n: road[n].digest for n in ("scores", "baselines")}
    parameters = {"recipe": recipe, "scores": scores}
    lineage.write(out, lineage.Lineage("run", digest, inputs, parameters, run_id=run.run_id))
