"""Values that cannot work are named before anything runs."""

from __future__ import annotations

import pytest

from seamount.core.errors import UserError
from seamount.inference.generate import generate
from seamount.inference.score import ModelScorer


def test_a_negative_seed_and_a_prompt_that_is_not_utf8(tiny):
    with pytest.raises(UserError, match="--seed is -1"):
        generate(tiny, "fox", 1, 0.8, seed=-1)
    with pytest.raises(UserError, match="not UTF-8"):
        generate(tiny, b"fox\xff".decode(errors="surrogateescape"), 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context_length": 0}, "--context is 0"),
        ({"context_length": 1}, "--context is 1"),
        ({"batch_tokens": 0}, "--batch-tokens is 0"),
        ({"stride": 4}, "for --protocol sliding"),
        ({"stride": 0, "protocol_name": "sliding"}, "leave it out for half"),
    ],
)
def test_a_protocol_that_cannot_work_is_named(tiny, changes, message):
    with pytest.raises(UserError, match=message):
        ModelScorer(tiny, **changes)
