"""Raw files as sources of a build: READER:URL, catalogs that name places, what is passed over."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest
import yaml

from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text.build import CorpusRef, CorpusRequest, build_corpus
from seamount.corpora.text.manifest import load_manifest
from seamount.corpora.text.split import SPLITS, read_split

GPL = "def area(width, height):\n    return width * height\n"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "src").mkdir(parents=True)
    for n in range(3):
        (folder / "src" / f"m{n}.py").write_text(f"{GPL}\n\nVALUE = {n}\n" + f"x{n} = {n}\n" * 20)
    (folder / "logo.bin").write_bytes(bytes(range(256)) * 4)
    return folder


def build(out: Path, *sources: str, **options: object) -> CorpusRef:
    given = {"dedupe": "none", **options}
    return build_corpus(CorpusRequest(tuple(sources), str(out), **given))  # type: ignore[arg-type]


def test_a_reader_and_a_place_are_a_source(code: Path, tmp_path: Path) -> None:
    built = build(tmp_path / "out", f"git_tree:{code}")
    assert built.documents == 3
    found = {d.component for s in SPLITS for d in read_split(built.url, s)}
    assert found == {"Github"}
    total = load_manifest(built.url)["ledger"]["total"]
    assert total["in"]["documents"] == 4  # the binary file is counted, and why it is left out
    assert [(why, n["documents"]) for why, n in total["dropped"].items()] == [
        ("git_tree: binary by its suffix", 1)
    ]
    assert total["dropped"]["git_tree: binary by its suffix"]["bytes"] == 1024
    assert build(tmp_path / "out", f"git_tree:{code}").reused
    (code / "src" / "m0.py").write_text("changed = 1\n" * 30)
    again = build(tmp_path / "out", f"git_tree:{code}")
    assert not again.reused and again.digest != built.digest


def test_a_catalog_names_reader_and_place(code: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("A note about the sea, and about nothing else. " * 5)
    catalog = tmp_path / "mine.yaml"
    components = {
        "My Code": {"reader": {"git_tree": {"url": str(code)}}},
        "My Notes": {"reader": {"plain_text": {"url": str(notes)}}},
    }
    catalog.write_text(
        yaml.safe_dump({"name": "mine", "mixture": "natural", "components": components})
    )
    built = build(tmp_path / "out", str(catalog))
    counts = {n: c["documents"] for n, c in load_manifest(built.url)["components"].items()}
    assert counts == {"My Code": 3, "My Notes": 1}


def test_one_damaged_dump_stops_the_build_or_is_told(tmp_path: Path) -> None:
    pages = "".join(
        f"<page><title>P{n}</title><ns>0</ns><id>{n}</id><revision><id>{n}</id><model>wikitext"
        f"</model><text>Page {n} about the sea, with ''words''.</text></revision></page>"
        for n in range(6)
    )
    whole = f"<mediawiki>{pages}</mediawiki>".encode()
    folder = tmp_path / "dumps"
    folder.mkdir()
    (folder / "a.xml.bz2").write_bytes(bz2.compress(whole)[:-20])
    (folder / "b.xml").write_bytes(whole.replace(b"P", b"Q"))
    with pytest.raises(CorruptData, match=r"a\.xml\.bz2.*allow-broken"):
        build(tmp_path / "out", f"wikitext:{folder}")
    built = build(tmp_path / "out", f"wikitext:{folder}", allow_broken=True)
    titles = {d.meta["title"] for s in SPLITS for d in read_split(built.url, s)}
    assert {f"Q{n}" for n in range(6)} <= titles
    (row,) = load_manifest(built.url)["ledger"]["inputs"]
    assert "a.xml.bz2" in row["error"]


def test_mistakes_are_one_sentence(code: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    cases = {
        "git_tree:": "names a reader but no place",
        f"python_sources:{code}": "takes no URL",
        f"plain_text:{empty}": "nothing that this reader reads",
        f"git_treee:{code}": "nothing stands at",
    }
    for source, message in cases.items():
        with pytest.raises(UserError, match=message):
            build(tmp_path / "out", source)
    with pytest.raises(UserError, match="lies in it"):
        build(code / "out", f"git_tree:{code}")
    for entry, message in {
        "plain_text": "needs the parameter 'url'",
        "wikitext": "no parameter 'lines'",
    }.items():
        given = {"lines": 3, "url": str(code)} if "lines" in message else {}
        catalog = tmp_path / "bad.yaml"
        content = {"name": "bad", "components": {"A": {"reader": {entry: given}}}}
        catalog.write_text(yaml.safe_dump(content))
        with pytest.raises(UserError, match=message):
            build(tmp_path / "out", str(catalog))
