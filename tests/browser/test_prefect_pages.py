"""A person runs a deployment from Prefect's own pages: the form, the button, the artifacts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.browser,
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


def fill(page: Any, label: str, value: str) -> None:
    """Type into the first input below a label of the parameter form."""
    below = f"//label[starts-with(normalize-space(.), '{label}')]"
    block = f"{below}/ancestor::*[contains(concat(' ', @class, ' '), ' p-label ')][1]"
    page.locator(f"xpath={block}").locator("input, textarea").first.fill(value)


def open_form(page: Any, services: Any) -> None:
    identity = services.deployment("build-corpus", "build-corpus")["id"]
    page.goto(f"{services.pages}/deployments/deployment/{identity}")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Custom run").click()
    page.get_by_text("Run Name").wait_for()
    page.get_by_text("Dask workers; 0 or 1 works in the flow.").wait_for()


def runs(services: Any) -> int:
    return services.call("/flow_runs/count", {})


def test_the_form_runs_a_deployment(
    page: Any, services: Any, corpus_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "corpus"
    open_form(page, services)
    fill(page, "Run Name", "run-by-hand")
    fill(page, "sources", str(corpus_file))
    fill(page, "out", str(out))
    fill(page, "Workers", "0")
    fill(page, "Test Share", "0.1")
    page.screenshot(path=tmp_path / "form.png", full_page=True)
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("link", name="run-by-hand").first.click()
    page.wait_for_url(re.compile("/runs/flow-run/"))
    run = page.url.rpartition("/")[2].split("?")[0]
    services.wait(run)
    assert (out / "manifest.json").exists()

    page.reload()
    page.get_by_text("Completed").first.wait_for()
    page.get_by_text("Artifacts", exact=True).first.click()
    for key in ("corpus-ledger", "pile-mixture", "tracked-run"):
        page.get_by_text(key, exact=True).first.wait_for()
    page.screenshot(path=tmp_path / "artifacts.png", full_page=True)
    mixture = services.artifacts(run)["pile-mixture"]["id"]
    page.goto(f"{services.pages}/artifacts/artifact/{mixture}")
    page.get_by_text("StackExchange").first.wait_for()
    page.screenshot(path=tmp_path / "mixture.png", full_page=True)


def test_the_form_refuses_a_bad_value_before_anything_starts(
    page: Any, services: Any, tmp_path: Path
) -> None:
    before = runs(services)
    open_form(page, services)
    fill(page, "Workers", "-3")
    page.get_by_role("button", name="Submit").click()
    page.get_by_text(re.compile("minimum of 0|less than the minimum")).first.wait_for()
    page.screenshot(path=tmp_path / "refused.png", full_page=True)
    assert page.url.partition("?")[0].endswith("/run")
    assert runs(services) == before
