"""The dry run: a sample that is the whole must predict the build itself; nothing is written."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from seamount.cli.corpus import app
from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.corpora.text import dry_run, jsonl_zst
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.manifest import load_manifest


def source(folder: Path, files: int, documents: int) -> Path:
    random = Random(7)
    for number in range(files):
        rows = []
        for n in range(documents):
            words = " ".join(f"w{random.randrange(3000)}" for _ in range(random.randint(20, 200)))
            text = {0: "short", 1: "x" * 2000, 2: f"{words}\r\n"}.get(n % 10, words)
            component = ("EuroParl", "Github", "ArXiv")[n % 3]
            rows.append(Document(text, component, f"{number}-{n}", ""))
        jsonl_zst.write_documents(str(folder / f"{number:02d}.jsonl.zst"), rows)
    return folder


def test_a_sample_of_everything_is_the_build(tmp_path: Path) -> None:
    folder = source(tmp_path / "in", files=3, documents=50)
    request = CorpusRequest((str(folder),), str(tmp_path / "out"))
    told = dry_run.predict(request, sample_bytes=100_000_000)
    assert not (tmp_path / "out").exists()
    build_corpus(request)
    total = load_manifest(str(tmp_path / "out"))["ledger"]["total"]
    assert told["corpus"]["documents"] == total["in"]["documents"] == 150
    assert told["corpus"]["bytes"] == total["in"]["bytes"]
    assert told["corpus"]["kept_bytes"] == total["kept"]["bytes"]
    assert told["rules"]["kept"] == pytest.approx(total["kept"]["bytes"] / total["in"]["bytes"])
    for why, tally in total["dropped"].items():
        share = tally["bytes"] / total["in"]["bytes"]
        assert told["rules"][f"dropped, {why}"] == pytest.approx(share)
    assert sum(told["rules"].values()) == pytest.approx(1)


def test_a_small_sample_tells_the_size_of_the_whole(tmp_path: Path) -> None:
    folder = source(tmp_path / "in", files=4, documents=1500)
    request = CorpusRequest((str(folder),), str(tmp_path / "out"))
    told = dry_run.predict(request, sample_bytes=400_000)
    build_corpus(request)
    total = load_manifest(str(tmp_path / "out"))["ledger"]["total"]
    assert told["sample"]["documents"] < total["in"]["documents"] / 3
    # The documents are drawn from one distribution, so a few hundred tell the mean within 10 %.
    assert told["corpus"]["bytes"] == pytest.approx(total["in"]["bytes"], rel=0.1)
    assert told["corpus"]["documents"] == pytest.approx(total["in"]["documents"], rel=0.1)
    pile = told["pile"]
    assert pile["documents"] == 146_340_692
    assert pile["bytes"] == pytest.approx(825.18 * 2**30, rel=1e-3)
    hours = [pile["hours"][n] for n in ("1", "16", "64")]
    assert hours[0] > hours[1] > hours[2] > 0
    # A byte of the Pile costs what a byte of the sample costs.
    seconds = sum(told["sample"]["cpu_s"][n] for n in ("clean", "scatter", "gather"))
    shared = (hours[0] - hours[1]) * 16 / 15 * 3600
    assert shared == pytest.approx(seconds * pile["bytes"] / told["sample"]["bytes"])


def test_a_head_that_ends_in_a_long_first_line(tmp_path: Path) -> None:
    random = Random(1)
    words = [str(random.random()) for _ in range(60_000)]
    rows = [Document(" ".join(words), "ArXiv", "long", ""), Document("end " * 50, "ArXiv", "e", "")]
    jsonl_zst.write_documents(str(tmp_path / "a.jsonl.zst"), rows)
    request = CorpusRequest((str(tmp_path / "a.jsonl.zst"),), str(tmp_path / "out"))
    assert dry_run.predict(request, sample_bytes=1000)["sample"]["documents"] >= 1


def test_the_command_prints_a_table_and_json(tmp_path: Path) -> None:
    folder = source(tmp_path / "in", files=2, documents=30)
    arguments = ["build", "--source", str(folder), "--out", str(tmp_path / "out"), "--dry-run"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert "the Pile (825 GiB)" in shown.output and "64 workers" in shown.output
    result = CliRunner().invoke(app, [*arguments, "--json"])
    content = json.loads(result.stdout)
    assert [one["name"] for one in content["inputs"]] == ["in/00", "in/01"]
    assert set(content["pile"]["hours"]) == {"1", "16", "64"}
    assert not (tmp_path / "out").exists()


def test_nothing_to_sample_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl.zst").write_bytes(b"")
    request = CorpusRequest((str(tmp_path / "empty.jsonl.zst"),), str(tmp_path / "out"))
    with pytest.raises(UserError, match="hold nothing"):
        dry_run.predict(request)
