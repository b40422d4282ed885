"""Documents taken out of a corpus: what goes, what stays, and the account of it."""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from standing import COMPONENTS, HOSTILE_ID, build, digests, make_source, records

from seamount.core import lineage
from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.manifest import load_manifest
from seamount.corpora.text.takedown.exclude import ExcludeRef, exclude, repeat
from seamount.corpora.text.takedown.rule import Rule


def check_all(before: list[Any], corpus: Path, gone: set[str], done: ExcludeRef) -> None:
    """The corpus is what it was without `gone`, and every file that describes it agrees."""
    content = load_manifest(str(corpus))
    wanted = [r for _, _, r in before if r["meta"]["id"] not in gone]
    now = records(corpus)
    assert [r for _, _, r in now] == wanted
    rows = pq.read_table(corpus / "documents.parquet").to_pylist()
    assert [(r["shard"], r["line"], r["id"]) for r in rows] == [
        (path, line, record["meta"]["id"]) for path, line, record in now
    ]
    sizes = Counter[tuple[str, str]]()
    counts = Counter[tuple[str, str]]()
    for path, _, record in now:
        for key in (("shard", path), ("component", record["meta"]["pile_set_name"])):
            counts[key] += 1
            sizes[key] += len(record["text"].encode())
    for shard in content["shards"]:
        raw = (corpus / shard["path"]).read_bytes()
        assert (len(raw), hashlib.sha256(raw).hexdigest()) == (shard["size_bytes"], shard["sha256"])
        key = ("shard", shard["path"])
        assert (shard["documents"], shard["bytes"]) == (counts[key], sizes[key])
    assert content["components"] == {
        name: {"documents": counts["component", name], "bytes": sizes["component", name]}
        for kind, name in sorted(counts)
        if kind == "component"
    }
    check_ledger(content, len(now))
    assert done.digest == content["digest"] == lineage.read(str(corpus)).digest
    assert {i for ids in done.removed_ids.values() for i in ids} == gone
    assert not list(corpus.glob(".exclude*"))


def check_ledger(content: dict[str, Any], documents: int) -> None:
    for row in [*content["ledger"]["inputs"], content["ledger"]["total"]]:
        for unit in ("documents", "bytes"):
            rest = [*row["dropped"].values(), *row["duplicates"].values()]
            total = row["kept"][unit] + row["quarantined"][unit] + sum(p[unit] for p in rest)
            total += row["normalisation_bytes"] if unit == "bytes" else 0
            assert total == row["in"][unit]
    assert content["documents"] == documents
    assert content["ledger"]["total"]["kept"]["documents"] + content["copies"]["documents"] == (
        documents
    )


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component(corpus: Path, component: str) -> None:
    before, old = records(corpus), load_manifest(str(corpus))
    done = exclude(str(corpus), Rule(components=(component,)))
    gone = {r["meta"]["id"] for _, _, r in before if r["meta"]["pile_set_name"] == component}
    check_all(before, corpus, gone, done)
    content = load_manifest(str(corpus))
    dropped = content["ledger"]["total"]["dropped"][f"excluded: component {component}"]
    assert dropped == old["components"][component]
    assert component not in content["mixture"]
    shares = [part["achieved_share"] for part in content["mixture"].values()]
    assert sum(shares) == pytest.approx(1)
    assert done.exclusion is not None
    # natural proportions: the Pile's own weights of the two components it knows
    pile = {"Github": 7.59, "ArXiv": 8.96}
    there = sum(pile.values())
    for name, part in done.exclusion["mixture"].items():
        left = there - pile.get(component, 0)
        before = pile[name] / there if name in pile else None
        after = pile[name] / left if name in pile and name != component else None
        for told, wanted in zip(part["weight"], (before, after), strict=True):
            assert told == (None if wanted is None else pytest.approx(wanted, rel=2e-3))


def test_an_id_touches_one_shard_and_leaves_the_others_as_they_are(corpus: Path) -> None:
    before = records(corpus)
    (where,) = {path for path, _, r in before if r["meta"]["id"] == HOSTILE_ID}
    stamps = {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in corpus.rglob("*.zst")}
    old = digests(corpus)
    done = exclude(str(corpus), Rule(ids=(HOSTILE_ID,)))
    check_all(before, corpus, {HOSTILE_ID}, done)
    changed = {name for name, digest in digests(corpus).items() if old.get(name) != digest}
    described = {"manifest.json", "lineage.json", "documents.parquet", "excluded.parquet"}
    assert changed == {where} | described
    for path, stamp in stamps.items():
        same = (path.stat().st_mtime_ns, path.stat().st_ino) == stamp
        assert same == (str(path.relative_to(corpus)) != where)
    (row,) = pq.read_table(corpus / "excluded.parquet").to_pylist()
    assert (row["id"], row["shard"], row["exclusion"]) == (HOSTILE_ID, where, 1)


def test_a_pattern(corpus: Path) -> None:
    before = records(corpus)
    done = exclude(str(corpus), Rule(match=r"SECRET-[02]-\d+$"))
    gone = {r["meta"]["id"] for _, _, r in before if re.search(r"SECRET-[02]-\d+$", r["text"])}
    assert len(gone) == 6
    check_all(before, corpus, gone, done)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_choice_one_after_another(untouched: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Any ids in any order of calls give the same corpus; only the history differs."""
    before = records(untouched)
    names = [r["meta"]["id"] for _, _, r in before]
    gone = data.draw(st.sets(st.sampled_from(names), min_size=1, max_size=len(names) - 1))
    cut = data.draw(st.integers(0, len(gone)))
    order = data.draw(st.permutations(sorted(gone)))
    results = []
    for number, parts in enumerate(([order], [order[:cut], order[cut:]])):
        corpus = tmp_path / str(number)
        shutil.rmtree(corpus, ignore_errors=True)
        shutil.copytree(untouched, corpus)
        done = [exclude(str(corpus), Rule(ids=tuple(p))) for p in parts if p]
        ids = [i for one in done for ids in one.removed_ids.values() for i in ids]
        assert sorted(ids) == order_of(gone)
        check_all(before, corpus, gone, merged(done))
        results.append({k: v for k, v in digests(corpus).items() if k.endswith(".zst")})
    assert results[0] == results[1]


def order_of(names: set[str]) -> list[str]:
    return sorted(names)


def merged(done: list[ExcludeRef]) -> ExcludeRef:
    ids = {str(n): [i for p in one.removed_ids.values() for i in p] for n, one in enumerate(done)}
    return ExcludeRef(done[-1].url, done[-1].digest, done[-1].exclusion, ids)


def test_copies_by_epochs_go_with_their_document(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in", files=2, documents=40)
    catalog = tmp_path / "catalog.yaml"
    parts: dict[str, Any] = {name: {"weight": 1.0, "epochs": 3.0} for name in COMPONENTS}
    parts["Github"]["weight"] = 4.0
    catalog.write_text(yaml.safe_dump({"name": "c", "components": parts}, allow_unicode=True))
    corpus = build(source, tmp_path / "c", catalog=str(catalog))
    before, old = records(corpus), load_manifest(str(corpus))
    names = [r["meta"]["id"] for _, _, r in before]
    assert old["copies"]["documents"] > 10
    name = next(n.removesuffix("#3") for n in names if n.endswith("#3"))
    gone = {name, f"{name}#2", f"{name}#3"}
    asked = f"{name}#2"  # the name of a copy takes all of them
    done = exclude(str(corpus), Rule(ids=(asked,)))
    check_all(before, corpus, gone, done)
    assert done.exclusion is not None and done.exclusion["copies"]["documents"] == 2
    content = load_manifest(str(corpus))
    assert content["copies"]["documents"] == old["copies"]["documents"] - 2
    exclude(str(corpus), Rule(components=("ArXiv",)))
    weights = {n: part["weight"] for n, part in load_manifest(str(corpus))["mixture"].items()}
    assert weights == pytest.approx(
        {n: (4 if n == "Github" else 1) / 6 for n in COMPONENTS if n != "ArXiv"}
    )


def test_a_component_without_room_in_the_mixture_is_not_gone(tmp_path: Path) -> None:
    """Its weight stands before and after another document goes."""
    source = make_source(tmp_path / "in", files=2, documents=40)
    large = [Document("long words " * 9_000, "Books3", "book", "")]
    jsonl_zst.write_documents(str(source / "09.jsonl.zst"), large)
    corpus = build(source, tmp_path / "c", max_bytes=20_000)
    assert "Books3" not in load_manifest(str(corpus))["components"]
    name = records(corpus)[0][2]["meta"]["id"]
    done = exclude(str(corpus), Rule(ids=(name,)))
    mixture = load_manifest(str(corpus))["mixture"]
    assert mixture["Books3"]["available_bytes"] == 99_000
    assert done.exclusion is not None
    before, after = done.exclusion["mixture"]["Books3"]["weight"]
    assert before == after > 0


def test_a_dry_run_tells_the_same_and_writes_nothing(corpus: Path) -> None:
    old = digests(corpus)
    for rule in (Rule(components=("ArXiv",)), Rule(ids=("0-3",)), Rule(match="SECRET-1")):
        told = exclude(str(corpus), rule, dry_run=True)
        assert digests(corpus) == old and told.dry_run and told.exclusion is not None
        done = exclude(str(shutil.copytree(corpus, corpus.with_name(f"c{hash(rule)}"))), rule)
        assert done.exclusion is not None
        unknown = ("digest_after", "samples")
        left, right = ({k: v for k, v in e.items() if k not in unknown} for e in (
            told.exclusion, done.exclusion))  # fmt: skip
        assert left == right and told.removed_ids == done.removed_ids


def test_what_was_kept_of_dropped_documents_goes_too(tmp_path: Path) -> None:
    source = make_source(tmp_path / "in")
    extra = [Document("SECRET-9 too short", "Github", "short", "")]
    extra += [Document("", "ArXiv", "empty", "")]
    jsonl_zst.write_documents(str(source / "09.jsonl.zst"), extra)
    corpus = build(source, tmp_path / "c", keep_dropped=True)
    assert b"empty" in kept_of_dropped(corpus)
    done = exclude(str(corpus), Rule(components=("ArXiv",)))
    lines = kept_of_dropped(corpus).splitlines()
    names = {json.loads(line)["meta"]["pile_set_name"] for line in lines}
    assert "ArXiv" not in names
    assert done.exclusion is not None and done.exclusion["samples"] >= 1


def kept_of_dropped(corpus: Path) -> bytes:
    return b"".join(gzip.decompress(p.read_bytes()) for p in sorted(corpus.rglob("*.gz")))


def test_mistakes_change_nothing(corpus: Path, untouched: Path) -> None:
    old = digests(corpus)
    url = str(corpus)
    for rule, says in (
        (Rule(components=("Githb",)), "did you mean"),
        (Rule(ids=("0-3", "no such")), "no document has the id no such"),
        (Rule(match="SECRET-77"), "matches 'SECRET-77'"),
        (Rule(match="."), "every document"),
        (Rule(components=COMPONENTS), "every document"),
    ):
        with pytest.raises(UserError, match=re.escape(says)):
            exclude(url, rule)
    for bad in ({}, {"ids": ("a",), "match": "b"}, {"match": "("}, {"match": "a*"}):
        with pytest.raises(UserError):
            Rule(**bad)
    with pytest.raises(UserError, match="no finished corpus"):
        exclude(str(corpus / "train"), Rule(ids=("0-3",)))
    with pytest.raises(UserError, match="no finished corpus"):
        exclude(str(corpus / "nowhere"), Rule(ids=("0-3",)))
    (corpus / ".work").mkdir()
    with pytest.raises(UserError, match="was stopped or is at work"):
        exclude(url, Rule(ids=("0-3",)))
    (corpus / ".work").rmdir()
    folder = os.open(corpus, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with pytest.raises(UserError, match="another build or exclusion"):
        exclude(url, Rule(ids=("0-3",)))
    os.close(folder)
    assert digests(corpus) == old == digests(untouched)


def test_a_changed_shard_is_noticed_and_left(corpus: Path) -> None:
    path = next(p for p, _, r in records(corpus) if r["meta"]["id"] == "0-3")
    other = next(p for p, _, _ in records(corpus) if p != path)
    shutil.copy(corpus / other, corpus / path)
    old = digests(corpus)
    with pytest.raises(CorruptData):
        exclude(str(corpus), Rule(ids=("0-3",)))
    assert digests(corpus) == old


def test_a_shard_with_another_text_is_noticed(corpus: Path) -> None:
    """Same ids, same counts, one letter another: only the digest tells."""
    path = next(p for p, _, r in records(corpus) if r["meta"]["id"] == "0-3")
    mine = [r for p, _, r in records(corpus) if p == path]
    assert len(mine) > 1
    other = next(r for r in mine if r["meta"]["id"] != "0-3")
    other["text"] = "W" + other["text"][1:]
    lines = [json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in mine]
    jsonl_zst.write_lines(str(corpus / path), lines)
    old = digests(corpus)
    with pytest.raises(CorruptData, match="SHA-256"):
        exclude(str(corpus), Rule(ids=("0-3",)))
    assert digests(corpus) == old


def test_excluding_again_is_no_mistake_and_changes_nothing(corpus: Path) -> None:
    for rule in (Rule(components=("ArXiv",)), Rule(ids=("0-3", "1-1")), Rule(match="SECRET-1")):
        first = exclude(str(corpus), rule)
        old = digests(corpus)
        again = exclude(str(corpus), rule)
        assert digests(corpus) == old
        assert (again.exclusion, again.removed_ids) == (first.exclusion, first.removed_ids)
        assert again.earlier and not first.earlier


def test_a_rebuild_does_not_bring_them_back(source: Path, tmp_path: Path) -> None:
    corpus = build(source, tmp_path / "c")
    exclude(str(corpus), Rule(ids=("0-3",)))
    exclude(str(corpus), Rule(components=("ArXiv",)))
    old = digests(corpus)
    shares = {"shard_bytes": 12_000, "test_share": 0.05, "val_share": 0.05}
    again = build_corpus(CorpusRequest((str(source),), str(corpus), **shares))  # type: ignore[arg-type]
    assert again.reused and again.documents == load_manifest(str(corpus))["documents"]
    with pytest.raises(UserError, match="would bring them back"):
        build(source, corpus, seed=1)
    assert digests(corpus) == old
    other = build(source, tmp_path / "other", seed=1)
    before = records(other)
    gone = {r["meta"]["id"] for _, _, r in before if r["meta"]["pile_set_name"] == "ArXiv"}
    done = repeat(str(other), str(corpus))
    check_all(before, other, gone | {"0-3"}, merged(done))
    with pytest.raises(UserError, match="nothing was ever excluded"):
        repeat(str(corpus), str(build(source, tmp_path / "third", seed=2)))


def test_in_another_store(source: Path, tmp_path: Path) -> None:
    request = CorpusRequest((str(source),), "memory://takedown/c", shard_bytes=12_000)
    build_corpus(request)
    local = tmp_path / "c"
    build_corpus(CorpusRequest((str(source),), str(local), shard_bytes=12_000))
    there = exclude("memory://takedown/c", Rule(ids=("0-3",)))
    here = exclude(str(local), Rule(ids=("0-3",)))
    assert there.digest == here.digest and there.removed_ids == here.removed_ids
