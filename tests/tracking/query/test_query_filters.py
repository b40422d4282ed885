"""Filters: the parser's readings and mistakes, and the evaluator against plain Python."""

from __future__ import annotations

import datetime
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamount.core.errors import UserError
from seamount.tracking.query.evaluate import select
from seamount.tracking.query.filter_parser import parse_filter, parse_operand
from seamount.tracking.query.filters import (
    And,
    Not,
    Operand,
    Or,
    Test,
    attribute,
    config,
    file,
    metric,
    tag,
)
from seamount.tracking.query.mistakes import QueryError

NOON = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)


class Table:
    """A source over plain dicts: {run id: {operand as text: value}}."""

    def __init__(self, runs):
        self.runs, self.asked = runs, []

    def values(self, operand, run_ids):
        self.asked.append((str(operand), len(run_ids)))
        return {i: self.runs[i][str(operand)] for i in run_ids if str(operand) in self.runs[i]}

    def texts(self, run_ids):
        raise AssertionError("not asked for")


def chosen(where, **values):
    """Whether one run with these values (`config.x` each) is selected."""
    source = Table({"r": {f"config.{name}": value for name, value in values.items()}})
    where = parse_filter(where) if isinstance(where, str) else where
    return select(where, ["r"], source) == {"r"}


@pytest.mark.parametrize(
    ("where", "value", "expected"),
    [
        ("config.x = 1", 1, True), ("config.x = 1", 1.0, True), ("config.x = 1", True, False),
        ("config.x = 1", "1", True), ("config.x = 1", "one", False), ("config.x != 1", "one", True),
        ("config.x < 0.1", "5e-2", True), ("config.x < 0.1", "0.1", False),
        ("config.x < 0.1", [0.01], False), ("config.x = '0.1'", 0.1, True),
        ("config.x = true", True, True), ("config.x = true", "True", True),
        ("config.x = true", 1, False), ("config.x != true", False, True),
        ("config.x > 'b'", "c", True), ("config.x > 'b'", "a", False),
        ("config.x = nan", math.nan, True), ("config.x != nan", 1.0, True),
        ("config.x < nan", 1.0, False), ("config.x <= inf", math.inf, True),
        ("config.x > -inf", math.nan, False), ("config.x != 1", math.nan, True),
        ("config.x in (1, 'a')", "a", True), ("config.x not in (1, 'a')", 2, True),
        ("config.x not in (1, 'a')", 1, False), ("config.x = 9007199254740993", 2**53 + 1, True),
        ("config.x = 9007199254740993", 2**53, False),
        ("config.x > 2026-01-30", "2026-01-31", True),
        ("config.x = 2026-01-31T12:00Z", "2026-01-31T13:00:00+01:00", True),
        ("config.x > 2026-01-30", 5, False), ("config.x > 2026-01-30", "soon", False),
        ("config.x like 'a%c_'", "abbcd", True), ("config.x like 'a%c_'", "abbc", False),
        ("config.x like 'A%'", "ab", False), ("config.x ilike 'É%'", "éa", True),
        (r"config.x like '10\%'", "10%", True), (r"config.x like '10\%'", "10x", False),
        ("config.x like '%.%'", "a\nb.c", True), ("config.x like '.'", "a", False),
        ("config.x not like 'a%'", "b", True),
        ("config.x matches '(a | b) & !c'", "xb", True),
        ("config.x matches '(a | b) & !c'", "xbc", False),
        ("config.x not matches '^a'", "ba", True),
        ("config.x matches '^0.1$'", 0.1, True), ("config.x = 2h", 7200, True),
        ("config.x exists", None, True), ("config.x not exists", None, False),
    ],
)  # fmt: skip
def test_a_literals_type_decides_how_a_value_is_read(where, value, expected):
    assert chosen(where, x=value) is expected


@pytest.mark.parametrize(
    "test", ["= 1", "!= 1", "< 1", "in (1)", "not in (1)", "like 'a'", "not like 'a'", "exists"]
)
def test_a_value_that_is_not_there_satisfies_nothing_but_not(test):
    assert not chosen(f"config.x {test}", y=1)
    assert chosen(f"not config.x {test}", y=1)


VALUES = st.one_of(
    st.none(), st.integers(-2, 2), st.sampled_from([0.5, math.nan, True, False, "a", "b", "1"])
)
COMPARE = {
    "=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip
LEAVES = st.tuples(
    st.sampled_from(["x", "y", "odd name", "a/b"]), st.sampled_from(list(COMPARE)),
    st.integers(-2, 2),
)  # fmt: skip
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    ),
    max_leaves=10,
)


def written(tree) -> str:
    """As text, every inner part in parentheses."""
    if tree[0] == "not":
        return f"not ({written(tree[1])})"
    if tree[0] in ("and", "or"):
        return f"({written(tree[1])}) {tree[0]} ({written(tree[2])})"
    name, sign, value = tree
    return f"config.`{name}` {sign} {value}"


def built(tree):
    """By the Python objects."""
    if tree[0] == "not":
        return ~built(tree[1])
    if tree[0] in ("and", "or"):
        left, right = built(tree[1]), built(tree[2])
        return left & right if tree[0] == "and" else left | right
    name, sign, value = tree
    return COMPARE[sign](config(name), value)


def truth(tree, run) -> bool:
    """By an independent rule: numbers and texts of numbers compare, the rest only differs."""
    if tree[0] == "not":
        return not truth(tree[1], run)
    if tree[0] in ("and", "or"):
        return (all if tree[0] == "and" else any)(truth(part, run) for part in tree[1:])
    name, sign, wanted = tree
    if name not in run:
        return False
    value = run[name]
    number = float(value) if value == "1" else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        return sign == "!="
    return COMPARE[sign](number, wanted)


RUNS = st.lists(st.dictionaries(st.sampled_from(["x", "y", "odd name", "a/b"]), VALUES), max_size=6)


@given(EXPRESSIONS, RUNS)
@settings(max_examples=150, deadline=None)
def test_random_filters_select_what_plain_python_selects(tree, runs):
    table = {str(n): run for n, run in enumerate(runs)}
    source = Table(
        {i: {str(Operand("config", k)): v for k, v in run.items()} for i, run in table.items()}
    )
    expected = {i for i, run in table.items() if truth(tree, run)}
    text = parse_filter(written(tree))
    assert select(text, table, source) == expected
    assert select(built(tree), table, source) == expected
    assert select(parse_filter(str(text)), table, source) == expected


@given(EXPRESSIONS)
@settings(max_examples=100, deadline=None)
def test_a_filter_written_out_reads_as_itself(tree):
    where = built(tree)
    again = parse_filter(str(where))
    assert str(again) == str(where)


def test_precedence_and_case_of_words():
    where = parse_filter("NOT state = 'a' AND name = 'b' or project = 'c'")
    assert isinstance(where, Or) and isinstance(where.parts[0], And)
    assert isinstance(where.parts[0].parts[0], Not)
    assert str(parse_filter("not (state = 'a' and name = 'b')")) == (
        "not (state = 'a' and name = 'b')"
    )


def test_all_attributes_and_the_objects_that_make_them():
    pairs = {
        "last(loss) < 2": metric("loss").last() < 2,
        "min(val/loss) >= -1.5": metric("val/loss").min() >= -1.5,
        "max(`a b`) != nan": metric("a b").max() != math.nan,
        "mean(loss@3) > 0": metric("loss@3").mean() > 0,
        "count(loss) = 10": metric("loss").count() == 10,
        "at(loss, 100) <= 2": metric("loss").at(100) <= 2,
        "tag.team in ('a', 'b')": tag("team").isin(["a", "b"]),
        "file.`re port.html` exists": file("re port.html").exists(),
        "created > 2026-01-31T12:00:00Z": attribute("created") > NOON,
        "config.`it's` like '%''%'": config("it's").like("%'%"),
        "config.`a``b` matches 'x | y'": config("a`b").matches("x | y"),
        "name ilike 'a'": attribute("name").ilike("a"),
    }
    for text, where in pairs.items():
        assert str(where) == text
        assert str(parse_filter(text)) == text
    assert parse_operand('config."lr x"') == Operand("config", "lr x")
    assert parse_filter("config.日本 = 'é'") == Test(Operand("config", "日本"), "=", "é")
    ago = parse_filter("created > ago(2d)").value
    assert abs((datetime.datetime.now(datetime.UTC) - ago).total_seconds() - 172_800) < 600
    with pytest.raises(TypeError, match="join filters by"):
        bool(config("a") < 1)


@pytest.mark.parametrize(
    ("query", "place", "message"),
    [
        ("", 1, "expected an attribute"),
        ("loss < 2", 1, r"unknown attribute 'loss': write config.loss, tag.loss or last\(loss\)"),
        ("sate = 'x'", 1, "did you mean 'state'"),
        ("config.lr <", 12, "expected a value .* found the end"),
        ("config.lr 3", 11, "expected = != .* found '3'"),
        ("config.lr not < 3", 15, "expected in, like"),
        ("(state = 'a'", 13, "expected `\\)`"),
        ("state = 'a' state = 'b'", 13, "expected `and`"),
        ("state = 'a", 9, "is not closed"),
        ("state = a", 9, "expected a value"),
        ("last(loss) = 'x'", 14, "compared with a number"),
        ("created > 'soon'", 11, "no date"),
        ("created > 2026-02-30", 11, "no date"),
        ("created > 5", 11, "compared with a date"),
        ("at(loss) < 2", 8, "a step"),
        ("config.x in 1", 13, "expected `\\(`"),
        ("any = 'x'", 1, "can only be matched"),
        ("config.x = #", 12, "no meaning"),
        ("not " * 200 + "state = 'a'", 405, "nested 100 deep"),
        ("(" * 200, 102, "nested 100 deep"),
    ],
)
def test_mistakes_say_what_was_expected_and_point_at_the_place(query, place, message):
    with pytest.raises(QueryError, match=message) as caught:
        parse_filter(query)
    assert f"at character {place} " in str(caught.value)
    assert caught.value.position == place - 1
    assert caught.value.__notes__[0].endswith("^")


def test_a_mistake_in_a_pattern_is_pointed_at_in_the_pattern():
    with pytest.raises(QueryError, match="repetition") as caught:
        parse_filter("state = 'a' and name matches 'b | c**'")
    assert caught.value.__notes__ == ["  b | c**\n      ^"]
    with pytest.raises(UserError, match="needs a text"):
        config("x").matches(3)


def test_dear_columns_are_asked_for_the_runs_that_cheap_ones_leave():
    source = Table({str(i): {"name": "ab"[i % 2], "mean(loss)": i} for i in range(10)})
    where = parse_filter("mean(loss) < 5 and name = 'a'")
    assert select(where, source.runs, source) == {"0", "2", "4"}
    assert source.asked == [("name", 10), ("mean(loss)", 5)]
