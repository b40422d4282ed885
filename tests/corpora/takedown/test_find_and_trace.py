"""Documents found, traced forward to their tokens, and back from a training step."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from hypothesis import given
from hypothesis import strategies as st
from standing import HOSTILE_ID, digests, records

from seamount.core import lineage, storage
from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text.packing import PackedSequences, permuted, unpermuted
from seamount.corpora.text.split import read_split
from seamount.corpora.text.takedown import find as finding
from seamount.corpora.text.takedown.exclude import exclude
from seamount.corpora.text.takedown.find import find
from seamount.corpora.text.takedown.rule import Rule
from seamount.corpora.text.takedown.trace import trace
from seamount.corpora.text.takedown.witnesses import (
    artefacts_below,
    witnesses,
    witnesses_of_exclusion,
)
from seamount.corpora.text.tokenizer import train_tokenizer
from seamount.corpora.text.tokens import TokenFile, tokenize_split
from seamount.training.trace import (
    Order,
    documents_of_step,
    judge_checkpoint,
    order_of_checkpoint,
    steps_of,
)


@pytest.mark.parametrize(
    ("query", "by", "fits"),
    [
        ("0-3", "id", lambda name, text: name == "0-3"),
        (HOSTILE_ID, "id", lambda name, text: name == HOSTILE_ID),
        ("1-", "prefix", lambda name, text: name.startswith("1-")),
        (r"^\d-\d$", "regex", lambda name, text: re.search(r"^\d-\d$", name)),
        ("SECRET-1", "text", lambda name, text: "SECRET-1" in text),
        ("secret 20 0", "words", lambda name, text: {"secret", "20", "0"} <= words(text)),
        ("SECRET-3", "auto", lambda name, text: "SECRET-3" in text),
        ("2-7", "auto", lambda name, text: name == "2-7"),
    ],
)
def test_found_are_those_that_fit(untouched: Path, source: Path, query: str, by: str, fits) -> None:  # type: ignore[no-untyped-def]
    wanted = [
        (shard, line, record["meta"]["id"], record["meta"]["pile_set_name"])
        for shard, line, record in records(untouched)
        if fits(record["meta"]["id"], record["text"])
    ]
    found = list(find(str(untouched), query, by))  # type: ignore[arg-type]
    assert wanted and [(f.shard, f.line, f.id, f.component) for f in found] == wanted
    for one in found:
        file, _, line = one.source.rpartition(":")
        assert Path(file).parent == source and int(line) >= 1
        assert one.split in one.shard
    assert [f.id for f in find(str(untouched), query, by, limit=1)] == [wanted[0][2]]  # type: ignore[arg-type]
    raw = {f.id for f in find(str(source), query, by)}  # type: ignore[arg-type]
    assert raw == {name for _, _, name, _ in wanted}


def words(text: str) -> set[str]:
    return {w.lower() for w in re.findall(r"[a-zA-Z0-9]+", text)}


@given(text=st.text(max_size=60), query=st.text("abcß ÄİſK1_-", min_size=1, max_size=4))
def test_words_are_whole_words_in_any_case(text: str, query: str) -> None:
    whole = {w.casefold() for w in re.findall(r"[^\W_]+", text)}
    asked = {w.casefold() for w in re.findall(r"[^\W_]+", query)}
    if asked:
        place = finding._matcher(query, "words", False)(text)
        assert (place >= 0) == (asked <= whole)


def test_the_excerpt_shows_the_place(untouched: Path) -> None:
    for one in find(str(untouched), "SECRET-2-1", "text"):
        assert "SECRET-2-1" in one.excerpt and len(one.excerpt) <= 180
    folded = list(find(str(untouched), "secret-2-1", "text", ignore_case=True))
    assert folded == list(find(str(untouched), "SECRET-2-1", "text")) != []


def test_an_id_is_found_without_reading_other_shards(corpus: Path) -> None:
    mine = next(p for p, _, r in records(corpus) if r["meta"]["id"] == "0-3")
    for path in corpus.rglob("*.zst"):
        if str(path.relative_to(corpus)) != mine:
            path.write_bytes(b"")
    assert [f.id for f in find(str(corpus), "0-3", "id")] == ["0-3"]
    (corpus / mine).write_bytes(b"")
    with pytest.raises(CorruptData, match="was changed"):
        list(find(str(corpus), "0-3", "id"))


def test_mistakes_in_find(untouched: Path) -> None:
    for query, by in (("", "auto"), ("(", "regex"), ("--", "words")):
        with pytest.raises(UserError):
            list(find(str(untouched), query, by))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def road(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, its tokenizer and tokens, and hand-written checkpoints and models behind them."""
    from standing import build

    root = tmp_path_factory.mktemp("road")
    corpus = build(source, root / "corpus")
    texts = (document.text for document in read_split(str(corpus), "train"))
    inputs = {"corpus": lineage.reference(str(corpus))}
    train_tokenizer(texts, 300, str(root / "tokenizer"), inputs=inputs)
    for split in ("train", "val"):
        tokenize_split(str(corpus), split, str(root / "tokenizer"), str(root / "tokens"))
    folder = root / "run" / "checkpoints" / "step_00000005"
    refs = {name: lineage.reference(str(root / name)) for name in ("tokens", "tokenizer")}
    lineage.write(str(folder), lineage.Lineage("checkpoint", "c" * 64, refs, {"step": 5}))
    recipe = {"data": {"batch_size": 3, "sequence_length": 50}, "seed": 4}
    told = {"recipe": recipe, "inputs": refs, "step": 5, "files": {}}
    storage.write_json(str(folder / "manifest.json"), told)
    (folder.parent / "LATEST").write_text("step_00000005\n")
    behind = {"checkpoint": lineage.reference(str(folder))}
    lineage.write(str(root / "run/model"), lineage.Lineage("model", "d" * 64, behind))
    lineage.write(str(root / "other"), lineage.Lineage("model", "e" * 64, {}))
    lost = {"tokens": {"path": str(root / "gone"), "digest": "f" * 64}}
    lineage.write(str(root / "lost"), lineage.Lineage("checkpoint", "9" * 64, lost))
    (root / "foreign").mkdir()
    (root / "foreign" / "lineage.json").write_text('{"other": ["program"]}')
    return root


def test_a_document_is_traced_to_its_tokens(road: Path) -> None:
    corpus = str(road / "corpus")
    for split in ("train", "val"):
        file = TokenFile(str(road / "tokens"), split)
        for document in list(read_split(corpus, split))[:3]:
            found = trace(corpus, document.id)
            (row,) = found["documents"]
            assert (row["split"], row["component"]) == (split, document.component)
            (part,) = found["tokens"]
            ids = file.tokens[part["start"] : part["end"]].tolist()
            from seamount.corpora.text.tokenizer import load_tokenizer

            own = load_tokenizer(str(road / "tokenizer")).encode(document.text)
            assert ids == [0, *own]
    held_out = next(iter(read_split(corpus, "test"))).id
    assert trace(corpus, held_out)["tokens"] == []
    with pytest.raises(UserError, match="no document"):
        trace(corpus, "no such")


def test_a_step_names_its_documents(road: Path) -> None:
    """Against the batches that training makes, and a search of the boundaries by hand."""
    from seamount.training.data_order import Batches

    file = TokenFile(str(road / "tokens"), "train")
    packed = PackedSequences(file, 50, 4)
    order = Order(batch_size=3, sequence_length=50, seed=4, steps=1_000, changes=((5, 4),))
    steps = (1, 2, len(packed) // 3 + 1, 999)
    for step in steps:
        (batch,) = Batches(packed, order.sizes, step - 1, step)
        found = documents_of_step(str(road / "tokens"), step, order)
        counts: Counter[str] = Counter()
        rows = np.concatenate([batch.ids_BT[:, :1].numpy(), batch.targets_BT.numpy()], axis=1)
        for row, sequence in zip(rows, found["sequences"], strict=True):
            assert np.array_equal(row, file.tokens[sequence["start"] : sequence["end"]])
            for place in range(sequence["start"], sequence["end"]):
                counts[file.document_ids[owner(place, file)]] += 1
            for one in sequence["documents"]:
                at = int(file.starts[file.document_ids.index(one["id"])]) + one["first"]
                assert sequence["start"] <= at < sequence["end"]
        assert {d["id"]: d["tokens"] for d in found["documents"]} == dict(counts)
        done = step - 1
        assert sum(counts.values()) == (3 if done < 5 else 4) * 51
        assert found["epoch"] == (3 * min(done, 5) + 4 * max(done - 5, 0)) // len(packed)
    for bad in (0, 1_001):
        with pytest.raises(UserError, match="steps 1 to 1000"):
            documents_of_step(str(road / "tokens"), bad, order)


@given(size=st.integers(1, 3_000), seed=st.integers(0, 9), epoch=st.integers(0, 3), data=st.data())
def test_the_inverse_of_the_order(size: int, seed: int, epoch: int, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, size - 1))
    assert unpermuted(permuted(position, size, seed, epoch), size, seed, epoch) == position


@pytest.mark.parametrize("length", [50, 777])
def test_the_steps_of_a_document_are_those_that_name_it(road: Path, length: int) -> None:
    """Every document against a walk over all steps of three epochs."""
    folder = str(road / "tokens")
    packed = PackedSequences(TokenFile(folder, "train"), length, 4)
    order = Order(4, length, 4, steps=3 * len(packed) // 4 + 1)
    walked: dict[str, list[int]] = {}
    for step in range(1, order.steps + 1):
        for one in documents_of_step(folder, step, order)["documents"]:
            walked.setdefault(one["id"], []).append(step)
    names = set(packed.file.document_ids)
    assert steps_of(folder, names, order) == walked
    few = Order(1, length, 4, steps=2)
    assert set(steps_of(folder, names, few)) == {
        one["id"] for step in (1, 2) for one in documents_of_step(folder, step, few)["documents"]
    }


def owner(place: int, file: TokenFile) -> int:
    return max(n for n, start in enumerate(file.starts[:-1]) if start <= place)


def test_a_checkpoint_knows_its_order(road: Path, tmp_path: Path) -> None:
    root = road / "run" / "checkpoints"
    wanted = Order(3, 50, 4, 5)
    for folder in (road / "run", root, root / "step_00000005"):
        order, where = order_of_checkpoint(str(folder), None)
        assert (order, where) == (wanted, str(road / "tokens"))
    with pytest.raises(UserError, match="another digest"):
        order_of_checkpoint(str(root), str(road / "tokenizer"))
    with pytest.raises(UserError, match="no checkpoint"):
        order_of_checkpoint(str(tmp_path), None)
    assert permuted(0, 7, 4, 0) in range(7)


def test_a_checkpoint_is_judged_by_its_steps(road: Path) -> None:
    checkpoint, tokens = str(road / "run/checkpoints/step_00000005"), str(road / "tokens")
    order = Order(3, 50, 4, 5)
    read: dict[str, int] = {}
    for step in range(1, 6):
        for one in documents_of_step(tokens, step, order)["documents"]:
            read.setdefault(one["id"], step)
    unread = set(TokenFile(tokens, "train").document_ids) - set(read)
    assert read and unread
    state, why = judge_checkpoint(checkpoint, None, unread) or ("", "")
    assert state == "clean" and "5 steps came to none" in why
    for name, step in read.items():
        state, why = judge_checkpoint(checkpoint, tokens, {name} | unread) or ("", "")
        assert state == "saw" and f"1 of them in its 5 steps, the first in step {step}" in why
    assert judge_checkpoint(str(road / "lost"), None, unread) is None
    states = {lineage.read(str(road / "corpus")).digest}
    for removed, wanted in ((sorted(unread), False), ([next(iter(read))], True)):
        found = witnesses(
            artefacts_below([str(road)]), states, {"train": removed}, judge_checkpoint
        )
        kinds = {w.kind for w in found if w.state == "saw"}
        assert "tokens" in kinds and ({"checkpoint", "model"} <= kinds) == wanted


def test_artefacts_that_saw_it(road: Path, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    """Only what holds the removed text by its own files, and what was made from that."""
    here = tmp_path / "road"
    shutil.copytree(road, here)  # moved: digests lead, paths in lineage files do not
    shutil.move(road, tmp_path / "away")
    try:
        corpus = str(here / "corpus")
        train, val = (next(read_split(corpus, s)).id for s in ("train", "val"))
        held_out = next(read_split(corpus, "test")).id
        done = exclude(corpus, Rule(ids=(train, val)))
        seen = {
            str(Path(w.path).relative_to(here)): w
            for w in witnesses_of_exclusion(corpus, done.exclusion, done.removed_ids)
        }
        checkpoint = "run/checkpoints/step_00000005"
        assert {n: w.state for n, w in seen.items()} == {
            "tokens": "saw", "tokenizer": "saw", checkpoint: "saw", "run/model": "saw",
            "lost": "unknown",
        }  # fmt: skip
        assert seen["tokens"].documents == 2
        for split, name in (("train", train), ("val", val)):
            file = TokenFile(str(here / "tokens"), split)
            n = file.document_ids.index(name)
            assert seen["tokens"].tokens[split] == file.starts[n + 1] - file.starts[n]
        # a checkpoint tells whether its steps came to it, and so what was made from it
        order, where = order_of_checkpoint(str(here / "run"), str(here / "tokens"))
        read = train in steps_of(where, {train}, order)
        states = {
            Path(w.path).name: w.state
            for w in witnesses_of_exclusion(
                corpus, done.exclusion, done.removed_ids, (), judge_checkpoint
            )
        }
        assert ("step_00000005" in states) == ("model" in states) == read
        ranges = trace(corpus, train)
        assert ranges["documents"] == [] and ranges["excluded"][0]["id"] == train
        assert ranges["tokens"][0]["state"] == "of an earlier state"
        assert run("corpus", "exclude", corpus, "--id", held_out, "--json") == 0
        told = json.loads(capsys.readouterr().out)["witnesses"]
        # no token file holds a test document, and no vocabulary was learnt from one
        assert {Path(w["path"]).name: w["state"] for w in told} == {"lost": "unknown"}
        assert len(artefacts_below([str(here)])) == 7
    finally:
        shutil.move(tmp_path / "away", road)


def test_the_commands(road: Path, corpus: Path, capsys, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert run("corpus", "find", "0-3", corpus, "--json") == 0
    (one,) = json.loads(capsys.readouterr().out)["matches"]
    assert one == asdict(next(find(str(corpus), "0-3")))
    assert run("corpus", "find", "SECRET", corpus, "--limit", 2) == 0
    assert "2 documents, and more" in capsys.readouterr().out
    assert run("corpus", "find", "nowhere to be found", corpus) == 1
    assert run("corpus", "find", "x", corpus, "--by", "nose") == 2
    assert run("corpus", "find", HOSTILE_ID, corpus) == 0
    out = capsys.readouterr().out
    assert "\\u202e\\x1b[31m" in out and all(c.isprintable() or c == "\n" for c in out)
    assert run("corpus", "trace", HOSTILE_ID, corpus) == 0
    assert "line" in capsys.readouterr().out
    read = documents_of_step(str(road / "tokens"), 1, Order(3, 50, 4, 5))["documents"][0]["id"]
    command = ("corpus", "trace", read, corpus, "--checkpoint", road / "run")
    assert run(*command, "--json") == 0
    assert 1 in json.loads(capsys.readouterr().out)["steps"][read]
    assert run(*command) == 0
    assert f"steps    {read}: 1" in capsys.readouterr().out
    assert run("corpus", "trace", "--step", 2, "--checkpoint", road / "run") == 0
    assert "step 2: 3 sequences of 50 + 1 tokens" in capsys.readouterr().out
    recipe = tmp_path / "r.yaml"
    recipe.write_text("seed: 4\nsteps: 9\ndata: {batch_size: 3, sequence_length: 50}\n")
    command = ("corpus", "trace", "--step", 2, "--recipe", recipe, "--tokens", road / "tokens")
    assert run(*command, "--json") == 0
    by_recipe = json.loads(capsys.readouterr().out)
    order, where = order_of_checkpoint(str(road / "run"), None)
    assert by_recipe == documents_of_step(where, 2, order)
    for bad in (("0-3",), ("--step", 2), ("--step", 2, "--recipe", recipe), ()):
        assert run("corpus", "trace", *bad) == 2
    old = digests(corpus)
    assert run("corpus", "exclude", corpus, "--component", "ArXiv", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "would exclude" in out and digests(corpus) == old
    assert max(len(line) for line in out.splitlines() if str(tmp_path) not in line) <= 120
    ids = tmp_path / "ids.txt"
    ids.write_text("0-3\r\n1-1\n\n")
    assert run("corpus", "exclude", corpus, "--ids-file", ids) == 0
    assert "excluded 2 documents" in capsys.readouterr().out
    assert run("corpus", "exclude", corpus) == 2
    assert run("corpus", "exclude", corpus, "--id", "a", "--match", "b") == 2
    ids.write_bytes(b"\xff\n")
    assert run("corpus", "exclude", corpus, "--ids-file", ids) == 2
