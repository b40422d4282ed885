"""The started services, and Debian's Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from prefect_services import corpus_file, hostile_folder, services

__all__ = ["corpus_file", "hostile_folder", "services"]
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update"
)


@pytest.fixture
def page() -> Iterator[Any]:
    """A page of Debian's Chromium; its absence skips here and fails in CI."""
    program = shutil.which("chromium")
    if program is None:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("chromium is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIET.split())
        opened = browser.new_page(viewport={"width": 1300, "height": 2000})
        opened.set_default_timeout(60_000)
        yield opened
        browser.close()
