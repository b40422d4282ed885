"""Token files are the same bytes for any number of workers and after any kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from killing import count_events, in_child, kill_at_event
from test_build_corpus import digests, make_source

from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document
from seamount.corpora.text import tokenizing
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.split import SPLITS, read_split
from seamount.corpora.text.tokenizer import load_tokenizer, train_tokenizer
from seamount.corpora.text.tokenizing import TokenizeRequest, tokenize_corpus
from seamount.corpora.text.tokens import TokenFile, tokenize_split, write_tokens


@pytest.fixture(scope="module")
def road(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of some shards, and a tokenizer."""
    folder = tmp_path_factory.mktemp("resumed")
    source = make_source(folder / "in", files=3, documents=60)
    shares = {"test_share": 0.05, "val_share": 0.05, "shard_bytes": 12_000}
    build_corpus(CorpusRequest((str(source),), str(folder / "corpus"), **shares))
    texts = (d.text for d in read_split(str(folder / "corpus"), "train"))
    train_tokenizer(texts, 400, str(folder / "tokenizer"))
    return folder


def request(road: Path, out: Path, workers: int = 0) -> TokenizeRequest:
    places = (str(road / "corpus"), str(road / "tokenizer"), str(out))
    return TokenizeRequest(*places, splits=SPLITS, workers=workers)


@pytest.fixture(scope="module")
def undisturbed(road: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("undisturbed") / "tokens"
    (first, *_) = tokenize_corpus(request(road, out))
    assert first.shards == {"done": len(list((road / "corpus/train").iterdir())), "reused": 0}
    assert first.shards["done"] > 3
    return digests(out)


def test_shards_in_their_order_are_the_split(
    road: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    """Against all documents written as one part."""
    tokenize_corpus(request(road, tmp_path / "joined"))
    documents = list(read_split(str(road / "corpus"), "train"))
    inputs = {"corpus": {"path": "", "digest": ""}, "tokenizer": {"path": "", "digest": ""}}
    whole = str(tmp_path / "whole")
    write_tokens(documents, load_tokenizer(str(road / "tokenizer")), whole, "train", inputs)
    mine, theirs = TokenFile(str(tmp_path / "joined"), "train"), TokenFile(whole, "train")
    assert (tmp_path / "joined/train.bin").read_bytes() == (
        tmp_path / "whole/train.bin"
    ).read_bytes()
    assert mine.starts.tolist() == theirs.starts.tolist()
    assert mine.document_ids == theirs.document_ids == [d.id for d in documents]
    assert mine.components == theirs.components == [d.component for d in documents]


@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_workers_change_no_byte(
    workers: int, road: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    tokenize_corpus(request(road, tmp_path / "out", workers))
    assert digests(tmp_path / "out") == undisturbed


def finished(out: Path) -> int:
    return len(list((out / ".work").glob("tokens/*/result.json")))


def standing(out: Path) -> list[str]:
    """The splits that tokens.json lists, each of which is whole."""
    if not (out / "tokens.json").exists():
        return []
    names = sorted(json.loads((out / "tokens.json").read_text())["splits"])
    for name in names:
        file = TokenFile(str(out), name)
        assert len(file.document_ids) + 1 == len(file.starts)
    return names


def kill(work: Callable[[], object], event: int) -> bool:
    def killed() -> None:
        kill_at_event(event)
        work()

    status = os.waitpid(in_child(killed), 0)[1]
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def test_killed_before_any_file_operation(
    road: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    """A sample of all operations, the last ones (joining, publishing, tidying) more densely."""
    events = count_events(lambda: tokenize_corpus(request(road, tmp_path / "count")))
    late = range(events - 60, events, 4)
    kills = redone = 0
    for event in [*sorted(Random(5).sample(range(1, events - 60), 12)), *late]:
        out = tmp_path / f"at-{event}"
        kills += kill(lambda out=out: tokenize_corpus(request(road, out)), event)  # type: ignore[misc]
        whole, parts = standing(out), finished(out)
        found = tokenize_corpus(request(road, out))
        assert [one.split for one in found if one.reused] == [s for s in SPLITS if s in whole]
        reused = sum(one.shards.get("reused", 0) for one in found)
        encoded_before = sum(len(list_shards(road, name)) for name in whole)
        assert reused == max(0, parts - encoded_before)
        redone += reused
        assert digests(out) == undisturbed
        shutil.rmtree(out)
    assert kills == 12 + len(late) and redone > 12


def list_shards(road: Path, split: str) -> list[dict]:
    content = json.loads((road / "corpus/manifest.json").read_text())
    return [shard for shard in content["shards"] if shard["split"] == split]


def test_a_split_being_replaced_is_not_listed(
    road: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    tokenize_corpus(request(road, out))
    train_tokenizer(iter(["other words"] * 20), 270, str(tmp_path / "other"))

    def stopped(*_: object) -> None:
        raise RuntimeError("stopped")

    monkeypatch.setattr(tokenizing.tokens.token_parts, "_join_rows", stopped)
    with pytest.raises(RuntimeError):
        tokenize_split(str(road / "corpus"), "val", str(tmp_path / "other"), str(out))
    assert json.loads((out / "tokens.json").read_text())["splits"] == {}


def test_a_shard_that_changed_is_refused(road: Path, tmp_path: Path) -> None:
    from seamount.corpora.text import jsonl_zst

    copied = tmp_path / "corpus"
    shutil.copytree(road / "corpus", copied)
    call = (str(copied), "val", str(road / "tokenizer"), str(tmp_path / "out"))
    jsonl_zst.write_documents(str(copied / "val.jsonl.zst"), [Document("other", "A", "a", "")])
    with pytest.raises(CorruptData, match="its SHA-256 is another"):
        tokenize_split(*call)
    (copied / "val.jsonl.zst").write_bytes(b"no zstd at all")
    with pytest.raises(CorruptData):
        tokenize_split(*call)
    assert not (tmp_path / "out" / "tokens.json").exists()


def test_an_empty_split_is_refused_by_name_and_left_out_of_all(road: Path, tmp_path: Path) -> None:
    source, out = road / "in", str(tmp_path / "corpus")
    build_corpus(CorpusRequest((str(source),), out, val_share=0))
    assert tokenizing.splits_of(out, "all") == ("train", "test")
    with pytest.raises(UserError, match="no document in its split 'val'"):
        tokenizing.splits_of(out, "val")
    (ref,) = tokenize_corpus(TokenizeRequest(out, str(road / "tokenizer"), str(tmp_path), ("val",)))
    assert ref.documents == 0 and TokenFile(str(tmp_path), "val").starts.tolist() == [0]
