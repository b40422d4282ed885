"""Odd component names, file names and formats; what a build says when nothing is left of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import zstandard
from test_build_corpus import build, make_source
from test_corpus_command import run

from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text.catalog import load_catalog
from seamount.corpora.text.jsonl_zst import read_documents

ODD = ["a/b", "<b>&amp;</b>", "עברית", "emoji \U0001f30a", " x", "n" * 200]
BROKEN = ["a\tb", "a\nb", "\x00", "\x7f", "\x85", "a\u2028b", "n" * 201, "", 7, None, ["Github"]]


def pack(path: Path, *records: object) -> Path:
    path.parent.mkdir(exist_ok=True)
    lines = "".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records)
    path.write_bytes(zstandard.compress(lines.encode()))
    return path


def named(name: object, number: int = 0) -> dict[str, object]:
    return {"text": f"document {number} of words", "meta": {"pile_set_name": name}}


def test_names_that_break_tables_become_unknown(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.jsonl.zst", *(named(name) for name in [*ODD, *BROKEN]))
    found = [document.component for document in read_documents(str(path))]
    assert found == [*ODD, *["unknown"] * len(BROKEN)]


def test_no_document_of_a_bad_name_is_lost(tmp_path: Path) -> None:
    pack(tmp_path / "in/a.jsonl.zst", named("tab\there", 1), named("line\nend", 2), named("ok", 3))
    assert build(tmp_path / "in", tmp_path / "c", dedupe="none").documents == 3


def test_a_file_name_that_is_not_utf8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = pack(tmp_path / "in/a.jsonl.zst", named("Github"))
    os.rename(os.fsencode(good), os.fsencode(tmp_path) + b"/in/bad\xff.jsonl.zst")
    assert run("corpus", "build", "--source", tmp_path / "in", "--out", tmp_path / "c") == 2
    assert r"bad\xff.jsonl.zst is not valid UTF-8: rename" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def test_nothing_left_tells_the_counts(tmp_path: Path) -> None:
    pack(tmp_path / "in/a.jsonl.zst", {"text": " "}, {"text": "\n"}, "{", named("x")["meta"])
    with pytest.raises(UserError, match=r"4 records read, 2 dropped \(empty\), 2 quarantined"):
        build(tmp_path / "in", tmp_path / "c")
    pack(tmp_path / "none/a.jsonl.zst")
    with pytest.raises(UserError, match=r"0 records were read from 1 input\(s\)"):
        build(tmp_path / "none", tmp_path / "d")


def test_another_format_is_the_users_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl.zst"
    path.write_text(json.dumps(named("Github")) + "\n")
    assert run("corpus", "build", "--source", path, "--out", tmp_path / "c") == 2
    told = capsys.readouterr().err
    assert "plain JSON lines, not zstd" in told and "--allow-broken" not in told
    assert run("corpus", "check", path) == 1
    assert "not zstd" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"0 records were read.*not zstd"):
        build(path, tmp_path / "d", allow_broken=True)


def test_damage_before_the_first_record_advises_no_broken_build(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.jsonl.zst", named("Github"))
    path.write_bytes(path.read_bytes()[:9])
    with pytest.raises(CorruptData, match="cut short") as caught:
        build(path, tmp_path / "c")
    assert "--allow-broken" not in str(caught.value)


def test_quarantined_records_are_shown_by_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [named("Github", n) for n in range(4)]
    pack(tmp_path / "in/a.jsonl.zst", *records, "{", "{ {", {"meta": {}})
    assert run("corpus", "build", "--source", tmp_path / "in", "--out", tmp_path / "c") == 0
    shown = [
        s.strip() for s in capsys.readouterr().out.splitlines() if s.startswith("    quarantined")
    ]
    assert shown == [
        "quarantined no text field: 1 document, 13 bytes",
        "quarantined not JSON: Expecting property name enclosed in double quotes: "
        "2 documents, 6 bytes",
    ]


def test_a_seed_below_zero(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="seed is -1: give a whole number from 0 on"):
        build(make_source(tmp_path / "in", files=1), tmp_path / "c", seed=-1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("name: a\nname: b\n", "the key 'name' stands twice"),
        ("[" * 4000, "nested too deeply"),
    ],
)
def test_wrong_catalog_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        load_catalog(str(path))


def test_a_file_broken_after_good_records_names_the_way_on(tmp_path: Path) -> None:
    path = tmp_path / "half.jsonl.zst"
    good = zstandard.ZstdCompressor().compress(b'{"text": "one good record and its text"}\n')
    path.write_bytes(good + good[:-4])
    with pytest.raises(CorruptData, match=r"--allow-broken, which keeps the 1 record "):
        build(path, tmp_path / "c")
