"""A build with edits: the ledger adds up, samples show what went, a retrained model rebuilds."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst, ledger
from seamount.corpora.text.audit.dropped import as_text, sample_dropped
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.manifest import load_manifest
from seamount.corpora.text.quality.classifier import train_classifier
from seamount.corpora.text.split import read_split

WORDS = ["the", "river", "carries", "water", "from", "high", "hills", "to", "a", "wide", "sea"]
MENU = "Home | About\nSubscribe to our newsletter\n"
CATALOG = """
name: test
mixture: natural
components:
  Pages:
    edits: [c4_lines, mask_pii]
    filters: [{c4_page: {sentences: 2}}, {fineweb_quality: {newlines: 1}}]
  Code:
    edits: [{mask_pii: {ip: ""}}]
    filters: [{minimum_length: {characters: 20}}]
"""


def prose(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=30)).capitalize() + "."


def make_documents() -> list[Document]:
    rng = random.Random(3)
    made = []
    for k in range(12):
        body = "\n".join(prose(rng) for _ in range(4))
        text = f"{MENU}{body}\nWrite to some.body{k}@example.co.uk, who answers every letter."
        made.append(Document(text, "Pages", f"page{k}", "test"))
    made.append(Document(f"{MENU}Only menus here", "Pages", "menu", "test"))
    made.append(Document("A {brace} is in here. " + prose(rng), "Pages", "brace", "test"))
    made.append(Document("x = 'a@b.io'  # 81.2.69.142 é\n" + prose(rng), "Code", "code", "test"))
    made.append(Document("short", "Code", "short", "test"))
    return made


def build(tmp_path: Path, out: str, catalog: str = CATALOG, **options: Any) -> str:
    source = tmp_path / "source.jsonl.zst"
    if not source.exists():
        jsonl_zst.write_documents(str(source), make_documents())
    (tmp_path / "catalog.yaml").write_text(catalog)
    request = CorpusRequest(
        sources=(str(source),),
        out=str(tmp_path / out),
        catalog=str(tmp_path / "catalog.yaml"),
        **{"keep_dropped": True, "dedupe": "none", **options},
    )
    return build_corpus(request).url


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build(tmp_path_factory.mktemp("edits"), "corpus")


def test_the_ledger_counts_what_each_edit_took(corpus: str) -> None:
    total = load_manifest(corpus)["ledger"]["total"]
    gone = sum(part["bytes"] for part in total["dropped"].values())
    edited = total["edited"]
    assert set(edited) == {"c4_lines", "mask_pii"}
    assert total["in"]["bytes"] == total["kept"]["bytes"] + gone + sum(edited.values())
    assert total["in"]["bytes"] == sum(len(d.text.encode()) for d in make_documents())
    assert edited["c4_lines"] == len(MENU) * 13 + len("Only menus here")
    mails = [f"some.body{k}@example.co.uk" for k in range(12)] + ["a@b.io"]
    assert edited["mask_pii"] == sum(len(mail) - len("<EMAIL>") for mail in mails)
    assert set(total["dropped"]) == {
        "empty", "c4_page: curly bracket", "minimum_length: too short"
    }  # fmt: skip


def test_edited_texts_are_what_is_kept(corpus: str) -> None:
    texts = {d.id: d.text for s in ("train", "val", "test") for d in read_split(corpus, s)}
    assert len(texts) == 13
    assert "81.2.69.142" in texts["code"] and "'<EMAIL>'" in texts["code"]
    for k in range(12):
        assert "Home" not in texts[f"page{k}"] and "Write to <EMAIL>, who" in texts[f"page{k}"]


def test_samples_show_reason_passage_and_difference(corpus: str) -> None:
    found = sample_dropped(corpus, per_rule=2)
    (brace,) = found["dropped"]["c4_page: curly bracket"]
    assert brace["id"] == "brace" and "{brace}" in brace["passage"]
    assert [r["id"] for r in found["dropped"]["minimum_length: too short"]] == ["short"]
    assert {len(found["edits"][name]) for name in ("c4_lines", "mask_pii")} == {2}
    lines = found["edits"]["c4_lines"][0]["diff"].split("\n")
    assert "-Home | About" in lines and not any(x.startswith("+") for x in lines[2:])
    masks = "\n".join(r["diff"] for r in found["edits"]["mask_pii"])
    assert "-Write to some.body" in masks and "+Write to <EMAIL>, who" in masks
    assert "because of" in as_text(found) and "== edited, mask_pii" in as_text(found)
    assert sample_dropped(corpus, per_rule=2) == found


def test_dropped_files_hold_dropped_documents_alone(corpus: str) -> None:
    total = load_manifest(corpus)["ledger"]["total"]
    lines = [
        json.loads(line)
        for path in Path(corpus).glob("dropped/*.jsonl.gz")
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    assert len(lines) == sum(part["documents"] for part in total["dropped"].values())


def test_workers_do_not_matter(corpus: str, tmp_path: Path) -> None:
    again = build(tmp_path, "corpus", workers=2)
    assert load_manifest(again)["digest"] == load_manifest(corpus)["digest"]


def test_without_keep_dropped_or_with_damage(corpus: str, tmp_path: Path) -> None:
    plain = build(tmp_path, "plain", keep_dropped=False)
    with pytest.raises(UserError, match="again with --keep-dropped"):
        sample_dropped(plain)
    kept = build(tmp_path, "kept")
    damaged = next(Path(kept).glob("dropped/*-filtered.jsonl.gz"))
    damaged.write_bytes(damaged.read_bytes()[:-9])
    with pytest.raises(CorruptData, match="is damaged"):
        sample_dropped(kept)


def test_a_model_trained_anew_builds_anew(tmp_path: Path) -> None:
    rng = random.Random(1)
    good = [prose(rng) * 2 for _ in range(30)]
    bad = ["buy cheap offers now and click here to win more prizes online today " * 3] * 30
    model = str(tmp_path / "model")
    catalog = (
        CATALOG + f"    epochs: 1\n  Web:\n    filters: [{{classifier: {{model: {model}}}}}]\n"
    )
    with pytest.raises(UserError):
        build(tmp_path, "web", catalog)
    train_classifier(good, bad, model)
    first = load_manifest(build(tmp_path, "web", catalog))["parameters"]["outside_files"]
    train_classifier(bad, good, model)
    second = load_manifest(build(tmp_path, "web", catalog))["parameters"]["outside_files"]
    assert list(first) == list(second) == [f"{model}/classifier.json"] and first != second


sizes = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 90), st.integers(-9, 9)))


@given(sizes, sizes)
def test_ledger_with_edits_adds_up_and_survives_storing(
    first: list[Any], second: list[Any]
) -> None:
    rows = []
    for name, documents in (("x", first), ("y", second)):
        row = ledger.Row(name)
        for edit, size, removed in documents:
            row.read.add(size + removed)
            row.edit(edit, removed)
            row.kept.add(size)
        rows.append(row)
    together = ledger.total(rows)
    together.check()
    assert together.edited == {
        edit: sum(removed for name, _, removed in first + second if name == edit)
        for edit in {name for name, _, _ in first + second}
    }
    assert ledger.row_from_dict(ledger.row_to_dict(together)) == together
    together.edit("a", 1)
    with pytest.raises(Exception, match="does not add up"):
        together.check()
