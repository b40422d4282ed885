"""Extended regexes: Neptune's meaning kept, groups and fields added, hostile patterns harmless."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamount.tracking.query.mistakes import QueryError
from seamount.tracking.query.patterns import compile_pattern, lines

FIELDS = frozenset({"name", "tag", "config", "config."})


def neptune(pattern: str, text: str) -> bool:
    """Neptune's published rule, written with `re`: OR of ANDs of (negated) searches, no groups."""
    white = r"[ \t\r\n]"

    def term(part: str) -> bool:
        negated = part.startswith("!")
        regex = re.sub(rf"^!{white}*", "", part) if negated else part
        regex = regex.replace(r"\x20", " ").replace(r"\x21", "!")
        return (re.search(regex, text) is None) == negated

    return any(
        all(term(part) for part in re.split(rf"{white}+&{white}+", alternative))
        for alternative in re.split(rf"{white}+\|{white}+", pattern.strip())
    )


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("loss", ["train/loss", "loss"], ["los"]),  # searched for, not anchored
        ("^loss$", ["loss"], ["train/loss"]),
        ("train & loss", ["train/loss", "loss/train"], ["train/acc"]),
        ("!test", ["train"], ["test/loss"]),
        ("! test", ["train"], ["test/loss"]),
        ("a & b | c", ["ab", "c"], ["a", "b"]),  # AND binds tighter
        ("a | b & c", ["a", "bc"], ["b", "c"]),
        ("a|b", ["a", "b"], ["c"]),  # no white space: RE2's own alternation
        ("a &b", ["a &b"], ["ab"]),
        ("a\t|\n b", ["a", "b"], ["c"]),
        (r"a\x20b", ["a b"], ["ab"]),
        (r"\x21a", ["!a"], ["a"]),
        ("!!a", ["a"], ["!a"]),  # a bang once negates, the next is the character
        ("(a|b) & (c|d)", ["ad"], ["ab"]),
        ("!(a|b)", ["c"], ["a", "b"]),
        ("!(!a)", ["a"], ["!a"]),  # no operator within: a regex's own group
        ("[(] | x", ["(", "x"], [")"]),
        (r"\( & \)", ["()"], ["("]),
        ("[[:alpha:](] & [])]", ["a)", "(]"], ["a", "1)"]),
        (r"\Q(a | b", ["(a", "b"], ["a"]),
        ("a & | b", ["a &", "b"], ["a", "c"]),
        ("", ["", "x"], []),
    ],
)
def test_neptunes_patterns_keep_their_meaning(pattern, matching, other):
    compiled = compile_pattern(pattern, fields=FIELDS)
    assert [t for t in matching + other if compiled.matches(t)] == matching


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("(a | b) & c", ["ac", "bc"], ["a", "c", "ab"]),
        ("!(a | b)", ["c"], ["a", "b"]),
        ("!( a & b ) & c", ["ac", "c"], ["abc", "ab"]),
        ("((a | b) & (c | d)) | e", ["ad", "e"], ["ab", "cd"]),
        ("((a|b) | [)]) & x", ["ax", ")x"], ["cx", "a"]),
        ("! !(a | b)", ["a"], ["c"]),
        ("(é | 日本) & 語", ["日本語"], ["日本", "語"]),
    ],
)
def test_parentheses_around_an_operator_group(pattern, matching, other):
    compiled = compile_pattern(pattern)
    assert [t for t in matching + other if compiled.matches(t)] == matching


ATOMS = ["a", "b", "[ab]c", "(a|b)c", "^a", "c$", r"a\x20b", "", "!", "a|", "(a)(b)"]
SPACED = st.sampled_from([" | ", " & ", "\t|  ", "|", "&", " |", " ", " & ! "])


@given(st.lists(st.tuples(st.sampled_from(ATOMS), SPACED), min_size=1, max_size=6),
       st.text("abc !|&", max_size=6))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_patterns_without_groups_equal_neptunes_rule(pieces, text):
    pattern = "".join(atom + sign for atom, sign in pieces)
    assert compile_pattern(pattern, fields=FIELDS).matches(text) == neptune(pattern, text)


TREES = st.recursive(
    st.sampled_from("abcd"),
    lambda inner: st.one_of(
        st.tuples(st.just("!"), inner),
        st.tuples(st.sampled_from("&|"), inner, inner),
    ),
    max_leaves=8,
)


def written(tree) -> str:
    if isinstance(tree, str):
        return tree
    if tree[0] == "!":
        inner = written(tree[1])
        return f"!{inner}" if isinstance(tree[1], str) else f"!({inner})"
    parts = [written(part) if isinstance(part, str) else f"({written(part)})" for part in tree[1:]]
    return f" {tree[0]} ".join(parts)


def truth(tree, text: str) -> bool:
    if isinstance(tree, str):
        return tree in text
    if tree[0] == "!":
        return not truth(tree[1], text)
    return (all if tree[0] == "&" else any)(truth(part, text) for part in tree[1:])


def in_one_reading(tree) -> bool:
    """A negation in parentheses without an operator, `(!a)`, is a regex's group for Neptune."""
    if isinstance(tree, str):
        return True
    if any(not isinstance(p, str) and p[0] == "!" for p in tree[1:]):
        return False
    return all(in_one_reading(part) for part in tree[1:])


@given(TREES.filter(in_one_reading), st.text("abcd", max_size=4))
@settings(max_examples=150, deadline=None)
def test_grouped_patterns_equal_plain_logic(tree, text):
    assert compile_pattern(written(tree)).matches(text) == truth(tree, text)


def test_fields_look_at_their_own_texts():
    texts = {
        "name": lines(["first run"]),
        "tag": lines(["base", "base=true"]),
        "config.lr": lines(["0.1"]),
        "config.a:b c": lines(["x"]),
        None: lines(["first run", "base", "lr=0.1"]),
    }

    def matches(pattern: str) -> bool:
        return compile_pattern(pattern, fields=FIELDS).matches_record(texts.get)

    assert matches(r"?name:^first & ?tag:^base$ & ?config.lr:^0\.1$")
    assert matches("?config.`a:b c`:x & !?config.none:.")  # no value: nothing to find
    assert matches("(?name:second | ?tag:base) & !?name:base")
    assert matches("first & lr=0")  # a term without a field: any text, each term its own
    assert not matches("first.*lr")  # but no match runs over two texts
    assert not matches("?tag:first")
    with pytest.raises(QueryError, match="unknown field 'nam'"):
        matches("?nam:x")


def test_without_fields_a_question_mark_stays_an_error():
    with pytest.raises(QueryError, match="no argument for repetition"):
        compile_pattern("?name:x")


@pytest.mark.parametrize(
    ("pattern", "place", "message"),
    [
        ("(a | b", 1, "not closed"),
        ("a | b)", 6, "closes no group"),
        ("a & [b", 5, "missing ]"),
        ("(a | b)*", 7, "cannot stand beside '\\*'"),
        ("x(a | b)", 2, "cannot stand beside 'x'"),
        ("a(?=b)", 1, "not a regex"),
        (r"(a)\1", 1, "not a regex"),
        ("a & b**", 5, "repetition"),
        ("\ud800", 1, "not a regex"),
    ],
)
def test_mistakes_point_at_the_place(pattern, place, message):
    with pytest.raises(QueryError, match=message) as caught:
        compile_pattern(pattern)
    assert f"at character {place} " in str(caught.value)
    shown, caret = caught.value.__notes__[0].split("\n")
    assert caret.index("^") - 2 == place - 1
    assert shown[2:3] == pattern[0].replace("\ud800", " ")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$", "(a|aa)*c", "(.*)*x", "(a?){500}a{500}", "((a{100}){100}){100}", "[" * 9000,
        r"[\[" * 3000, "(" * 9000, "(" * 4000 + "a | b" + ")" * 4000, "!" * 9000 + "(a | b)",
        " | " * 3000, "a" + " " * 9000 + "b", "?`" * 4000, r"\Q" * 4000,
        "(?i)" * 2000, "x" * 10_001,
    ],
)  # fmt: skip
def test_hostile_patterns_end(pattern):
    """Each would take years, or the stack, in a backtracking or a careless reader."""
    try:
        compile_pattern(pattern, fields=FIELDS).matches("a" * 50_000 + "!")
    except QueryError as error:
        assert len(str(error)) < 400
