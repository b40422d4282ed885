"""A corpus built by other code is not reused: an edited filter once left the old one standing."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamount.core.records import Document
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.jsonl_zst import write_documents
from seamount.corpora.text.stages import stage


def test_code_change_rebuilds_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = str(tmp_path / "in.jsonl.zst")
    texts = [f"document {i} says {'something ' * (i + 3)}" for i in range(30)]
    write_documents(source, [Document(t, "Github", f"d{i}", "x") for i, t in enumerate(texts)])
    request = CorpusRequest(sources=(source,), out=str(tmp_path / "corpus"))
    assert not build_corpus(request).reused
    assert build_corpus(request).reused
    monkeypatch.setattr(stage, "code_digest", lambda package: "of an edited filter")
    assert not build_corpus(request).reused
