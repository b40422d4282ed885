"""The language model against transformers, by hand, and against given reference outputs."""

from __future__ import annotations

import json

import pytest
import torch
from torch.nn import functional

from models.language import convert, presets
from models.language.kernels import RMSNormGradient
from models.language.model import LanguageModel, initialise
from seamount.core.errors import CorruptData, UserError
from seamount.core.registry import model_family


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    torch.set_num_threads(1)


def model(seed: int = 0, **overrides) -> LanguageModel:
    """A tiny model whose every matrix is off zero."""
    made = LanguageModel(presets.configure("tiny", **overrides))
    initialise(made, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=generator))
    return made


def test_registry_finds_the_family():
    family = model_family("language")
    assert family.presets.PRESETS["tiny"].layers == 2
    assert family.plan.TENSOR_PLAN["head"] == "head"


def test_rms_norm_gradient_is_the_plain_one():
    x = torch.randn(2, 3, 8, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: RMSNormGradient.apply(a, b, 1e-5), (x, weight))
    plain = functional.rms_norm(x, (8,), weight, 1e-5)
    torch.testing.assert_close(RMSNormGradient.apply(x, weight, 1e-5), plain)


def test_given_llama_matches_its_reference(shared_data):
    folder = shared_data / "llama_aidreams260k"
    made = convert.load_folder(str(folder))
    reference = json.loads((folder / "reference_greedy.json").read_text())
    for case in reference["prompts"]:
        ids = torch.tensor([case["prompt_ids"]])
        with torch.no_grad():
            top = made(ids)[0, -1].topk(len(case["first_step_top5"]))
        assert top.indices.tolist() == [t["id"] for t in case["first_step_top5"]]
        wanted = torch.tensor([t["logit"] for t in case["first_step_top5"]])
        torch.testing.assert_close(top.values, wanted, rtol=0, atol=1e-4)
        assert greedy(made, ids, len(case["greedy_ids"])) == case["greedy_ids"]


@torch.no_grad()
def greedy(made: LanguageModel, ids: torch.Tensor, count: int) -> list[int]:
    start = ids.shape[1]
    for _ in range(count):
        following = made(ids)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, following], 1)
    return ids[0, start:].tolist()


def test_weights_that_do_not_fit_are_corrupt(tmp_path):
    convert.save_folder(model(), str(tmp_path))
    content = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(content | {"num_hidden_layers": 3}))
    with pytest.raises(CorruptData, match="does not fit"):
        convert.load_folder(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{")
    with pytest.raises(CorruptData, match="not a safetensors file"):
        convert.load_folder(str(tmp_path))


def test_presets_name_the_nearest():
    with pytest.raises(UserError, match="did you mean 'tiny'"):
        presets.configure("tinny")
    with pytest.raises(UserError, match=r"model\.heads 4 is not a multiple of model.kv_heads 3"):
        presets.configure("tiny", kv_heads=3)
    assert presets.configure("tiny", hidden_size=64).head_dim == 16
