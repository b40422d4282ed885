"""The catalog `as-is` keeps every readable document, unchanged; a missing component re-weights."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path

import zstandard
from typer.testing import CliRunner

from seamount.cli.corpus import app
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.manifest import load_manifest
from seamount.corpora.text.split import SPLITS, read_split


def texts_by_hand(folder: Path) -> Counter[tuple[str, str]]:
    """(component, text) of every line, by another decoder and the json module."""
    found: Counter[tuple[str, str]] = Counter()
    for path in sorted(folder.glob("*.jsonl.zst")):
        with path.open("rb") as stream:
            lines = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(stream), "utf-8")
            for line in iter(lines.readline, ""):
                record = json.loads(line)
                found[record["meta"]["pile_set_name"], record["text"]] += 1
    return found


def test_the_given_sample_as_it_is(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "pile_sample"
    built = build_corpus(CorpusRequest((str(source),), str(tmp_path / "out"), catalog="as-is"))
    assert built.documents == 2211  # what its README counts, empty ones and copies included
    found = Counter((d.component, d.text) for s in SPLITS for d in read_split(built.url, s))
    assert found == texts_by_hand(source)
    content = load_manifest(built.url)
    assert content["parameters"]["catalog"]["as_is"] is True
    total = content["ledger"]["total"]
    assert total["kept"] == total["in"] and not total["dropped"] and not total["duplicates"]
    assert total["normalisation_bytes"] == 0


def test_control_characters_and_carriage_returns_stay(tmp_path: Path) -> None:
    texts = ["a\r\nb\x00c\x07", "\ufeffstart", "", " ", "same", "same"]
    rows = [Document(text, "Own", str(n), "") for n, text in enumerate(texts)]
    jsonl_zst.write_documents(str(tmp_path / "in.jsonl.zst"), rows)
    request = CorpusRequest((str(tmp_path / "in.jsonl.zst"),), str(tmp_path / "o"), catalog="as-is")
    url = build_corpus(request).url
    assert sorted(d.text for s in SPLITS for d in read_split(url, s)) == sorted(texts)


def test_weights_before_and_after_are_printed(tmp_path: Path) -> None:
    rows = [
        Document(f"{name} number {n} says {n * n} and {n + 7}", name, f"{name}-{n}", "")
        for name in ("ArXiv", "Github")
        for n in range(30)
    ]
    jsonl_zst.write_documents(str(tmp_path / "in.jsonl.zst"), rows)
    arguments = ["build", "--source", str(tmp_path / "in.jsonl.zst"), "--out", str(tmp_path / "o")]
    result = CliRunner().invoke(app, [*arguments, "--catalog", "pile", "--dedupe", "none"])
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    # 8.96 and 7.59 of Table 1; ArXiv's share of the two is 54.14 %.
    assert "weights, scaled to the components that are there (16.55% of all):" in lines
    assert "ArXiv 8.96% -> 54.14%" in lines and "Github 7.59% -> 45.86%" in lines
