"""What a tester of the corpus factory broke: two at once, doubled sources, ids, names, settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.corpora.text import alone, build, jsonl_zst, mixture
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.catalog import load_catalog
from seamount.corpora.text.manifest import load_manifest
from seamount.corpora.text.split import SPLITS, read_split


def write(path: Path, count: int = 6, **meta: Any) -> Path:
    rows = [Document(f"text {n} of {path.name}", "ArXiv", f"d{n}", "", meta) for n in range(count)]
    path.parent.mkdir(exist_ok=True)
    jsonl_zst.write_documents(str(path), rows)
    return path


def ids(corpus: Path) -> list[str]:
    return sorted(d.id for split in SPLITS for d in read_split(str(corpus), split))


def catalog(path: Path, components: dict[str, Any]) -> str:
    path.write_text(yaml.safe_dump({"name": "mine", "components": components}))
    return str(path)


def test_two_builds_into_one_folder(tmp_path, monkeypatch):
    """The first is not disturbed, the second is told; before, one deleted the other's work."""
    source, out = write(tmp_path / "in" / "a.jsonl.zst"), tmp_path / "out"
    at_work, go_on = threading.Event(), threading.Event()
    real = build._build

    def slow(*given: Any) -> Any:
        at_work.set()
        assert go_on.wait(60)
        return real(*given)

    monkeypatch.setattr(build, "_build", slow)
    request = CorpusRequest((str(source),), str(out))
    first = threading.Thread(target=build_corpus, args=(request,))
    first.start()
    assert at_work.wait(60)
    code = "import sys; from seamount.cli.main import main; main()"
    command = [sys.executable, "-c", code, "corpus", "build", "--source", str(source)]
    second = subprocess.run(
        [*command, "--out", str(out)], capture_output=True, text=True, check=False
    )
    go_on.set()
    first.join()
    assert second.returncode == 2
    assert "another build or exclusion is at work" in second.stderr
    assert len(ids(out)) == 6


def test_the_folder_is_free_when_its_holder_is_gone(tmp_path):
    again = alone.alone(str(tmp_path))
    with alone.alone(str(tmp_path)), pytest.raises(UserError, match="at work"), again:
        pass
    with alone.alone(str(tmp_path)):
        pass


def test_a_file_given_twice_is_read_once(tmp_path, caplog):
    source = write(tmp_path / "in" / "a.jsonl.zst")
    sources = (str(source), str(source.parent), str(source))
    build_corpus(CorpusRequest(sources, str(tmp_path / "out"), dedupe="none"))
    assert ids(tmp_path / "out") == [f"d{n}" for n in range(6)]
    assert sum("given twice" in r.getMessage() for r in caplog.records) == 2


def test_ids_that_are_no_text(tmp_path):
    rows = [12345, 2**70, True, [1], None, ""]
    lines = [
        json.dumps({"text": f"text {n}", "meta": {"pile_set_name": "ArXiv", "id": one}})
        for n, one in enumerate(rows)
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text("\n".join(lines))
    build_corpus(CorpusRequest((str(tmp_path / "in"),), str(tmp_path / "out")))
    found = {d.text: d for split in SPLITS for d in read_split(str(tmp_path / "out"), split)}
    named = [found[f"text {n}"].id for n in range(6)]
    assert named == ["12345", str(2**70), "in/a:3", "in/a:4", "in/a:5", "in/a:6"]
    assert found["text 2"].meta == {"original_id": True}
    assert found["text 3"].meta == {"original_id": [1]}
    assert found["text 4"].meta == {}


def test_damage_that_was_allowed_is_told(tmp_path, caplog):
    whole = write(tmp_path / "in" / "a.jsonl.zst")
    (tmp_path / "in" / "b.jsonl.zst").write_bytes(whole.read_bytes()[:-20])
    request = CorpusRequest((str(whole.parent),), str(tmp_path / "out"), allow_broken=True)
    build_corpus(request)
    (told,) = load_manifest(str(tmp_path / "out"))["alarms"]
    assert told.startswith("in/b is damaged: ") and "cut short" in told
    assert any("in/b is damaged" in record.getMessage() for record in caplog.records)


def test_an_id_of_several_documents_is_an_alarm(tmp_path):
    for name in "ab":
        write(tmp_path / "in" / f"{name}.jsonl.zst", count=2)
    build_corpus(CorpusRequest((str(tmp_path / "in"),), str(tmp_path / "out"), dedupe="exact"))
    assert load_manifest(str(tmp_path / "out"))["alarms"] == [
        "4 documents share their id with another: find, trace and exclude take all of them"
    ]


@pytest.mark.parametrize("name", ["日本::x", "a::b::c", "x::memory:"])
def test_names_that_look_like_chains_of_file_systems(tmp_path, name):
    write(tmp_path / "in" / f"{name}.jsonl.zst")
    build_corpus(CorpusRequest((str(tmp_path / "in"),), str(tmp_path / "out")))
    assert len(ids(tmp_path / "out")) == 6


def test_a_link_to_itself_is_a_sentence(tmp_path):
    loop = tmp_path / "loop.jsonl.zst"
    os.symlink(loop.name, loop)
    with pytest.raises(UserError, match="loop"):
        build_corpus(CorpusRequest((str(loop),), str(tmp_path / "out")))


@pytest.mark.parametrize(("sources", "out"), [(("",), "x"), (("a", " "), "x"), (("a",), "")])
def test_an_empty_text_is_no_place(sources, out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="an empty text is no place"):
        build_corpus(CorpusRequest(sources, out))
    assert list(tmp_path.iterdir()) == []


def test_settings_of_a_catalog_that_cannot_be_meant(tmp_path):
    both = {"A": {"synonyms": ["Github"]}, "B": {"synonyms": ["Github"]}}
    with pytest.raises(UserError, match="'Github' is a synonym of 'A' and of 'B'"):
        load_catalog(catalog(tmp_path / "a.yaml", both))
    with pytest.raises(UserError, match="less than or equal to 10000"):
        load_catalog(catalog(tmp_path / "b.yaml", {"A": {"dedupe_passages": 10**12}}))


def test_the_component_that_bounds_a_strict_mixture_is_scarce():
    supply = {"a": mixture.Supply(100, 1.0, 0.5), "b": mixture.Supply(900, 1.0, 0.5)}
    wanted = mixture.targets(supply, "strict", None)
    shown = mixture.certificate(supply, wanted, {"a": 100, "b": 100})
    assert [shown[name]["scarce"] for name in "ab"] == [True, False]


def test_a_corpus_that_is_replaced_is_spoken_of(tmp_path, caplog):
    """Before, another request took the place of a finished corpus without a word."""
    source, out = write(tmp_path / "in" / "a.jsonl.zst"), tmp_path / "out"
    request = CorpusRequest((str(source.parent),), str(out))
    build_corpus(request)
    assert "is replaced" not in caplog.text
    write(source, 7)
    write(source.with_name("b.jsonl.zst"))
    build_corpus(replace(request, seed=3, dedupe="exact"))
    assert "is replaced (dedupe near -> exact, seed 0 -> 3, inputs new: 1" in caplog.text
    assert "inputs changed: 1)" in caplog.text
    build_corpus(replace(request, seed=3, dedupe="exact"))  # as it stands
    assert caplog.text.count("is replaced") == 1
