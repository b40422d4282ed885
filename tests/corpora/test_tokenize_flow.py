"""The flow tokenize_corpus with a given tokenizer, on a temporary Prefect server."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_build_corpus import make_source
from tokenized import cl100k, library_ids, read

from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.split import read_split

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_given_tokenizer_and_a_learnt_one(harness: None, tmp_path: Path) -> None:
    from flows.tokenize_corpus import tokenize_corpus

    source, corpus = make_source(tmp_path / "in"), str(tmp_path / "corpus")
    build_corpus(CorpusRequest((str(source),), corpus, test_share=0.05))
    backend = cl100k([d.text for d in read_split(corpus, "train")])
    backend.save(str(tmp_path / "tokenizer.json"))
    given = {"corpus": corpus, "tokenizer": str(tmp_path / "tokenizer.json")}
    done = tokenize_corpus(**given, out=str(tmp_path / "given"), options={"split": "test"})
    assert list(done["facts"]) == ["test"] and done["path"] == str(tmp_path / "given")
    found = read(tmp_path / "given", "test")
    wanted = {d.id: [0, *library_ids(backend, d.text)] for d in read_split(corpus, "test")}
    assert found == wanted
    learnt = tokenize_corpus(corpus=corpus, vocab_size=300, out=str(tmp_path / "learnt"))
    assert learnt["path"] == str(tmp_path / "learnt/tokens")
    assert set(learnt["facts"]) >= {"train", "test"}
