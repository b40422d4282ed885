"""A source and a corpus built from it, for all tests here."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from audited import make_source
from hypothesis import settings

from seamount.corpora.text.build import CorpusRequest, build_corpus

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("audit") / "in")


@pytest.fixture(scope="session")
def corpus(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built with weights, so that the mixture leaves documents out and repeats others."""
    catalog = {
        "name": "c",
        "unknown_components": "keep",
        "components": {
            "Github": {"weight": 5.0, "epochs": 2.5, "kind": "code", "tokens_per_byte": 0.5},
            "Wikipedia (en)": {"weight": 1.0, "kind": "prose", "tokens_per_byte": 0.25},
            "Books3": {"weight": 1.0, "kind": "prose"},
            "no\u202esuch": {"weight": 1.0},
        },
    }
    folder = tmp_path_factory.mktemp("audited")
    path = folder / "catalog.yaml"
    path.write_text(yaml.safe_dump(catalog, allow_unicode=True))
    request = CorpusRequest(
        (str(source),), str(folder / "c"), catalog=str(path), shard_bytes=9_000, dedupe="exact"
    )
    build_corpus(request)
    return folder / "c"
