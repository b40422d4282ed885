"""Other families than Llama reach an ONNX file that computes what they compute, fp32 and int8."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.language import convert
from models.language.model import LanguageModel
from models.language.presets import configure
from seamount.corpora.text.tokenizer import copy_tokenizer, load_tokenizer
from seamount.export.publish import ExportRequest, export_model
from seamount.inference.loading import load_model

SHAPES = {
    "gpt2": {"architecture": "gpt2"},
    "mistral": {"architecture": "mistral", "sliding_window": 9},
    "qwen2": {"architecture": "qwen2", "sliding_window": 9, "sliding_from_layer": 1},
    "qwen3": {"architecture": "qwen3", "head_dim": 12, "tied": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("quantize", ["none", "int8"])
@pytest.mark.parametrize("name", SHAPES)
def test_a_family_exports(name, quantize, model_folder, tmp_path):
    """Parity over the grid of shapes, up to the whole context, is a condition of publishing."""
    vocab = load_tokenizer(model_folder).vocab_size
    made = LanguageModel(configure("tiny", vocab_size=vocab, **SHAPES[name]))
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(1.0 * (parameter.dim() == 1), 0.2, generator=generator)
    convert.save_folder(made, str(tmp_path / "model"))
    copy_tokenizer(model_folder, str(tmp_path / "model"))
    request = ExportRequest(str(tmp_path / "model"), str(tmp_path / "out"), quantize=quantize)
    found = export_model(request)
    assert found.parity["ok"] and found.parity["max_abs_error"] < 1e-3
    if quantize == "none":
        ids = np.random.default_rng(0).integers(0, vocab, (2, 33))
        wanted = made.eval()(torch.from_numpy(ids)).detach().numpy()
        assert np.abs(load_model(found.folder).forward(ids) - wanted).max() < 1e-4
