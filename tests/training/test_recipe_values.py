"""Recipe values that parse but cannot work, and YAML files that are wrong as files."""

from __future__ import annotations

import pytest

from seamount.core.errors import UserError
from seamount.training import ranks
from seamount.training.recipe import load_recipe

SHIPPED = "text/demo.yaml"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optimizer.lr=.nan", "optimizer.lr is nan: it must be a finite number"),
        ("optimizer.lr=nan", "optimizer.lr is 'nan': it must be a finite number"),
        ("optimizer.eps=-.inf", "optimizer.eps is -inf: it must be a finite number"),
        ("embedding_std=1e999", "embedding_std is '1e999': it must be a finite number"),
        ("optimizer.lr=-0.1", "optimizer.lr is -0.1: it must be at least 0"),
        ("optimizer.head_lr=-1", "optimizer.head_lr is -1.0: it must be at least 0"),
        ("optimizer.beta2=1", r"optimizer.beta2 is 1.0: it must lie in \[0, 1\)"),
        ("seed=-1", "seed is -1: it must be at least 0"),
        (f"seed={1 << 63}", f"seed is {1 << 63}: it must be at most"),
        ("steps=-3", "steps is -3: it must be at least 1"),
        ("data.batch_size=0", "data.batch_size is 0: it must be at least 1"),
        ("model.vocab_size=256", "model.vocab_size is 256: it must lie between 257 "),
        ("model.vocab_size=1048577", "model.vocab_size is 1048577: .* and 1048576"),
        (f"steps={'[' * 4000}", "is not valid YAML: it is nested too deeply"),
    ],
)
def test_impossible_values_are_named(override: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_recipe(SHIPPED, [override])


def test_values_at_the_bounds_load() -> None:
    least = load_recipe(SHIPPED, ["model.vocab_size=257", "seed=0", "optimizer.lr=0", "steps=1"])
    assert least.model.config.vocab_size == 257
    assert load_recipe(SHIPPED, ["model.vocab_size=1048576"]).model.config.vocab_size == 1 << 20


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty: write keys"),
        ("# nothing\n", "is empty: write keys"),
        ("[" * 4000, "is not valid YAML: it is nested too deeply"),
        ("steps: 1\nsteps: 2\n", r"the key 'steps' stands twice: .* \(line 2, column 1\)"),
        ("optimizer:\n  lr: 1\n  lr: 2\n", r"the key 'lr' stands twice: .* \(line 3, column 3\)"),
        ("a: [\n", r"is not valid YAML: .* \(line 2, column 1\)"),
        ("a: \x00\n", "special characters are not allowed at position 3"),
        ("a: 2026-13-45\n", "is not valid YAML: month must be in"),
        ("include: 5\n", "include of recipe .* is 5: give a path"),
        ("include: [5]\n", r"include of recipe .* is \[5\]: give a path"),
    ],
)
def test_wrong_files_get_one_line(tmp_path, content: str, message: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(content)
    with pytest.raises(UserError, match=message) as caught:
        load_recipe(str(path))
    assert "\n" not in str(caught.value) and "unicode string" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_utf8(tmp_path) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(b"steps: \xff\n")
    with pytest.raises(UserError, match="not valid YAML: no UTF-8 at byte 7"):
        load_recipe(str(path))


def test_a_merge_key_may_repeat_what_it_merges(tmp_path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "optimizer: &a {lr: 0.5, name: adamw}\nx: &b {<<: *a, lr: 0.25}\ny: {<<: *b, lr: 1}\n"
    )
    assert load_recipe(str(path), other_sections=["x", "y"]).optimizer.lr == 0.5


def test_an_early_stop_promises_to_go_on() -> None:
    with pytest.raises(ranks.Preempted, match="goes on from where it was"):
        ranks._stop_early(2, None)
