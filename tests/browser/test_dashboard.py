"""The dashboard in Debian's Chromium: table, charts, hostile names, live runs, keys alone."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dashboard_pages import need_assets, served

from seamount.tracking import Run
from seamount.tracking.dashboard import tokens
from seamount.tracking.store.folder import Store, open_store

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(180)]

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
MARKDOWN = "[x](javascript:document.title='owned') ![y](x' onerror='document.title=1)"
WRITER = """
import sys, time
from seamount.tracking import Run
run = Run(project="live", run_id="live", name="eight", store=sys.argv[1], rank=int(sys.argv[2]))
for step in range(100000):
    run.log_metrics({"loss": 1.0 + step % 7 + int(sys.argv[2])}, step=step)
    time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Five runs, one with a hostile name and one with a NaN."""
    store = open_store(tmp_path_factory.mktemp("dashboard") / "store")
    for n, name in enumerate(["alpha", "beta", "gamma", HOSTILE, MARKDOWN]):
        with Run(project="fruit", name=name, run_id=f"r{n}", store=store.uri, capture=False) as run:
            run.log_configs({"lr": 10.0**-n, "note": HOSTILE, HOSTILE: n})
            for step in range(50):
                bad = n == 1 and step == 20
                run.log_metrics({"loss": float("nan") if bad else n + 5 / (step + 1)}, step=step)
            run.log_metrics({HOSTILE: 1.0, "val/acc": n / 5}, step=0)
    return store


@pytest.fixture(scope="module")
def address(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    need_assets()
    with served(store, tmp_path_factory.mktemp("ui")) as found:
        yield found


@pytest.fixture
def heard(page: Any) -> list[str]:
    """What went wrong in the page; a question the server refuses is no fault of it."""
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(f"{error}: {error.stack}"))
    page.on(
        "console",
        lambda m: said.append(m.text) if m.type == "error" and "400" not in m.text else None,
    )
    page.set_viewport_size({"width": 1400, "height": 900})
    return said


def names(page: Any) -> list[str]:
    return page.locator(".grid .body .row .called").all_inner_texts()


def wait_for(page: Any, condition: Callable[[], Any], seconds: float = 15) -> Any:
    give_up = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < give_up, "it did not come"
        page.wait_for_timeout(50)  # events of the page come in meanwhile
    return found


def test_filter_sort_pin_and_the_address(page: Any, address: str, heard: list[str]) -> None:
    page.goto(address)
    page.get_by_text("5 runs", exact=True).wait_for()
    assert names(page) == [MARKDOWN, HOSTILE, "gamma", "beta", "alpha"]
    box = page.get_by_label("Filter", exact=True)
    box.fill("config.lr > 0.005")
    page.get_by_text("3 of 5 runs").wait_for()
    page.get_by_role("columnheader", name="loss").get_by_role("button").first.click()
    wait_for(page, lambda: names(page) == ["alpha", "beta", "gamma"])
    page.locator(".grid").focus()
    page.keyboard.press("End")
    page.keyboard.press("p")
    page.get_by_label("Show gamma in charts").first.wait_for()
    wait_for(page, lambda: page.locator(".grid .top .called .pin").count() == 1)
    wait_for(page, lambda: "view=" in page.url)
    kept = page.url
    page.goto("about:blank")
    page.goto(kept)
    page.get_by_text("3 of 5 runs").wait_for()
    assert names(page) == ["alpha", "beta", "gamma"]
    assert box.input_value() == "config.lr > 0.005"
    assert page.locator(".grid .top .called").all_inner_texts() == ["gamma"]
    assert page.locator("[aria-sort=ascending]").get_attribute("title") == "last(loss)"
    assert heard == []


def test_back_goes_one_change_back(page: Any, address: str, heard: list[str]) -> None:
    page.goto(address)
    page.get_by_text("5 runs", exact=True).wait_for()
    page.get_by_role("columnheader", name="lr").get_by_role("button").first.click()
    wait_for(page, lambda: names(page)[0] == MARKDOWN)
    page.get_by_role("columnheader", name="lr").get_by_role("button").first.click()
    wait_for(page, lambda: names(page)[0] == "alpha")
    page.go_back()
    wait_for(page, lambda: names(page)[0] == MARKDOWN)
    assert heard == []


def test_a_mistake_is_shown_at_its_place(page: Any, address: str, heard: list[str]) -> None:
    page.goto(address)
    page.get_by_label("Filter", exact=True).fill("loss < 2")
    page.keyboard.press("Enter")
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert "write config.loss" in alert.inner_text()
    assert alert.locator("pre").inner_text().splitlines()[1].index("^") == 0
    page.get_by_label("Search in all metadata").fill("(")
    assert page.get_by_label("Filter", exact=True).get_attribute("aria-invalid") == "true"
    page.get_by_label("Filter", exact=True).fill("config.lr > 100")
    page.get_by_label("Search in all metadata").fill("")
    page.get_by_role("button", name="Show all runs").click()
    page.get_by_text("5 runs", exact=True).wait_for()


def test_names_of_runs_run_nothing(page: Any, address: str, heard: list[str]) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    page.get_by_text("5 runs", exact=True).wait_for()
    page.get_by_role("button", name="Columns").click()
    page.get_by_placeholder("Find a column").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Charts").click()
    wait_for(page, lambda: page.locator(".card .uplot canvas").count() >= 2)
    page.locator(".plot").first.hover()
    page.wait_for_timeout(500)
    assert page.title() == "Charts · Seamount"
    assert page.locator("img[src=x], script:not([src]):not([type=importmap])").count() == 0
    assert {re.match(r"[a-z]+://[^/]+", url)[0] for url in requests} == {address}
    assert heard == []


def test_charts_zoom_smooth_and_read_as_table(page: Any, address: str, heard: list[str]) -> None:
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url) if "/api/v1/chart" in r.url else None)
    page.goto(address)
    for name in ("alpha", "beta"):
        page.get_by_label(f"Show {name} in charts").check()
    page.get_by_role("toolbar").get_by_role("button", name="Charts").click()
    card = page.locator(".card", has=page.get_by_role("heading", name="loss", exact=True))
    card.locator("canvas").wait_for()
    card.get_by_text("first NaN at step 20, rank 0").wait_for()
    said = card.get_by_role("img").get_attribute("aria-label")
    assert "beta" in said and "first NaN at step 20 of rank 0" in said and "2 lines" in said
    before = len(asked)
    over = card.locator(".u-over").bounding_box()
    middle = over["y"] + over["height"] / 2
    page.mouse.move(over["x"] + over["width"] * 0.25, middle)
    page.mouse.down()
    page.mouse.move(over["x"] + over["width"] * 0.75, middle, steps=5)
    page.mouse.up()
    page.get_by_role("button", name="Whole range").wait_for()
    wait_for(page, lambda: len(asked) > before and "x_range" in asked[-1])
    page.get_by_role("button", name="Smoothing: none").click()
    page.get_by_label("Kind").select_option("median")
    wait_for(page, lambda: "median" in asked[-1])
    page.keyboard.press("Escape")
    card.get_by_role("button", name="view as table").click()
    assert card.locator("tbody th").all_inner_texts()[:2] == ["alpha", "beta"]
    assert heard == []


def test_keys_alone(page: Any, address: str, heard: list[str]) -> None:
    page.goto(address)
    page.get_by_text("5 runs", exact=True).wait_for()

    def tab_to(what: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("(s) => document.activeElement.matches(s)", what):
                return
        raise AssertionError(f"Tab does not reach {what}")

    tab_to(".grid")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    page.get_by_text("2 runs chosen").wait_for()
    page.keyboard.press("Home")
    page.evaluate("document.body.focus()")
    tab_to(".selection button.primary")
    page.keyboard.press("Enter")
    page.locator(".card canvas").first.wait_for()
    tab_to(".plot")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.locator(".tip").first.wait_for()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert heard == []


def test_a_run_of_eight_processes_is_seen_while_it_is_written(
    page: Any, address: str, store: Store, heard: list[str]
) -> None:
    page.goto(address)
    page.get_by_text("5 runs", exact=True).wait_for()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, store.uri, str(rank)]) for rank in range(8)
    ]
    try:
        page.get_by_text("6 runs", exact=True).wait_for()  # no reload
        page.get_by_label("Show eight in charts").check()
        page.get_by_role("toolbar").get_by_role("button", name="Charts").click()
        page.get_by_label("Ranks").select_option("strands")
        card = page.locator(".card", has=page.get_by_role("heading", name="loss", exact=True))
        wait_for(page, lambda: card.locator(".legend li").count() == 8, 40)
        bodies: list[Any] = []
        page.on("response", lambda r: bodies.append(r) if "/api/v1/chart" in r.url else None)

        plot = card.get_by_role("img")
        first = plot.get_attribute("aria-label")
        wait_for(page, lambda: plot.get_attribute("aria-label") != first, 10)
        page.wait_for_timeout(3000)
        assert len(bodies) <= 2, "new points are put behind the old ones, not asked for anew"
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    assert heard == []


def test_a_token_and_a_link(page: Any, store: Store, tmp_path: Path) -> None:
    need_assets()
    with served(store, tmp_path, SEAMOUNT_TRACKING_TOKEN="open-sesame") as address:
        page.goto(address)
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("not the server's token").wait_for()
        page.get_by_label("Token").fill("open-sesame")
        page.get_by_role("button", name="Log in").click()
        page.get_by_text(re.compile(r"^\d runs$")).wait_for()
        fresh = page.context.browser.new_context().new_page()
        with Run(project="other", name="secret", store=store.uri, capture=False):
            pass
        fresh.goto(f"{address}/?share={tokens.issue(store, project='other')}")
        fresh.get_by_text("1 run", exact=True).wait_for()
        fresh.get_by_text("read only: other").wait_for()
        assert fresh.locator(".grid .body .called").all_inner_texts() == ["secret"]
        fresh.goto(f"{address}/?share=no.good")
        fresh.get_by_text("expired or was withdrawn").wait_for()
