"""Windows against the rolling windows of lm-evaluation-harness, written out again here."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamount.core.errors import UserError
from seamount.inference.windows import cut


def harness_windows(tokens, prefix, longest, context):
    """(inputs, targets) as lm_eval/utils.py: get_rolling_token_windows has them."""
    if not tokens:
        return
    first = min(longest, len(tokens))
    yield [prefix, *tokens[: first - 1]], tokens[:first]
    predicted = first
    while predicted < len(tokens):
        new = min(len(tokens) - predicted, longest - context + 1)
        end = predicted + new
        yield tokens[end - longest - 1 : end - 1], tokens[end - new : end]
        predicted += new


@settings(max_examples=300, deadline=None)
@given(count=st.integers(0, 200), context=st.integers(1, 40))
def test_sliding_by_the_whole_context_is_the_harness(count, context):
    tokens = list(range(1, count + 1))
    stream = [0, *tokens]
    ours = [
        (stream[w.start : w.stop], stream[w.start + w.first + 1 : w.stop + 1])
        for w in cut(count, context, "sliding", context)
    ]
    assert ours == list(harness_windows(tokens, 0, context, 1))


@settings(max_examples=300, deadline=None)
@given(count=st.integers(0, 200), context=st.integers(1, 40))
def test_paper_windows_begin_with_the_last_token_of_the_one_before(count, context):
    stream = list(range(count + 1))
    inputs = [stream[w.start : w.stop] for w in cut(count, context, "paper")]
    targets = [stream[w.start + 1 : w.stop + 1] for w in cut(count, context, "paper")]
    assert list(chain.from_iterable(targets)) == stream[1:]
    assert [i[0] for i in inputs] == [0, *(t[-1] for t in targets)][: len(inputs)]
    assert all(len(i) == context for i in inputs[:-1])


@settings(max_examples=300, deadline=None)
@given(data=st.data(), count=st.integers(0, 200), context=st.integers(1, 40))
def test_every_token_is_scored_once_with_at_most_the_context(data, count, context):
    protocol = data.draw(st.sampled_from(["paper", "sliding"]))
    stride = data.draw(st.integers(1, context)) if protocol == "sliding" else None
    scored = []
    for window in cut(count, context, protocol, stride):
        assert 1 <= window.length <= context
        scored += range(window.start + window.first + 1, window.stop + 1)
    assert scored == list(range(1, count + 1))


def test_sliding_keeps_context_before_what_it_scores():
    windows = cut(100, 32, "sliding", 8)
    assert [w.first for w in windows[1:4]] == [24, 24, 24]
    assert windows[0].length == 32
    assert cut(5, 32, "sliding")[0].first == 0


def test_bad_protocols_are_named():
    with pytest.raises(UserError, match=r"'slide'.*sliding"):
        cut(5, 8, "slide")
    with pytest.raises(UserError, match="stride 9"):
        cut(5, 8, "sliding", 9)
    with pytest.raises(UserError, match="context of 0"):
        cut(5, 0, "paper")
