"""`seamount corpus` as a person types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run
from test_build_corpus import make_source

from seamount.cli.main import main


def test_build_then_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = make_source(tmp_path / "in"), tmp_path / "c"
    command = ("corpus", "build", "--source", source, "--out", out)
    assert run(*command, "--dry-run") == 0
    assert "in/00" in capsys.readouterr().out and not out.exists()
    assert run(*command, "--json", tmp_path / "r.json") == 0
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["reused"] is False and result["ledger"]["in"]["documents"] == 160
    assert run(*command) == 0
    assert "reused, 0 shards read" in capsys.readouterr().out
    assert run("corpus", "audit", out, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["documents"] == result["documents"]
    assert shown["components"].keys() == result["components"].keys()
    assert run("corpus", "audit", source) == 0
    assert "effective number" in capsys.readouterr().out


def test_check(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shared_data / "messy/text"
    good, broken = folder / "missing_text.jsonl.zst", folder / "truncated_mid_block.jsonl.zst"
    assert run("corpus", "check", good, "--json") == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert file == {
        "url": str(good),
        "documents": 2,
        "quarantined": [
            {"line": 2, "reason": "no text field"},
            {"line": 3, "reason": "no text field"},
        ],
        "error": None,
    }
    assert run("corpus", "check", good, broken) == 1
    shown = capsys.readouterr()
    assert "cut short" in shown.out and "1 of 2 files is broken" in shown.err


def test_mistakes_exit_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("corpus", "check", tmp_path / "absent") == 2
    assert run("corpus", "build", "--source", tmp_path, "--out", tmp_path / "c") == 2
    assert run("corpus", "catalog", "pyle") == 2
    assert run("corpus", "build", "--out", tmp_path) == 2
    data = tmp_path / "a.jsonl.zst"
    assert run("corpus", "check", "--json", data, data) == 2
    assert not data.exists()
    assert "would overwrite data" in capsys.readouterr().err


def test_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("corpus", "catalog") == 0
    table = capsys.readouterr().out
    assert "Gutenberg (PG-19)" in table and "18.11%" in table
    assert run("corpus", "catalog", "local", "--json") == 0
    assert "Github" in json.loads(capsys.readouterr().out)["components"]


def test_help_is_quick() -> None:
    code = (
        "import sys, seamount.cli.corpus; "
        "print([m for m in ('numba', 'pyarrow', 'distributed', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_no_corpus_at_all_is_a_mistake_and_what_claims_to_be_one_is_broken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "p.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    for verb in (("check", picture), ("audit", picture), ("build", "--source", picture)):
        rest = ("--out", tmp_path / "c") if verb[0] == "build" else ()
        assert run("corpus", *verb, *rest) == 2
        shown = capsys.readouterr()
        assert "is no zstd file, nor called one" in shown.err and shown.out == ""
    assert not (tmp_path / "c").exists()
    with pytest.raises(SystemExit) as stopped:
        main(["eval", "bpb", "zstd", "--data", str(picture)])
    assert stopped.value.code == 2 and "is no zstd file" in capsys.readouterr().err
    named = picture.rename(tmp_path / "p.jsonl.zst")
    assert run("corpus", "check", named) == 1
    assert "1 of 1 file is broken" in capsys.readouterr().err
    (source,) = make_source(tmp_path / "in", files=1).glob("*.jsonl.zst")
    other_name = source.rename(tmp_path / "good.bin")  # its content says what it is
    assert run("corpus", "check", other_name) == 0


def test_a_refused_build_leaves_nothing_to_resume_unless_there_is(
    tmp_path: Path, shared_data: Path
) -> None:
    broken = shared_data / "messy/text/truncated_mid_block.jsonl.zst"
    out = tmp_path / "out"
    assert run("corpus", "build", "--source", broken, "--out", out) == 1
    assert list(out.iterdir()) == []
    source = make_source(tmp_path / "in", files=40)
    (source / "zz.jsonl.zst").write_bytes(broken.read_bytes())
    assert run("corpus", "build", "--source", source, "--out", out) == 1
    assert list(out.glob(".work/clean/*/result.json"))
    (source / "zz.jsonl.zst").unlink()
    assert run("corpus", "build", "--source", source, "--out", out) == 0
    assert not (out / ".work").exists()
