"""Names from outside cannot break a table, hide in it, or look like others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import zstandard
from rich.cells import cell_len

from seamount.cli.main import main
from seamount.core.wording import column, counted, one_line

NAMES = [
    "a\nb",
    "evil\u202egpj.exe",
    "\u200bGithub",
    "x" * 150,
    "日本" * 60,
    "[red]r[/]",
    "y" * 300,
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    records = [
        {"text": f"{name} {n} and other words", "meta": {"pile_set_name": name}}
        for n, name in enumerate(NAMES * 3)
    ]
    path = tmp_path / "in" / "a.jsonl.zst"
    path.parent.mkdir()
    lines = "".join(json.dumps(record) + "\n" for record in records)
    path.write_bytes(zstandard.ZstdCompressor().compress(lines.encode()))
    return path.parent


@pytest.mark.parametrize("verb", ["corpus audit", "corpus build", "eval bpb"])
def test_tables_keep_a_name_on_one_short_line(
    capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path, verb: str
) -> None:
    rest = {
        "corpus audit": [str(source)],
        "corpus build": ["--source", str(source), "--out", str(tmp_path / "out")],
        "eval bpb": ["zstd", "--data", str(source)],
    }[verb]
    main([*verb.split(), *rest])
    out = capsys.readouterr().out
    assert all(character.isprintable() or character == "\n" for character in out)
    rows = [line for line in out.splitlines() if str(tmp_path) not in line]
    assert max(cell_len(row) for row in rows) <= 120
    assert sum("unknown" in row for row in rows) == 1  # the line end and the 300 characters
    for shown in (r"evil\u202egpj.exe", r"\u200bGithub", "[red]r[/]"):
        assert sum(shown in row for row in rows) == 1
    (long,) = (row for row in rows if "xxxx" in row)
    assert "x…" in long


def test_one_line_and_column() -> None:
    assert one_line("a\tb\r\n\x1b[0m\udcff\u2028") == r"a\tb\r\n\x1b[0m\udcff\u2028"
    assert one_line("naïve 東京 e\u0301") == "naïve 東京 e\u0301"
    assert one_line("abcdef", 4) == "abc…"
    cells = column(["short", "日本" * 60, "z" * 99])
    assert {cell_len(cell) for cell in cells} == {40}
    assert column([]) == [] and cell_len(column(["a"])[0]) == 22


def test_counted() -> None:
    assert [counted(n, "byte") for n in (0, 1, 2000)] == ["0 bytes", "1 byte", "2,000 bytes"]
