"""Compressors and the byte histogram against direct computation."""

from __future__ import annotations

import lzma
import math

import pytest
import zstandard

from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.evaluation.baselines import NAMES, baselines, scorer

TEXTS = {"A": ["hello world " * 30, "hällo wörld " * 20, ""], "B": ["x = 1\n" * 50]}
DOCUMENTS = [
    Document(text, name, f"{name}/{i}", "x")
    for name, texts in TEXTS.items()
    for i, text in enumerate(texts)
]


def of(name):
    found = scorer(name, lambda: DOCUMENTS)
    return {s.id: s for s in found.score(DOCUMENTS)}


def test_zstd_is_the_librarys_frame_of_each_document_alone():
    for document in DOCUMENTS[:2]:
        raw = document.text.encode()
        frame = zstandard.ZstdCompressor(level=19).compress(raw)
        found = of("zstd")[document.id]
        assert found.nats / math.log(2) == pytest.approx(8 * len(frame))
        assert found.size_bytes == len(raw)


def test_xz_is_no_larger_than_the_tools_own():
    for document in DOCUMENTS[:2]:
        tool = len(lzma.compress(document.text.encode(), preset=9 | lzma.PRESET_EXTREME))
        ours = of("xz")[document.id].nats / math.log(2) / 8
        assert tool - 8 <= ours + 4 <= tool + 4  # 8 bytes of check saved, nothing else


def test_whole_is_one_frame_a_component():
    raw = "".join(TEXTS["A"]).encode()
    frame = zstandard.ZstdCompressor(level=19).compress(raw)
    found = of("zstd_whole")
    assert set(found) == {"A", "B"}
    assert found["A"].nats / math.log(2) == pytest.approx(8 * len(frame))
    assert found["A"].size_bytes == len(raw)


def test_an_empty_document_costs_nothing():
    for name in ("zstd", "xz", "unigram"):
        assert of(name)["A/2"].nats == 0


def test_unigram_by_hand():
    train = [Document("aab", "A", "t", "x")]
    found = next(iter(scorer("unigram", lambda: train).score([Document("ac", "A", "i", "x")])))
    assert found.nats == pytest.approx(-math.log(3 / 259) - math.log(1 / 259))


def test_all_are_weighted_alike():
    found = baselines(lambda: DOCUMENTS, lambda: DOCUMENTS, {"A": 1.0, "B": 3.0})
    assert tuple(found) == NAMES
    for result in found.values():
        parts = result.components
        assert result.weighted == pytest.approx(parts["A"].bpb / 4 + 3 * parts["B"].bpb / 4)
    assert found["zstd_whole"].components["A"].bpb < found["zstd"].components["A"].bpb


def test_an_unknown_baseline_is_named():
    with pytest.raises(UserError, match="'zip'"):
        scorer("zip")
    with pytest.raises(UserError, match="unigram"):
        scorer("unigram")
