"""prefect.yaml and the flows behind it, without a server."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CONTENT = yaml.safe_load((ROOT / "prefect.yaml").read_text())
DEPLOYMENTS = CONTENT["deployments"]
FLOW_FILES = sorted(p for p in (ROOT / "flows").glob("*.py") if p.stem != "__init__")


def load(entrypoint: str) -> Any:
    from prefect.flows import load_flow_from_entrypoint

    return load_flow_from_entrypoint(entrypoint, use_placeholder_flow=False)


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda d: d["name"])
def test_each_deployment_loads_and_its_parameters_are_accepted(deployment: dict) -> None:
    flow = load(deployment["entrypoint"])
    flow.validate_parameters(deployment["parameters"])
    assert deployment["tags"] and deployment["description"].endswith(".")
    assert deployment["work_pool"]["name"] == "seamount-local"


def test_names_are_unique_and_every_flow_is_deployed() -> None:
    names = [d["name"] for d in DEPLOYMENTS]
    assert len(names) == len(set(names))
    entrypoints = {d["entrypoint"] for d in DEPLOYMENTS}
    assert entrypoints == {f"flows.{p.stem}.{p.stem}" for p in FLOW_FILES}


def test_one_schedule_runs_every_night() -> None:
    from prefect.client.schemas.schedules import CronSchedule

    schedules = [(d["name"], s) for d in DEPLOYMENTS for s in d.get("schedules", [])]
    for _, schedule in schedules:
        CronSchedule(cron=schedule["cron"], timezone=schedule["timezone"])
    nightly = [n for n, s in schedules if s["active"] and s["cron"].split()[2:] == ["*"] * 3]
    assert nightly == ["nightly"]


@pytest.mark.parametrize("file", FLOW_FILES, ids=lambda p: p.stem)
def test_flow_files_are_thin_and_their_names_are_free(file: Path) -> None:
    verb, _, rest = file.stem.partition("_")
    verbs = {"build", "download", "audit", "exclude", "tokenize", "train", "evaluate", "export"}
    verbs |= {"corpus"}
    assert verb in verbs and rest
    installed = {name.split(".")[0] for name in importlib.metadata.packages_distributions()}
    root_packages = {p.name for p in ROOT.iterdir() if (p / "__init__.py").is_file()}
    assert file.stem not in installed | root_packages
    function = next(n for n in ast.parse(file.read_text()).body if isinstance(n, ast.FunctionDef))
    length = function.end_lineno - function.body[1].lineno + 1  # type: ignore[operator]
    assert length <= 30, f"the body of {file.stem} has {length} lines"


@pytest.mark.parametrize("file", FLOW_FILES, ids=lambda p: p.stem)
def test_the_form_describes_every_parameter(file: Path) -> None:
    flow = load(f"flows.{file.stem}.{file.stem}")
    assert flow.description
    schema = flow.parameters.model_dump()
    for name, field in schema["properties"].items():
        assert field.get("description") or "$ref" in str(field), f"{name} has no description"
    for model in (schema.get("definitions") or {}).values():
        for name, field in model["properties"].items():
            assert field.get("description"), f"{model['title']}.{name} has no description"
            if field.get("type") in ("integer", "number"):
                assert {"minimum", "exclusiveMinimum"} & set(field), f"{name} has no lower bound"


def test_the_run_recipe_gives_parameters_of_the_main_flow() -> None:
    from seamount.cli.run import read_parameters

    flow = load("flows.corpus_to_model.corpus_to_model")
    flow.validate_parameters(read_parameters("text/run.yaml", ["steps=5"], {"workers": 1}))
    first = (ROOT / "recipes/text/run.yaml").read_text().splitlines()[0]
    assert re.match(r"# .*minutes.*bits per byte", first)


@pytest.mark.parametrize(
    ("flow", "parameters", "says"),
    [
        ("corpus_to_model", {"out": ""}, "out"),
        ("corpus_to_model", {"corpus_options": {"workers": -1}}, "workers"),
        ("corpus_to_model", {"corpus_options": {"wrkers": 1}}, "wrkers"),
        ("corpus_to_model", {"overrides": ["steps"]}, "overrides"),
        ("corpus_to_model", {"export_options": {"quantize": "int3"}}, "quantize"),
        ("build_corpus", {"sources": []}, "sources"),
        ("download_pile", {"options": {"jobs": 0}}, "jobs"),
        ("download_pile", {"base_urls": [""]}, "base_urls"),
        ("audit_corpus", {"options": {"ngram": 0}}, "ngram"),
        ("exclude_documents", {"choice": {"match": ""}}, "match"),
        ("tokenize_corpus", {"vocab_size": 100}, "vocab_size"),
        ("tokenize_corpus", {"options": {"split": "dev"}}, "split"),
        ("evaluate_bpb", {"options": {"baselines": ["gzip"]}}, "baselines"),
    ],
)
def test_bad_values_are_refused(flow: str, parameters: dict, says: str) -> None:
    from prefect.exceptions import ParameterTypeError

    with pytest.raises(ParameterTypeError, match=says):
        load(f"flows.{flow}.{flow}").validate_parameters(parameters)


def test_flows_hold_no_loops_and_no_torch() -> None:
    for file in FLOW_FILES:
        nodes = list(ast.walk(ast.parse(file.read_text())))
        assert not any(isinstance(n, ast.For | ast.While) for n in nodes)
        assert "torch" not in file.read_text()
    assert inspect.getdoc(load("flows.build_corpus.build_corpus"))


def test_the_automations_are_what_prefect_takes_and_name_tags_we_use() -> None:
    from prefect.events.schemas.automations import AutomationCore

    content = yaml.safe_load((ROOT / "deployments" / "automations.yaml").read_text())
    tags = {tag for d in DEPLOYMENTS for tag in d["tags"]}
    for automation in content["automations"]:
        AutomationCore.model_validate(automation)
        related = automation["trigger"]["match_related"]
        assert related[0]["prefect.resource.id"].removeprefix("prefect.tag.") in tags
