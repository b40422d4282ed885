"""The formulas for kept activations, term by term against what autograd saves."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch

from models.language.model import LanguageModel
from seamount.training.cross_entropy import cross_entropy
from seamount.training.prediction import activations
from seamount.training.prediction.held import stages
from seamount.training.recipe import Recipe, load_recipe

VARIANTS = {
    "llama": "preset: tiny",
    "tied": "preset: tiny, tied: true",
    "gpt2": "preset: tiny, architecture: gpt2",
    "qwen3": "preset: tiny, architecture: qwen3",
}


def recipe_of(variant: str, *overrides: str) -> Recipe:
    model = f"model={{{VARIANTS[variant]}, context_length: 64, layers: 3}}"
    data = "data={sequence_length: 33, batch_size: 6, micro_batch_size: 3}"
    return load_recipe("text/demo.yaml", [model, data, *overrides])


def saved_bytes(recipe: Recipe) -> int:
    """Bytes of the storages that the backward pass of a micro-batch keeps alive."""
    model = LanguageModel(recipe.model.config)
    if recipe.precision == "bf16-true":
        model.to(torch.bfloat16)
    held = {t.untyped_storage()._cdata for t in (*model.parameters(), *model.buffers())}
    seen: dict[int, tuple[int, torch.Tensor]] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in held:
            seen[storage._cdata] = (storage.nbytes(), tensor)  # kept, so that no number comes twice
        return tensor

    ids = torch.zeros(recipe.micro_batch_size, recipe.data.sequence_length, dtype=torch.int64)
    mixed = recipe.precision == "bf16-mixed"
    context = torch.autocast("cpu", torch.bfloat16) if mixed else nullcontext()
    with context, torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        logits = model(ids)
        cross_entropy(logits.flatten(0, 1).float(), ids.flatten(), 1.0)
    return sum(size for size, _ in seen.values())


@pytest.mark.filterwarnings("ignore:Mismatch dtype")  # torch, of norms of heads under autocast
@pytest.mark.parametrize("precision", ["fp32", "bf16-mixed", "bf16-true"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_autograd_saves(variant, precision):
    """All but targets and indices: within 3 %, which no wrong term of a layer would be."""
    recipe = recipe_of(variant, f"precision={precision}")
    (stage,) = stages(recipe)
    told = activations.kept(recipe.model.config, activations.sizes_of(recipe), stage)
    matrices = sum(w.whole for w in stage.weights if len(w.shape) == 2)
    looked_up = 0 if recipe.model.config.tied else 512 * 32
    looked_up += recipe.model.config.position_parameters
    told += activations.casts(recipe, matrices - looked_up)
    assert told == pytest.approx(saved_bytes(recipe), rel=0.03)


@pytest.mark.parametrize("ranks", [2, 4])
def test_tensor_ranks_share_what_lies_between_the_matrices(ranks):
    """By hand: norms and the stream into matrices stay whole; with `sequence` norms are cut too."""
    model = "model={preset: tiny, kv_heads: 4, context_length: 64, layers: 3}"

    def kept(layout: str) -> int:
        data = "data={sequence_length: 36, batch_size: 6, micro_batch_size: 3}"
        recipe = load_recipe("text/demo.yaml", [model, data, f"parallel={layout}"])
        sizes = activations.sizes_of(recipe)
        return activations.kept_by_layer(recipe.model.config, sizes)

    alone, cut = kept("{tensor: 1}"), kept(f"{{tensor: {ranks}}}")
    all_cut = kept(f"{{tensor: {ranks}, sequence: true}}")
    norms, inputs = 3 * 36 * 2 * (32 + 1) * 4, 3 * 36 * 2 * 32 * 4
    assert cut == norms + inputs + (alone - norms - inputs) // ranks
    assert all_cut == norms // ranks + inputs + (alone - norms - inputs) // ranks
