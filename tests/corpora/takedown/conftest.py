"""One corpus for all; tests that change it work on a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import settings
from standing import build, make_source

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("takedown") / "source")


@pytest.fixture(scope="session")
def untouched(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(source, tmp_path_factory.mktemp("untouched") / "corpus")


@pytest.fixture
def corpus(untouched: Path, tmp_path: Path) -> Path:
    """A copy that keeps times."""
    shutil.copytree(untouched, tmp_path / "corpus")
    return tmp_path / "corpus"
