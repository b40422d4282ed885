"""The published file: right, small, whole, and stopped where it must be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seamount.core import lineage
from seamount.core.errors import SeamountError, UserError
from seamount.evaluation.bpb import BpbResult
from seamount.export import onnx, publish
from seamount.export.gate import GateFailed
from seamount.export.publish import ExportRequest, export_model
from seamount.export.quantize.int8 import quantise_module
from seamount.inference.generate import generate
from seamount.inference.loading import load_model, torch_forward


def test_a_stock_session_computes_what_the_torch_twin_computes(exported, model_folder):
    import onnxruntime

    session = onnxruntime.InferenceSession(exported.path, providers=["CPUExecutionProvider"])
    twin, _ = quantise_module(load_model(model_folder).module)
    forward = torch_forward(twin)
    rng = np.random.default_rng(1)
    for shape in ((1, 1), (5, 1), (2, 13), (1, 64)):
        ids_BT = rng.integers(0, 280, shape)
        given = session.run(["logits"], {"input_ids": ids_BT})[0]
        assert np.abs(given - forward(ids_BT)).max() < 1e-4


def test_weights_are_int8_and_stored_once(exported):
    import onnx as onnx_library
    from onnx import TensorProto

    proto = onnx_library.load(exported.path)
    sizes = {
        kind: sum(int(np.prod(t.dims)) for t in proto.graph.initializer if t.data_type == kind)
        for kind in (TensorProto.INT8, TensorProto.FLOAT)
    }
    config = json.loads((Path(exported.folder) / "config.json").read_text())
    attention = 2 * 96 * 24 * (4 + 2)
    assert sizes[TensorProto.INT8] == 2 * (attention + 3 * 96 * 256) + config["vocab_size"] * 96
    assert sizes[TensorProto.FLOAT] < 0.05 * sizes[TensorProto.INT8]
    assert exported.size_ratio <= 0.35
    assert exported.size_bytes == Path(exported.path).stat().st_size


def test_the_file_names_nothing_of_this_machine(exported, root):
    content = Path(exported.path).read_bytes()
    assert str(root).encode() not in content
    assert b"site-packages" not in content


def test_the_folder_is_whole_and_tells_where_it_came_from(exported, model_folder):
    names = {p.name for p in Path(exported.folder).iterdir()}
    assert names >= {"model.onnx", "config.json", "tokenizer.json", "parity.json", "lineage.json"}
    parity = json.loads((Path(exported.folder) / "parity.json").read_text())
    assert parity["ok"]
    assert len(parity["shapes"]) >= 5
    record = lineage.read(exported.folder)
    assert record.kind == "export"
    assert record.inputs["model"] == {"path": model_folder, "digest": "m0"}
    assert lineage.tree(exported.path)["inputs"]["model"]["state"] == "ok"
    assert sorted(p.name for p in Path(exported.folder).parent.iterdir()) == ["int8"]


def test_deltas_are_those_of_the_published_file(exported, documents):
    from seamount.evaluation.bpb import bpb
    from seamount.inference.score import ModelScorer

    again = bpb(ModelScorer(load_model(exported.folder)).score(documents))
    before = BpbResult.from_dict(exported.before)
    assert exported.components == pytest.approx(
        {n: again.components[n].bpb - before.components[n].bpb for n in "AB"}
    )
    assert exported.bpb_delta == pytest.approx(again.weighted - before.weighted)
    assert exported.gate["passed"]
    assert exported.before["protocol"]["runtime"] == "torch"
    assert exported.after["protocol"]["runtime"] == "onnxruntime"


def test_the_export_generates(exported, model_folder):
    ours = generate(load_model(exported.folder), "the quick", 8)
    file = generate(load_model(exported.path), "the quick", 8)
    assert ours.ids == file.ids
    assert ours.prompt_ids == generate(load_model(model_folder), "the quick", 1).prompt_ids


@pytest.fixture
def fast(exported, monkeypatch):
    """Export without tracing again: the exporter's graph is read back from the first one."""
    import onnx as onnx_library

    monkeypatch.setattr(onnx, "to_onnx", lambda *_: onnx_library.load(exported.path))
    monkeypatch.setattr(onnx, "pack_int8", lambda *_: None)


def request(model_folder, documents, out, **changes):
    plain = ExportRequest(
        model_folder, str(out), quantize="int8", documents=lambda: iter(documents), threads=1
    )
    return replace(plain, **changes)


def test_the_gate_names_the_domain_and_publishes_nothing(
    fast, exported, model_folder, documents, tmp_path
):
    worst = max(exported.components, key=lambda n: exported.components[n])
    bound = exported.components[worst] - 1e-6
    with pytest.raises(GateFailed, match=f"'{worst}'") as caught:
        export_model(
            request(
                model_folder,
                documents,
                tmp_path / "out",
                max_bpb_delta=10.0,
                max_component_bpb_delta=bound,
            )
        )
    assert list(tmp_path.iterdir()) == []
    assert caught.value.report["components"].keys() == {"A", "B"}
    assert not caught.value.report["gate"]["passed"]


def test_a_file_that_differs_is_not_published(
    exported, model_folder, documents, tmp_path, monkeypatch
):
    import onnx as onnx_library
    from onnx import numpy_helper

    proto = onnx_library.load(exported.path)
    tensor = next(t for t in proto.graph.initializer if t.name.endswith(".scale"))
    tensor.CopyFrom(numpy_helper.from_array(2 * numpy_helper.to_array(tensor), tensor.name))
    monkeypatch.setattr(onnx, "to_onnx", lambda *_: proto)
    monkeypatch.setattr(onnx, "pack_int8", lambda *_: None)
    with pytest.raises(SeamountError, match="differs from the model at batch"):
        export_model(request(model_folder, documents, tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


def test_a_weight_that_is_not_in_the_graph_is_named(exported, model_folder):
    import onnx as onnx_library

    _, weights = quantise_module(load_model(model_folder).module)
    with pytest.raises(SeamountError, match=r"'embedding\.weight' is not in the exported graph"):
        onnx.pack_int8(onnx_library.load(exported.path), weights)


def test_a_known_score_is_used_only_if_it_is_the_same(
    fast, exported, model_folder, documents, tmp_path, monkeypatch
):
    scored = []
    plain = publish._score
    monkeypatch.setattr(publish, "_score", lambda r, m: scored.append(m.kind) or plain(r, m))
    before = BpbResult.from_dict(exported.before)
    found = export_model(request(model_folder, documents, tmp_path / "a"), before)
    assert scored == ["onnx"]
    assert found.components == pytest.approx(exported.components)
    other = request(model_folder, documents[:2], tmp_path / "b")
    export_model(other, before)
    assert scored == ["onnx", "onnx", "seamount"]


def test_an_earlier_export_is_replaced_and_anything_else_is_not(fast, model_folder, tmp_path):
    for _ in range(2):
        export_model(ExportRequest(model_folder, str(tmp_path / "out"), quantize="int8"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UserError, match="is not an export"):
        export_model(ExportRequest(model_folder, str(tmp_path / "mine")))
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_bad_requests_are_named(model_folder, exported, tmp_path):
    def refused(match, **changes):
        with pytest.raises(UserError, match=match):
            export_model(replace(ExportRequest(model_folder, str(tmp_path / "x")), **changes))

    refused("'torchscript'.*onnx", format="torchscript")
    refused("'fp8'.*int8", quantize="fp8")
    refused("--data", max_bpb_delta=0.1)
    refused("cannot trace", model=exported.folder)
    assert list(tmp_path.iterdir()) == []
