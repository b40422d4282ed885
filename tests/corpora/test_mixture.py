"""Weights met in bytes, and the ledger: properties that hold for any corpus."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamount.core.errors import SeamountError
from seamount.corpora.text import ledger, mixture
from seamount.corpora.text.mixture import Supply

supplies = st.dictionaries(
    st.sampled_from("abcdef"),
    st.builds(
        Supply,
        st.integers(1, 10**6),
        st.sampled_from([0.5, 1.0, 1.5, 3.0]),
        st.floats(0.1, 10),
    ),
    min_size=1,
)
totals = st.none() | st.integers(1, 10**6)


@settings(max_examples=200)
@given(supplies, totals)
def test_strict_keeps_the_weights(supply: dict[str, Supply], total: int | None) -> None:
    wanted = mixture.targets(supply, "strict", total)
    weights = sum(s.weight for s in supply.values())
    whole = sum(wanted.values())
    for name, one in supply.items():
        assert wanted[name] == pytest.approx(whole * one.weight / weights)
        assert wanted[name] <= one.limit * (1 + 1e-9)
    at_its_limit = any(wanted[n] == pytest.approx(s.limit) for n, s in supply.items())
    assert at_its_limit or whole == pytest.approx(total)


@settings(max_examples=200)
@given(supplies, totals)
def test_fill_reaches_the_total_and_starves_nobody(
    supply: dict[str, Supply], total: int | None
) -> None:
    wanted = mixture.targets(supply, "fill", total)
    most = sum(s.limit for s in supply.values())
    assert sum(wanted.values()) == pytest.approx(most if total is None else min(total, most))
    level = {n: wanted[n] / supply[n].weight for n in supply}
    for name, one in supply.items():
        assert wanted[name] <= one.limit * (1 + 1e-9)
        if wanted[name] < one.limit * (1 - 1e-9):  # not scarce: nobody has more for its weight
            assert level[name] >= max(level.values()) * (1 - 1e-9)


@settings(max_examples=200)
@given(supplies, totals)
def test_natural_keeps_the_proportions(supply: dict[str, Supply], total: int | None) -> None:
    wanted = mixture.targets(supply, "natural", total)
    there = sum(s.bytes for s in supply.values())
    share = 1 if total is None else min(1, total / there)
    assert wanted == pytest.approx({n: s.bytes * share for n, s in supply.items()})


@settings(max_examples=300)
@given(st.lists(st.integers(1, 10**5), min_size=1, max_size=50), st.floats(0, 3))
def test_copies_come_within_one_document_of_the_target(sizes: list[int], share: float) -> None:
    target = share * sum(sizes)
    taken = mixture.copies(sizes, target)
    size = sum(s * n for s, n in zip(sizes, taken, strict=True))
    assert size <= target * (1 + 1e-9) + 1e-6
    assert max(taken) - min(taken) <= 1
    left_out = [s for s, n in zip(sizes, taken, strict=True) if n == min(taken)]
    if max(taken) > min(taken) or size < target:
        assert not left_out or target - size < min(left_out) + 1e-6


def test_a_component_without_weight_is_left_out_of_a_weighted_mixture() -> None:
    supply = {"a": Supply(100, 1, 1.0), "b": Supply(100)}
    assert mixture.targets(supply, "fill", None) == {"a": 100, "b": 0}


def test_certificate_says_who_was_scarce() -> None:
    supply = {"a": Supply(10, 1, 1.0), "b": Supply(1_000, 1, 1.0)}
    wanted = mixture.targets(supply, "fill", 100)
    assert wanted == {"a": 10, "b": 90}
    shown = mixture.certificate(supply, wanted, {"a": 10, "b": 88})
    assert shown["a"]["scarce"] and not shown["b"]["scarce"]
    assert shown["b"]["achieved_share"] == pytest.approx(88 / 98)


events = st.lists(
    st.tuples(
        st.sampled_from(["kept", "drop", "duplicate", "quarantine"]),
        st.sampled_from(["x", "y"]),
        st.integers(0, 100),
        st.integers(0, 5),
    )
)


def _row(name: str, happened: list[tuple[str, str, int, int]]) -> ledger.Row:
    row = ledger.Row(name)
    for what, why, size, shrunk in happened:
        row.read.add(size + shrunk)
        row.normalisation_bytes += shrunk
        if what == "kept":
            row.kept.add(size)
        elif what == "drop":
            row.drop(why, size)
        elif what == "duplicate":
            row.duplicate(why, size)
        else:
            row.quarantined.add(size)
    return row


@given(events, events)
def test_ledger_adds_up_and_survives_storing(first, second) -> None:  # type: ignore[no-untyped-def]
    rows = [_row("a", first), _row("b", second)]
    together = ledger.total(rows)
    together.check()
    assert together.read.documents == len(first) + len(second)
    assert ledger.row_from_dict(ledger.row_to_dict(together)) == together


@given(events.filter(bool), st.sampled_from(["kept", "quarantined", "read"]))
def test_a_lost_document_is_noticed(happened, where: str) -> None:  # type: ignore[no-untyped-def]
    row = _row("a", happened)
    getattr(row, where).add(0)
    with pytest.raises(SeamountError, match="does not add up"):
        row.check()
