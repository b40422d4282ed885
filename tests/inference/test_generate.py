"""Greedy words against the given reference, sampling against its own probabilities."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from seamount.core.errors import UserError
from seamount.inference.generate import generate
from seamount.inference.loading import load_model


def test_greedy_is_the_reference(real_folder):
    loaded = load_model(real_folder)
    with open(f"{real_folder}/reference_greedy.json", encoding="utf-8") as file:
        reference = json.load(file)["prompts"]
    for case in reference:
        found = generate(loaded, case["prompt"], 64, stop_at_end=False)
        assert found.prompt_ids == case["prompt_ids"]
        assert found.ids == case["greedy_ids"]
        assert found.prompt + found.text == case["greedy_text"]


def test_streamed_pieces_are_the_text_in_whole_characters(tiny):
    pieces = []
    found = generate(tiny, "東京", 60, temperature=3.0, seed=2, on_text=pieces.append)
    assert "".join(pieces) == found.text
    assert found.prompt_ids == tiny.tokenizer.encode_prompt("東京")


def test_a_seed_fixes_the_text(tiny):
    first, same, other = (generate(tiny, "the", 20, 1.0, seed) for seed in (1, 1, 2))
    assert first.ids == same.ids
    assert first.ids != other.ids


def test_sampling_follows_the_softmax(tiny):
    logits_V = np.log(np.array([0.5, 0.3, 0.2] + [1e-30] * (tiny.vocab_size - 3)))
    fixed = replace(
        tiny,
        forward=lambda ids: np.broadcast_to(logits_V, (*ids.shape, tiny.vocab_size)),
        config={},
    )
    found = generate(fixed, "a", 4000, temperature=1.0, seed=0)
    shares = np.bincount(found.ids, minlength=3) / 4000
    assert shares[:3] == pytest.approx([0.5, 0.3, 0.2], abs=0.03)
    cold = np.bincount(generate(fixed, "a", 4000, temperature=0.5).ids, minlength=3) / 4000
    assert cold[:3] == pytest.approx(np.array([25, 9, 4]) / 38, abs=0.03)


def test_it_goes_on_past_the_context_and_stops_at_the_end(tiny):
    assert len(generate(tiny, "the", 50, stop_at_end=False).ids) == 50
    ending = replace(
        tiny, forward=lambda ids: np.eye(tiny.vocab_size)[np.zeros(ids.shape, dtype=int)]
    )
    found = generate(ending, "the", 9)
    assert (found.ids, found.finish_reason, found.text) == ([], "stop", "")


def test_bad_input_is_named(tiny):
    with pytest.raises(UserError, match="the model takes 1 to 32"):
        generate(tiny, "the quick brown fox " * 40)
    with pytest.raises(UserError, match="--max-new-tokens"):
        generate(tiny, "a", 0)
    with pytest.raises(UserError, match="--temperature"):
        generate(tiny, "a", temperature=-1)
    broken = replace(tiny, forward=lambda ids: np.full((*ids.shape, 3), np.nan))
    with pytest.raises(UserError, match="no finite logits"):
        generate(broken, "a")
