"""The cut into train, val and test."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seamount.corpora.text import split
from seamount.corpora.text.stages import held_out

documents = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 1_000), st.integers(0, 30)),
    min_size=1,
    max_size=60,
)


def cut(rows, val: float = 0.05, test: float = 0.05) -> list[str]:  # type: ignore[no-untyped-def]
    components, sizes, groups = (list(column) for column in zip(*rows, strict=True))
    codes = np.array(["abc".index(component) for component in components], np.uint16)
    budgets: dict[int, float] = defaultdict(float)
    for code, size in zip(codes.tolist(), sizes, strict=True):
        budgets[code] += size
    shares = {"val": val, "test": test}
    found = held_out.assign(codes, np.array(sizes), np.array(groups), budgets, shares)
    return [split.SPLITS[code] for code in found]


@settings(max_examples=300)
@given(documents)
def test_groups_stay_together_and_no_component_is_eaten(rows) -> None:  # type: ignore[no-untyped-def]
    splits = cut(rows)
    by_group = defaultdict(set)
    for (_, _, group), name in zip(rows, splits, strict=True):
        by_group[group].add(name)
    assert all(len(names) == 1 for names in by_group.values())


@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 1_000)), min_size=1, max_size=60))
def test_every_component_is_in_every_split_it_can_be(rows) -> None:  # type: ignore[no-untyped-def]
    alone = [(component, size, number) for number, (component, size) in enumerate(rows)]
    splits = cut(alone)
    there = defaultdict(list)
    for (component, _, _), name in zip(alone, splits, strict=True):
        there[component].append(name)
    for names in there.values():
        assert "train" in names
        assert ("test" in names) == (len(names) >= 2)
        assert ("val" in names) == (len(names) >= 3)


def test_shares_are_met_for_many_small_documents() -> None:
    rows = [("a", 10 + n % 7, n) for n in range(5_000)]
    splits = cut(rows, val=0.02, test=0.04)
    total = sum(size for _, size, _ in rows)
    for name, share in (("val", 0.02), ("test", 0.04)):
        size = sum(s for (_, s, _), where in zip(rows, splits, strict=True) if where == name)
        assert abs(size / total - share) < 0.001


def test_no_share_no_split() -> None:
    assert set(cut([("a", 5, n) for n in range(9)], val=0, test=0)) == {"train"}
