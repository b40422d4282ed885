"""A recipe that names no tokens gets its corpus, tokenizer and tokens made, once."""

from __future__ import annotations

import os
from pathlib import Path

from seamount.core.records import Document
from seamount.corpora.text.jsonl_zst import write_documents
from seamount.corpora.text.tokens import TokenFile
from seamount.training.preparation import Prepared, prepare
from seamount.training.recipe import load_recipe


def documents() -> list[Document]:
    """Real text that is everywhere: small modules of the standard library."""
    files = sorted(Path(os.__file__).parent.glob("*.py"))
    small = [f for f in files if 2_000 < f.stat().st_size < 12_000][:40]
    return [Document(f.read_text(), "Github", f.name, "stdlib") for f in small]


def test_made_once_then_reused(tmp_path):
    source = tmp_path / "source.jsonl.zst"
    write_documents(str(source), documents())
    overrides = [f"data.corpus={source}", "model={preset: tiny, vocab_size: 300}"]
    recipe = load_recipe("text/demo.yaml", [*overrides, "data.sequence_length=16"])
    first = prepare(recipe, str(tmp_path / "made"))
    assert TokenFile(first.tokens, "train").vocab_size <= 300
    assert len(TokenFile(first.tokens, "val").tokens) > 0
    stamps = {p: p.stat().st_mtime_ns for p in (tmp_path / "made").rglob("*") if p.is_file()}
    assert prepare(recipe, str(tmp_path / "made")) == first
    after = {p: p.stat().st_mtime_ns for p in (tmp_path / "made").rglob("*") if p.is_file()}
    assert after == stamps
    # a built corpus is taken as it stands, and another vocabulary makes its own tokens
    built = load_recipe(
        "text/demo.yaml",
        [*overrides, f"data.corpus={tmp_path}/made/corpus", "data.sequence_length=16"],
    )
    other = prepare(built, str(tmp_path / "other"))
    assert not Path(tmp_path / "other" / "corpus").exists()
    assert TokenFile(other.tokens, "train").tokenizer_digest == (
        TokenFile(first.tokens, "train").tokenizer_digest
    )


def test_named_tokens_are_taken_as_they_are():
    recipe = load_recipe("text/demo.yaml", ["data.tokens=a", "data.tokenizer=b"])
    assert prepare(recipe) == Prepared("a", "b")
