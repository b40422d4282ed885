"""Exact substring deduplication against its definition, spelled out with a dictionary."""

from __future__ import annotations

import tempfile
import tracemalloc
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text.dedupe import rolling_hash, sorted_rows, substrings
from seamount.corpora.text.dedupe.sorted_rows import SortedRows

TINY, SMALL = 1, 1 << 20


def brute(texts: list[bytes], length: int) -> list[tuple[int, int, int]]:
    """Mark every window that came before, then draw each stretch of marks in to characters."""
    first: dict[bytes, tuple[int, int]] = {}
    cuts = []
    for number, text in enumerate(texts):
        marks = [False] * (len(text) + 1)
        for at in range(len(text) - length + 1):
            document, place = first.setdefault(text[at : at + length], (number, at))
            if document < number or place + length <= at:
                marks[at : at + length] = [True] * length
        borders = [at for at in range(len(marks)) if marks[at] != (at > 0 and marks[at - 1])]
        for start, end in zip(borders[::2], borders[1::2], strict=True):
            while start < len(text) and text[start] & 0xC0 == 0x80:
                start += 1
            while end < len(text) and text[end] & 0xC0 == 0x80:
                end -= 1
            if start < end:
                cuts.append((number, start, end))
    return cuts


def find(
    texts: list[bytes], folder: Path | str, length: int, memory: int = SMALL
) -> list[tuple[int, int, int]]:
    return list(substrings.find(lambda: enumerate(texts), str(folder), length, memory))


def check(texts: list[bytes], folder: Path | str, length: int) -> None:
    wanted = brute(texts, length)
    assert find(texts, folder, length) == wanted
    assert find(texts, folder, length, TINY) == wanted


few_letters = st.lists(st.text("ab", max_size=60), max_size=6)
with_runs = st.lists(
    st.lists(st.tuples(st.sampled_from(["a", "ab", "abc", "é", "語x"]), st.integers(1, 30)))
    .map(lambda parts: "".join(part * times for part, times in parts))
    .filter(lambda text: len(text) < 300),
    max_size=4,
)
many_bytes = st.lists(st.text("aé語😀", max_size=40), max_size=6)


@pytest.mark.parametrize("texts", [few_letters, with_runs, many_bytes], ids=["ab", "runs", "utf8"])
def test_is_the_definition(texts: st.SearchStrategy, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("scratch")

    @given(texts, st.integers(1, 13))
    def holds(some: list[str], length: int) -> None:
        check([text.encode() for text in some], folder, length)

    holds()


def words(random: Random, count: int) -> str:
    return " ".join(random.choice(["sea", "mount", "tide", "øre", "pile"]) for _ in range(count))


def test_planted_repeats_at_all_offsets(tmp_path: Path) -> None:
    random = Random(0)
    passage = random.randbytes(30).hex()  # 60 bytes
    texts = [f"{words(random, 20)}{passage}{words(random, 10)}".encode()]
    for before in range(45):
        piece = passage[random.randrange(20) :][: random.randrange(20, 61)]
        texts.append(f"{random.randbytes(before).hex()}{piece}{random.randbytes(9).hex()}".encode())
    texts = [texts[0], b"", b"short", *texts[1:], texts[0], texts[0][7:-5]]
    for length in (16, 20, 33, 60):
        wanted = brute(texts, length)
        assert wanted
        assert find(texts, tmp_path, length) == find(texts, tmp_path, length, TINY) == wanted


def test_a_text_that_repeats_itself_keeps_one_window(tmp_path: Path) -> None:
    same = b"a" * 1000
    assert find([same, same], tmp_path, 200) == [(0, 200, 1000), (1, 0, 1000)]
    turns = b"abcdefg" * 100
    assert find([turns], tmp_path, 200) == brute([turns], 200) == [(0, 203, 700)]


def test_no_character_is_split(tmp_path: Path) -> None:
    # the same three last bytes of four in two characters, and the same first two of three
    left, right = "\U0001f600", "\U00010600"
    assert left.encode()[2:] == right.encode()[2:]
    texts = [f"{left}same same{'語'}".encode(), f"{right}same same{'誰'}".encode()]
    cuts = find(texts, tmp_path, 9)
    assert cuts == brute(texts, 9) == [(1, 4, 13)]
    number, start, end = cuts[0]
    assert texts[number][start:end].decode() == "same same"


def test_little_memory_gives_the_same(tmp_path: Path) -> None:
    random = Random(1)
    pool = [words(random, 60) for _ in range(40)]
    texts = [" ".join(random.sample(pool, 8)).encode() for _ in range(150)]
    wanted = brute(texts, 50)
    assert len(wanted) > 100
    work = substrings.Work()
    got = list(substrings.find(lambda: enumerate(texts), str(tmp_path), 50, TINY, work))
    assert got == find(texts, tmp_path, 50) == wanted
    assert work.cut_bytes == sum(end - start for _, start, end in wanted)
    assert work.windows > 64 * 20  # many times what is held at once
    assert list(tmp_path.iterdir()) == []


def peak_bytes(texts: list[bytes], folder: Path, memory: int) -> int:
    tracemalloc.start()
    try:
        assert sum(1 for _ in substrings.find(lambda: enumerate(texts), str(folder), 100, memory))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["one byte", "boilerplate", "templates"])
def test_memory_is_bounded_whatever_repeats(kind: str, tmp_path: Path) -> None:
    random = Random(2)
    notice = words(random, 60)
    if kind == "one byte":
        texts = [b"a" * 1_000_000]
    elif kind == "boilerplate":
        texts = [notice.encode() for _ in range(6_000)]
    else:  # never two anchors in equal contexts
        texts = [f"{notice[:120]}{n:06}{notice[120:]}".encode() for n in range(3_000)]
    find(texts[:2], tmp_path, 100)  # compiled
    assert peak_bytes(texts, tmp_path, 2 << 20) < 3 << 20


def test_a_run_of_one_byte_is_not_sorted(tmp_path: Path) -> None:
    work = substrings.Work()
    text = b"a" * 2_000_000
    got = list(substrings.find(lambda: [(7, text)], str(tmp_path), 100, work=work))
    assert got == [(7, 100, len(text))]
    assert work.contexts < 10_000
    assert work.windows < 100


def test_boilerplate_is_sorted_by_contexts_alone(tmp_path: Path) -> None:
    notice = Random(3).randbytes(500).hex().encode()
    work = substrings.Work()
    texts = [notice] * 1000
    got = list(substrings.find(lambda: enumerate(texts), str(tmp_path), 100, work=work))
    assert got == [(number, 0, 1000) for number in range(1, 1000)]
    assert work.contexts < 0.08 * work.bytes
    assert work.windows == 0


def test_documents_that_change_are_told(tmp_path: Path) -> None:
    random = Random(4)
    shared = random.randbytes(100).hex()
    texts = [f"{random.random()}{shared}{random.random()}".encode() for _ in range(4)]
    reads = iter([texts, texts[:3]])
    with pytest.raises(CorruptData, match="changed"):
        list(substrings.find(lambda: enumerate(next(reads)), str(tmp_path), 50))
    shorter = iter([texts, [text[:90] for text in texts]])
    with pytest.raises(CorruptData, match="changed"):
        list(substrings.find(lambda: enumerate(next(shorter)), str(tmp_path), 50))


def test_length_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="at least 1 byte, not 0"):
        find([], tmp_path, 0)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 99)), max_size=400))
def test_rows_are_sorted_out_of_core(rows: list[tuple[int, int, int]]) -> None:
    got = SortedRows(tempfile.gettempdir(), 3, 2, TINY)
    for start in range(0, len(rows), 37):
        got.add(np.array(rows[start : start + 37], np.uint64).reshape(-1, 3))
    assert got.rows == len(rows)
    blocks = np.concatenate([np.empty((0, 3), np.uint64), *got.blocks()])
    told = [tuple(row) for row in blocks.tolist()]
    assert [row[:2] for row in told] == [row[:2] for row in sorted(rows)]
    assert sorted(told) == sorted(rows)


def test_many_runs_are_merged_by_steps(tmp_path: Path) -> None:
    random = np.random.Generator(np.random.PCG64(0))
    rows = random.integers(0, 50, (64 * 64 * 3, 2), np.uint64)
    rows[:, 1] = range(len(rows))
    got = SortedRows(str(tmp_path), 2, 2, TINY)
    got.add(rows)
    blocks = list(got.blocks())
    assert max(map(len, blocks)) <= 64 * 64
    assert np.array_equal(np.concatenate(blocks), rows[np.argsort(rows[:, 0], kind="stable")])


def test_hashes_are_those_of_the_definition() -> None:
    text = np.frombuffer(Random(5).randbytes(300), np.uint8)
    table = rolling_hash.powers(300)
    prefixes = np.empty((2, 301), np.uint64)
    rolling_hash.hash_prefixes(text, 0, 300, table, prefixes)
    for which in range(2):
        base, value = int(table[which, 1]), 0
        for byte in text.tolist():
            value = (value * base + byte + 1) % ((1 << 61) - 1)
        assert int(prefixes[which, 300]) == value


def test_order_of_rows() -> None:
    rows = np.array([[2, 1], [1, 2**63 + 1], [2, 0], [1, 3], [0, 9]], np.uint64)
    assert sorted_rows.sorting_order(rows, 2).tolist() == [4, 3, 1, 2, 0]
    assert sorted_rows.sorting_order(rows, 1).tolist() == [4, 1, 3, 0, 2]
