"""Lineage: the tree of what an artefact was made from, and what changed under it."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamount.core import lineage
from seamount.core.errors import CorruptData, UserError
from seamount.core.lineage import Lineage


def make_chain(root: Path) -> tuple[str, str]:
    corpus, model = str(root / "corpus"), str(root / "model")
    lineage.write(corpus, Lineage("corpus", "aaa"))
    inputs = {"corpus": lineage.reference(corpus)}
    lineage.write(model, Lineage("model", "bbb", inputs, {"steps": 3}))
    return corpus, model


def test_tree_of_a_file_in_the_folder(tmp_path: Path) -> None:
    corpus, model = make_chain(tmp_path)
    (tmp_path / "model/model.safetensors").write_bytes(b"x")
    tree = lineage.tree(str(tmp_path / "model/model.safetensors"))
    assert (tree["kind"], tree["path"]) == ("model", model)
    assert tree["inputs"]["corpus"]["path"] == corpus
    assert tree["inputs"]["corpus"]["state"] == "ok"


def test_changed_and_missing_inputs_are_named(tmp_path: Path) -> None:
    corpus, model = make_chain(tmp_path)
    lineage.write(corpus, Lineage("corpus", "other"))
    assert lineage.tree(model)["inputs"]["corpus"]["state"] == "changed"
    (tmp_path / "corpus/lineage.json").unlink()
    assert lineage.tree(model)["inputs"]["corpus"]["state"] == "missing"


def test_a_folder_without_lineage_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not an artefact made by Seamount"):
        lineage.tree(str(tmp_path))


def test_a_circle_is_refused(tmp_path: Path) -> None:
    folder = str(tmp_path / "a")
    lineage.write(folder, Lineage("x", "1", {"self": {"path": folder, "digest": "1"}}))
    with pytest.raises(CorruptData, match="leads back to itself"):
        lineage.tree(folder)


def test_a_foreign_lineage_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "lineage.json").write_text('{"what": 1}')
    with pytest.raises(CorruptData, match=r"is not a lineage file"):
        lineage.read(str(tmp_path))
