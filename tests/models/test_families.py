"""What holds for every family and variant alike: counts, masks, cache, tracing, plan, start."""

from __future__ import annotations

import fnmatch
import warnings
from dataclasses import replace

import pytest
import torch
from torch import nn
from variants import VARIANTS, spread

from models.language import convert, export, plan
from models.language.attention import document_mask
from models.language.cache import KeyValueCache
from models.language.config import LanguageConfig
from models.language.model import LanguageModel, initialise
from models.language.presets import configure
from seamount.core.errors import UserError


def ids_of(rows: int, tokens: int, seed: int = 2) -> torch.Tensor:
    return torch.randint(96, (rows, tokens), generator=torch.Generator().manual_seed(seed))


def test_parameter_count_is_exact(made):
    assert made.config.parameters == sum(p.numel() for p in made.parameters())


@torch.no_grad()
def test_a_position_sees_its_window_and_nothing_ahead(made):
    """One layer alone: exactly the positions that a changed token may reach."""
    config = replace(made.config, layers=1, sliding_from_layer=0)
    one = spread(LanguageModel(config)).double()
    ids = ids_of(2, 29)
    changed = ids.clone()
    changed[:, 9] += 1
    moved = (one(ids) - one(changed % 96)).abs().amax(-1) > 1e-9
    last = 29 if config.sliding_window is None else 9 + config.sliding_window
    assert moved.tolist() == [[9 <= t < last for t in range(29)]] * 2


@torch.no_grad()
def test_document_mask_equals_documents_alone(made):
    made = made.double()
    parts = [ids_of(2, n, seed) for seed, n in enumerate((5, 17, 1, 9))]
    numbers = torch.cat([torch.full_like(p, 3 - i) for i, p in enumerate(parts)], 1)
    together = made(torch.cat(parts, 1), numbers)
    alone = torch.cat([made(p) for p in parts], 1)
    # cosines are float32: an angle and the difference of two differ in their last bits
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_document_mask_by_hand():
    mask = document_mask(torch.tensor([[7, 7, 7, 2, 2]]), window=2)
    assert mask[0, 0].int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [0, 1, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 1, 1],
    ]


def test_training_and_evaluation_mode_agree(made):
    ids = ids_of(3, 17)
    torch.testing.assert_close(made.train()(ids), made.eval()(ids), rtol=1e-5, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("cuts", [(1,) * 23, (5, 1, 9, 1, 7), (23,), (22, 1)])
def test_the_cache_changes_no_logit(made, cuts):
    """Token by token and in pieces, beyond the window, in float64."""
    made, ids = made.double(), ids_of(2, 23)
    cache = KeyValueCache(23)
    parts = [made(piece, cache=cache) for piece in ids.split(list(cuts), dim=1)]
    torch.testing.assert_close(torch.cat(parts, 1), made(ids), rtol=1e-10, atol=1e-10)
    assert cache.length == 23


@torch.no_grad()
def test_a_rewound_cache_goes_on_as_if_nothing_had_followed(made):
    made, ids = made.double(), ids_of(2, 20)
    cache = KeyValueCache(20)
    made(ids[:, :12], cache=cache)
    made(ids_of(2, 6, 9), cache=cache)
    cache.rewind(12)
    torch.testing.assert_close(
        made(ids[:, 12:], cache=cache), made(ids)[:, 12:], rtol=1e-10, atol=1e-10
    )


@torch.no_grad()
def test_a_cache_refuses_what_does_not_fit():
    made = spread(LanguageModel(convert.config_from_hugging_face(VARIANTS["llama"])))
    small, large = KeyValueCache(4), KeyValueCache(100)
    made(ids_of(1, 4), cache=small)
    with pytest.raises(ValueError, match="5 tokens do not fit a cache of 4"):
        made(ids_of(1, 1), cache=small)
    with pytest.raises(ValueError, match="65 tokens are above 64"):
        made(ids_of(1, 65), cache=large)
    with pytest.raises(ValueError, match="no document ids"):
        made(ids_of(1, 2), torch.zeros(1, 2), cache=large)
    with pytest.raises(ValueError, match="not between 0 and the 4 held"):
        small.rewind(5)


_QUICK = ("llama", "qwen3_window_biases", "gpt2")  # between them, every branch of the code


@pytest.mark.parametrize("content", [VARIANTS[n] for n in _QUICK], ids=_QUICK)
def test_traces_with_free_batch_and_sequence(content):
    check_traces(content)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in VARIANTS if n not in _QUICK])
def test_the_other_variants_trace_too(name):
    check_traces(VARIANTS[name])


def check_traces(content) -> None:
    made = spread(LanguageModel(convert.config_from_hugging_face(content)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit is old, and asked for
        traced = torch.jit.trace(export.adapter(made), export.example_inputs(made))
    exported = torch.export.export(
        export.adapter(made),
        export.example_inputs(made),
        dynamic_shapes=export.dynamic_shapes(made),
    ).module()
    for shape in ((1, 1), (3, 11), (5, 64)):
        ids = ids_of(*shape)
        torch.testing.assert_close(traced(ids), made(ids))
        torch.testing.assert_close(exported(ids), made(ids), rtol=1e-5, atol=1e-5)


def test_the_plan_names_every_matrix_and_norm_of_heads(made):
    """What is not named stays whole with a whole gradient: the norms of the residual stream."""
    cut = plan.tensor_plan(made.config)
    assert cut.items() <= plan.TENSOR_PLAN.items()
    for pattern in cut:
        assert any(fnmatch.fnmatchcase(name, pattern) for name, _ in made.named_modules()), pattern
    for name, module in made.named_modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            assert any(fnmatch.fnmatchcase(name, pattern) for pattern in cut), name
        if isinstance(module, nn.RMSNorm):
            assert any(fnmatch.fnmatchcase(f"{name}.weight", p) for p in plan.TENSOR_PARTIAL), name


@torch.no_grad()
def test_stages_in_a_row_are_the_model(made):
    import copy

    ids, x = ids_of(2, 23), ids_of(2, 23)
    for layers, first, last in (((0,), True, False), ((1,), False, False), ((2,), False, True)):
        stage = copy.deepcopy(made)
        plan.keep_stage(stage, layers, first, last)
        x = stage(x)
    assert torch.equal(x, made(ids))


def test_a_start_is_that_of_its_family():
    """Stds of GPT-2's paper and code; zero where Seamount's own recipes start as the identity."""
    size = {"vocab_size": 512, "hidden_size": 256, "heads": 4, "intermediate_size": 512}
    for architecture, residual in (("gpt2", 0.02 / 2), ("mistral", 0.02), ("qwen2", 0.02)):
        made = LanguageModel(configure("tiny", architecture=architecture, **size))
        initialise(made, seed=1)
        stds = {
            name: float(p.detach().std()) for name, p in made.named_parameters() if p.dim() == 2
        }
        for name, std in stds.items():
            writes = name.endswith((".output.weight", ".down.weight"))
            assert std == pytest.approx(residual if writes else 0.02, rel=0.03), name
        for name, parameter in made.named_parameters():
            if parameter.dim() == 1:
                assert (parameter == (0 if name.endswith("bias") else 1)).all(), name
    own = LanguageModel(configure("tiny"))
    initialise(own, seed=1)
    assert not own.layers["0"].mlp.down.weight.any() and not own.head.weight.any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qk_norm": True}, "model.qk_norm is True, which architecture 'llama' does not have"),
        ({"qk_norm": True}, "or model.architecture qwen3"),
        ({"sliding_window": 8}, "model.sliding_window is 8"),
        ({"qkv_bias": True}, "model.qkv_bias is True and model.output_bias False"),
        ({"architecture": "mistral", "sliding_window": -1}, "model.sliding_window is -1"),
        ({"architecture": "qwen2", "sliding_from_layer": 1}, "it needs a model.sliding_window"),
        (
            {"architecture": "qwen2", "sliding_window": 4, "sliding_from_layer": 2},
            "there are only 2 layers",
        ),
        ({"architecture": "gpt2", "kv_heads": 2}, "model.kv_heads equal to model.heads"),
        ({"architecture": "gpt3"}, "did you mean 'gpt2'"),
        ({"rope_scaling": {"rope_type": "yarm", "factor": 2.0}}, "did you mean 'yarn'"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}, "needs original_max_position"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 0.5}}, "at least 1"),
        (
            {"rope_scaling": {"rope_type": "linear", "factor": 2.0, "beta_fast": 1.0}},
            "'linear' does not read beta_fast",
        ),
    ],
)
def test_a_shape_that_no_family_has_is_refused(changes, message):
    with pytest.raises(UserError, match=message):
        configure("tiny", **changes)


def test_an_architecture_brings_what_it_fixes():
    made = configure("1m", architecture="gpt2", layers=1)
    assert (made.norm, made.position, made.mlp, made.tied) == (
        "layer",
        "learned",
        "gelu_tanh",
        True,
    )
    assert (made.kv_heads, made.initialisation) == (4, "normal")
    assert configure("qwen3-0.6b", architecture="qwen2").qk_norm is False
    assert configure("gpt2", architecture="llama").mlp == "swiglu"


def test_a_shape_survives_plain_data():
    """As a checkpoint's manifest keeps it."""
    import json
    from dataclasses import asdict

    for name in ("llama_yarn", "qwen2_window"):
        config = convert.config_from_hugging_face(VARIANTS[name])
        assert LanguageConfig(**json.loads(json.dumps(asdict(config)))) == config
