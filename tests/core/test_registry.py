"""Registry and declarations: a name leads to its file, a wrong one to the nearest right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamount.core import registry, settings
from seamount.core.errors import UserError


def test_model_family_is_found_by_its_folder() -> None:
    family = registry.model_family("language")
    assert family.presets.__name__ == "models.language.presets"


def test_wrong_family_names_the_nearest() -> None:
    with pytest.raises(UserError, match="unknown model family 'langage': did you mean 'language'"):
        registry.model_family("langage")


def test_a_missing_part_is_named() -> None:
    with pytest.raises(UserError, match=r"has no vocoder\.py"):
        _ = registry.model_family("language").vocoder


def test_declarations_are_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings.find_declaration("datasets", "pile", "catalog.yaml").is_file()
    assert settings.find_declaration("recipes", "text/demo.yaml").is_file()


def test_the_project_a_person_stands_in_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prefect.yaml").write_text("")
    own = tmp_path / "datasets/pile/catalog.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("name: mine")
    monkeypatch.chdir(tmp_path)
    assert settings.find_declaration("datasets", "pile", "catalog.yaml") == own


def test_unknown_declaration_lists_what_exists() -> None:
    with pytest.raises(UserError, match=r"'pyle'.*pile"):
        settings.find_declaration("datasets", "pyle", "catalog.yaml")
