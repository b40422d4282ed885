"""Fixtures of the model tests."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from variants import VARIANTS, spread

from models.language.convert import config_from_hugging_face
from models.language.model import LanguageModel


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(params=VARIANTS)
def content(request) -> dict[str, Any]:
    """config.json of one variant."""
    return VARIANTS[request.param]


@pytest.fixture
def made(content) -> LanguageModel:
    """Our model of it, every parameter off its starting value."""
    return spread(LanguageModel(config_from_hugging_face(content)))
