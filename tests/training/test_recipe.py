"""Recipes: what is read, and which sentence a mistake gets."""

from __future__ import annotations

import pytest

from seamount.core.errors import UserError
from seamount.training.recipe import (
    load_recipe,
    read_recipe,
    recipe_from_dict,
    recipe_to_dict,
)

SHIPPED = "text/demo.yaml"


def test_every_training_recipe_loads_and_begins_with_its_promise(root):
    recipe = load_recipe(SHIPPED)
    first = (root / "recipes" / SHIPPED).read_text().splitlines()[0]
    assert first.startswith("# ") and "core" in first and "s," in first
    assert recipe_from_dict(recipe_to_dict(recipe)) == recipe


def test_overrides_reach_every_depth():
    recipe = load_recipe(SHIPPED, ["steps=7", "optimizer.lr=1e-3", "model.tied=true"])
    assert recipe.steps == 7
    assert recipe.optimizer.lr == 0.001
    assert recipe.model.config.tied is True


def test_include_lies_below(tmp_path):
    (tmp_path / "base.yaml").write_text("steps: 5\nseed: 3\noptimizer: {lr: 0.5, name: adamw}\n")
    (tmp_path / "own.yaml").write_text("include: base.yaml\nsteps: 6\noptimizer: {lr: 0.25}\n")
    recipe = load_recipe(str(tmp_path / "own.yaml"))
    assert (recipe.steps, recipe.seed) == (6, 3)
    assert (recipe.optimizer.lr, recipe.optimizer.name) == (0.25, "adamw")


def test_sections_of_other_stations_are_passed_over(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(f"include: {SHIPPED}\nexport: {{quantize: int8}}\n")
    assert load_recipe(str(path), other_sections=["export"]).steps == load_recipe(SHIPPED).steps
    assert read_recipe(str(path))["export"] == {"quantize": "int8"}
    with pytest.raises(UserError, match="unknown key 'export'"):
        load_recipe(str(path))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optimiser.lr=1", "unknown key 'optimiser': did you mean 'optimizer'"),
        ("optimizer.lrr=1", "unknown key 'optimizer.lrr': did you mean 'optimizer.lr'"),
        ("model.layrs=3", "unknown key 'model.layrs': did you mean 'model.layers'"),
        ("model.preset=2n", "unknown value of model.preset '2n'"),
        ("model.family=langage", "unknown model family 'langage': did you mean 'language'"),
        ("steps=many", "steps is 'many': it must be a whole number"),
        ("steps=1.5", "steps is 1.5: it must be a whole number"),
        ("steps=true", "steps is True: it must be a whole number"),
        ("steps=0", "steps is 0: it must be at least 1"),
        ("precision=fp16", "unknown value of precision 'fp16'"),
        ("optimizer=3", "optimizer is 3: it must hold keys with values"),
        ("optimizer.lr=fast", "optimizer.lr is 'fast': it must be a number"),
        ("model.hidden_size=100 0", "model.hidden_size is '100 0': it must be a whole number"),
        ("parallel.tensor=3 ", "parallel.tensor 3 does not divide model."),
        ("data.sequence_length=99999", "data.sequence_length 99999 is above model.context_length"),
        ("data.tokens=x", "data.tokens and data.tokenizer belong together"),
        ("schedule.decay_fraction=0", "schedule.decay_fraction is 0.0"),
        ("model.kv_heads=0", "model.kv_heads is 0: it must be above 0"),
        ("steps", "override 'steps' is not of the form key=value"),
        ("steps.a=1", "override 'steps.a=1': 'steps' holds a value"),
        ("steps=[", "the value of override 'steps=\\['"),
    ],
)
def test_mistakes_are_named(override, message):
    with pytest.raises(UserError, match=message):
        load_recipe(SHIPPED, [override])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("include: self.yaml\n", "includes itself"),
        ("- 1\n", "holds list"),
        ("a: [\n", "not valid YAML"),
    ],
)
def test_broken_files_are_named(tmp_path, content, message):
    path = tmp_path / "self.yaml"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        load_recipe(str(path))


def test_an_unknown_recipe_names_the_known_ones():
    with pytest.raises(UserError, match=r"text/demo\.yaml"):
        load_recipe("text/none.yaml")
