"""Bytes on a progress line: what is done, how fast, and how long it will take."""

from __future__ import annotations

import logging
import time

import pytest

from seamount.core import progress


def test_amounts_for_people() -> None:
    said = {
        0: "0 B",
        1023: "1023 B",
        1536: "1.5 KiB",
        15_182_471_112: "14.1 GiB",
        1 << 43: "8.0 TiB",
    }
    assert {size: progress.amount(size) for size in said} == said


def test_a_name_on_the_bar_is_no_markup(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("seamount.core.settings.is_terminal", lambda: True)
    with progress.bar("importing", 2) as bar:
        bar.advance(1, "run [/b] of [red]")
    assert "run [/b] of [red]" in capsys.readouterr().err


def test_a_plain_line_tells_rate_and_time_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("seamount.core.settings.is_terminal", lambda: False)
    with caplog.at_level(logging.INFO), progress.bar("download", 10 << 20, in_bytes=True) as bar:
        monkeypatch.setattr(time, "monotonic", lambda: bar._start_s + 20.0)
        bar.advance(2 << 20, "0 of 3 files")
    said = "download 2.0 MiB of 10.0 MiB, 102.4 KiB/s, 0:01:20 left, 0 of 3 files"
    assert caplog.messages == [said]
