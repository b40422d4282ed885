"""Predictions for large jobs, against the same code put up on a fake process group."""

from __future__ import annotations

import pytest
import torch
from fake_ranks import Heard, standing_at

from models.language.model import LanguageModel, initialise
from seamount.training.data_order import Batch
from seamount.training.language_module import LanguageModule
from seamount.training.parts import Parts
from seamount.training.prediction.held import owned, stages_of_rank, weights_of_rank
from seamount.training.prediction.traffic import traffic
from seamount.training.recipe import Recipe, load_recipe
from seamount.training.tensor import local

LARGE = {
    "7b on 64": ("text/7b.yaml", []),
    "7b on 8": ("text/7b.yaml", ["include=text/layouts/8-gpus.yaml"]),
    "1b tied on 32": ("text/1b.yaml", ["include=text/layouts/32-gpus.yaml"]),
    "70b on 512": ("text/70b.yaml", []),
    "70b interleaved on 64": (
        "text/70b.yaml",
        [
            "include=text/layouts/64-gpus.yaml",
            "parallel.schedule=interleaved-1f1b",
            "parallel.stages_per_rank=4",
        ],
    ),
}


QUICK = ("70b on 512", "1b tied on 32")


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in LARGE]
)
def test_parameters_of_each_rank(name):
    """The first, a middle and the last pipeline rank, by parts.py on the meta device."""
    path, overrides = LARGE[name]
    recipe = load_recipe(path, overrides)
    parallel = recipe.parallel
    with torch.device("meta"):
        model = LanguageModel(recipe.model.config)
    initialise(model, recipe.seed)  # fills nothing there, and must not mind
    for place in sorted({0, parallel.pipeline // 2, parallel.pipeline - 1}):
        rank = place * parallel.data * parallel.tensor
        with standing_at(rank, parallel) as layout:
            parts = Parts(model, recipe, layout)
            weights = weights_of_rank(recipe, place)
            assert {w.name: w.local_shape for w in weights} == {
                name: tuple(local(p).shape) for name, p in parts.parameters.items()
            }
            assert {w.name for w in owned(recipe, weights)[0]} == parts.owned.keys()
            held = [s.layers for s in stages_of_rank(recipe, place)]
            assert held == [tuple(map(int, stage.layers)) for stage in parts.stages]
        if parallel.pipeline == 1:
            break


LAYOUTS = {
    "tensor": "{tensor: 2}",
    "sequence": "{tensor: 4, sequence: true}",
    "data": "{data: 2}",
    "shard": "{data: 2, shard_optimizer: true}",
    "all": "{data: 2, tensor: 2, sequence: true, shard_optimizer: true}",
}


def step_of(recipe: Recipe) -> dict[str, list[int]]:
    """The collectives of one update on rank 0."""
    with standing_at(0, recipe.parallel) as layout:
        module = LanguageModule(recipe, torch.ones(512, dtype=torch.int64))
        module._device_mesh = layout.mesh
        module.configure_model()
        updater = module.configure_optimizers()
        rows = recipe.data.batch_size // recipe.parallel.data
        ids = torch.zeros(rows, recipe.data.sequence_length, dtype=torch.int64)
        with Heard() as heard:
            module.training_step(Batch(ids, ids), 0)
            module.parts.finish_gradients()
            updater.step()
            module.parts.send_updates()
        return heard.found


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize(
    "model",
    [
        pytest.param("{preset: tiny, kv_heads: 4}", marks=pytest.mark.slow),
        "{preset: tiny, kv_heads: 4, architecture: qwen3, tied: true}",
    ],
)
def test_collectives_of_a_step(name, model):
    """Count and bytes of every kind, as they are asked for in two micro-batches."""
    recipe = load_recipe(
        "text/demo.yaml",
        [
            *(f"model={model}", f"parallel={LAYOUTS[name]}"),
            "data={sequence_length: 36, batch_size: 4, micro_batch_size: 1}",
        ],
    )
    told: dict[str, list[int]] = {}
    for row in traffic(recipe):
        mine = told.setdefault(row["kind"], [0, 0])
        mine[0] += row["count"]
        mine[1] += row["bytes"]
    assert told == step_of(recipe)
