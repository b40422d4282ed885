"""Where an export may be published: never over, in or around anything but an earlier export."""

from __future__ import annotations

import pytest

from seamount.core import lineage
from seamount.core.errors import UserError
from seamount.export import target
from seamount.export.publish import ExportRequest, export_model


def artefact(folder, kind):
    lineage.write(str(folder), lineage.Lineage(kind, "d0"))
    return folder


def files(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("kind", ["corpus", "tokenizer", "tokens", "model", "checkpoint", "run"])
def test_no_other_artefact_is_replaced(kind, model_folder, tmp_path):
    out = artefact(tmp_path / "out", kind)
    before = files(tmp_path)
    with pytest.raises(UserError, match=f"is a {kind}, not an export"):
        export_model(ExportRequest(model_folder, str(out)))
    assert files(tmp_path) == before


def test_the_model_is_not_replaced_by_its_export(model_folder, tmp_path):
    from pathlib import Path

    before = files(Path(model_folder))
    (tmp_path / "link").symlink_to(model_folder)
    parent = str(Path(model_folder).parent)
    for out in (model_folder, f"{model_folder}/export", parent, str(tmp_path / "link")):
        with pytest.raises(UserError, match="the model this export reads"):
            export_model(ExportRequest(model_folder, out))
    assert files(Path(model_folder)) == before


def test_an_export_folder_around_or_in_the_data_is_refused(tmp_path):
    corpus = str(artefact(tmp_path / "corpus", "corpus"))
    for out in (corpus, f"{corpus}/export", str(tmp_path)):
        with pytest.raises(UserError, match="the data this export reads"):
            target.refuse_foreign(out, "/elsewhere/model", corpus)


def test_the_layout_of_a_run_absent_empty_and_earlier_exports_are_fine(tmp_path):
    model, corpus = str(tmp_path / "model"), str(tmp_path / "corpus")
    out = tmp_path / "export"
    target.refuse_foreign(str(out), model, corpus)
    out.mkdir()
    target.refuse_foreign(str(out), model, corpus)
    artefact(out, "export")
    target.refuse_foreign(str(out), model, corpus)
    target.refuse_foreign(str(tmp_path / "model-int8"), model, "s3://bucket/corpus")


def test_a_file_is_no_folder_to_export_to(model_folder, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="is a file"):
        export_model(ExportRequest(model_folder, str(tmp_path / "notes.txt")))
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("bound", [float("nan"), -0.1, float("inf")])
@pytest.mark.parametrize("name", ["max_bpb_delta", "max_component_bpb_delta"])
def test_a_bound_that_bounds_nothing_is_refused_before_the_model_opens(name, bound, tmp_path):
    request = ExportRequest("/no/model", str(tmp_path / "x"), documents=lambda: [], **{name: bound})
    with pytest.raises(UserError, match="--max-bpb-delta is"):
        export_model(request)
