"""Scores against a naive computation with transformers, one window at a time."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from seamount.core.errors import SeamountError, UserError
from seamount.core.records import Document
from seamount.evaluation.bpb import bpb
from seamount.inference.loading import load_model
from seamount.inference.score import ModelScorer, score_model, token_nats

TEXTS = [
    "the quick brown fox " * 30,
    "",
    "x",
    "['a', 'b']",  # a list to those who evaluate templates (mistake 5)
    "zwölf Boxkämpfer 東京 \U0001f600 e\u0301",  # bytes of the source, not of a normal form
    "it's 12 345\n" * 9,
]
DOCUMENTS = [Document(text, "AB"[i % 2], str(i), "x") for i, text in enumerate(TEXTS)]


def naive(folder, text, context):
    """Minus the summed log-probability by transformers, window by window."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    prefix = tokenizer.bos_token_id
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    nats = 0.0
    for start in range(0, len(ids), context):
        targets = ids[start : start + context]
        inputs = [ids[start - 1] if start else prefix, *targets[:-1]]
        with torch.no_grad():
            logits = model(torch.tensor([inputs])).logits[0].double()
        nats -= logits.log_softmax(-1)[range(len(targets)), targets].sum().item()
    return nats, len(ids)


@pytest.mark.parametrize("context", [7, 32])
def test_equal_to_transformers_one_window_at_a_time(tiny, tiny_folder, context):
    found = list(ModelScorer(tiny, context).score(DOCUMENTS))
    for document, score in zip(DOCUMENTS, found, strict=True):
        nats, tokens = naive(tiny_folder, document.text, context)
        assert score.nats == pytest.approx(nats, rel=1e-5, abs=1e-5)
        assert score.tokens == tokens
        assert score.size_bytes == len(document.text.encode())


def test_batching_and_order_change_nothing(tiny):
    whole = {s.id: s for s in ModelScorer(tiny, 16).score(DOCUMENTS)}
    shuffled = DOCUMENTS[:]
    random.Random(1).shuffle(shuffled)
    small = ModelScorer(tiny, 16, batch_tokens=20)
    found = list(small.score(iter(shuffled)))
    assert [s.id for s in found] == [d.id for d in shuffled]
    for score in found:
        assert score.nats == pytest.approx(whole[score.id].nats, rel=1e-6)


def test_documents_do_not_see_one_another(tiny):
    alone = [next(ModelScorer(tiny, 16).score([d])).nats for d in DOCUMENTS]
    together = [s.nats for s in ModelScorer(tiny, 16).score(DOCUMENTS)]
    assert alone == pytest.approx(together, rel=1e-6)


def test_an_empty_document_has_no_tokens(tiny):
    found = next(ModelScorer(tiny).score([DOCUMENTS[1]]))
    assert (found.tokens, found.nats, found.size_bytes) == (0, 0.0, 0)


def test_context_protocol_and_prefix_change_the_result_and_are_in_it(tiny):
    def total(**options):
        scorer = ModelScorer(tiny, **options)
        return round(sum(s.nats for s in scorer.score(DOCUMENTS)), 6), scorer.protocol

    runs = [
        total(context_length=8),
        total(context_length=32),
        total(context_length=8, protocol_name="sliding", stride=2),
        total(context_length=8, prefix_token="a"),
    ]
    assert len({nats for nats, _ in runs}) == 4
    names = [json.dumps(protocol, sort_keys=True) for _, protocol in runs]
    assert len(set(names)) == 4
    assert runs[0][1]["prefix_token"] == "<|endoftext|>"


def test_the_given_model_has_its_reference_log_probabilities(real_folder):
    loaded = load_model(real_folder)
    with open(f"{real_folder}/reference_greedy.json", encoding="utf-8") as file:
        reference = json.load(file)["prompts"]
    for case in reference:
        ids_BT = np.array([case["prompt_ids"] + case["greedy_ids"]])
        nats_BT = token_nats(loaded.forward(ids_BT[:, :-1].copy()), ids_BT[:, 1:])
        wanted = case["sum_logprob_of_all_tokens_after_bos"]
        assert -nats_BT.sum() == pytest.approx(wanted, abs=1e-4)


def test_sentencepiece_bytes_are_those_of_the_source(real_folder):
    text = "I dream of café 東京"
    found = next(score_model(real_folder, [Document(text, "A", "0", "x")]))
    assert found.size_bytes == len(text.encode())
    nats, tokens = naive(real_folder, text, 128)
    assert found.nats == pytest.approx(nats, rel=1e-5)
    assert found.tokens == tokens


def test_nan_logits_are_an_error(tiny):
    broken = replace(tiny, forward=lambda ids: np.full((*ids.shape, tiny.vocab_size), np.nan, "f4"))
    with pytest.raises(SeamountError, match="no finite probability"):
        bpb(ModelScorer(broken).score(DOCUMENTS))


def test_bad_options_are_named(tiny):
    with pytest.raises(UserError, match="longer than the model's 32"):
        ModelScorer(tiny, 64)
    with pytest.raises(UserError, match="no token '<nope>'"):
        list(ModelScorer(tiny, prefix_token="<nope>").score(DOCUMENTS))
