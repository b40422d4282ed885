"""Short names of recipes and catalogs."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamount.core.errors import UserError
from seamount.core.settings import find_declaration


@pytest.mark.parametrize("name", ["text/demo.yaml", "text/demo", "demo", "demo.yaml"])
def test_a_recipe_is_found_with_or_without_folder_and_suffix(root: Path, name: str) -> None:
    assert find_declaration("recipes", name) == root / "recipes/text/demo.yaml"


def test_a_bare_name_that_two_folders_have_is_not_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prefect.yaml").touch()
    for folder in ("a", "b"):
        (tmp_path / "recipes" / folder).mkdir(parents=True)
        (tmp_path / "recipes" / folder / "same.yaml").touch()
    (tmp_path / "recipes/text").mkdir()
    (tmp_path / "recipes/text/demo.yaml").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"a/same\.yaml, b/same\.yaml"):
        find_declaration("recipes", "same")
    assert find_declaration("recipes", "b/same") == tmp_path / "recipes/b/same.yaml"
    assert find_declaration("recipes", "demo") == tmp_path / "recipes/text/demo.yaml"  # nearest


def test_an_unknown_name_is_told_the_nearest(root: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'text/demo'"):
        find_declaration("recipes", "text/deno")
    with pytest.raises(UserError, match="did you mean 'pile'"):
        find_declaration("datasets", "pyle", "catalog.yaml")
    assert (
        find_declaration("datasets", "pile", "catalog.yaml") == root / "datasets/pile/catalog.yaml"
    )
