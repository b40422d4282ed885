"""Every family against transformers: logits, weights, configuration and generation.

Source of the reference: transformers' own model classes with random weights, through its own
files. Shapes are odd, batches hold several rows, rows are longer than the sliding window.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from variants import SIZES, VARIANTS, spread

from models.language import convert
from models.language.cache import KeyValueCache
from models.language.config import LanguageConfig, RopeScaling
from models.language.convert_config import DEFAULTS
from models.language.model import LanguageModel
from models.language.positions import rotary_tables
from models.language.presets import PRESETS
from seamount.core.errors import CorruptData, UserError

# Keys of a configuration that say nothing of the arithmetic.
_BOOKS = {"_name_or_path", "architectures", "bos_token_id", "eos_token_id", "dtype", "n_ctx"}


def theirs_of(content: dict[str, Any], **options: Any) -> Any:
    """transformers' model of `content`, random."""
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(**copy.deepcopy(content))
    return spread(AutoModelForCausalLM.from_config(config, **options))


def ids_of(rows: int, tokens: int, seed: int = 1) -> torch.Tensor:
    return torch.randint(SIZES["vocab_size"], (rows, tokens), generator=rng(seed))


def rng(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@torch.no_grad()
def test_their_folder_opens_with_their_logits_and_goes_back_bitwise(content, tmp_path):
    from transformers import AutoConfig

    theirs = theirs_of(content)
    theirs.save_pretrained(tmp_path / "theirs")
    ours = convert.load_folder(str(tmp_path / "theirs"))
    ids = ids_of(3, 29)
    torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-5, atol=1e-5)
    convert.save_folder(ours, str(tmp_path / "back"))
    wanted, got = (load_file(tmp_path / f / "model.safetensors") for f in ("theirs", "back"))
    assert wanted.keys() == got.keys()
    assert all(torch.equal(wanted[name], got[name]) for name in wanted)
    configs = [AutoConfig.from_pretrained(tmp_path / f).to_dict() for f in ("theirs", "back")]
    before, after = ({k: v for k, v in c.items() if k not in _BOOKS} for c in configs)
    # a window or a head size that is no more than the usual one may be spelled out
    assert {k: v for k, v in after.items() if k in before} == {**before, **_spelled(before, after)}


def _spelled(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    found = {k: after[k] for k in ("max_window_layers", "n_inner") if k in before}
    if "n_inner" in found:
        assert found["n_inner"] == (before["n_inner"] or 4 * before["n_embd"])
    return found


@torch.no_grad()
def test_our_folder_opens_in_transformers(made, tmp_path):
    from transformers import AutoModelForCausalLM

    convert.save_folder(made, str(tmp_path))
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    ids = ids_of(3, 29)
    torch.testing.assert_close(made(ids), theirs(ids).logits, rtol=1e-5, atol=1e-5)
    back = convert.load_folder(str(tmp_path))
    assert back.config == made.config
    for (name, wanted), got in zip(made.named_parameters(), back.parameters(), strict=True):
        assert torch.equal(wanted, got), name


@pytest.fixture
def _double_norms(monkeypatch):
    """transformers' RMSNorms round to float32 whatever they get: here they keep float64."""
    from transformers.models.llama.modeling_llama import LlamaRMSNorm
    from transformers.models.mistral.modeling_mistral import MistralRMSNorm
    from transformers.models.qwen2.modeling_qwen2 import Qwen2RMSNorm
    from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

    def forward(self, x):
        return (
            self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        )

    for norm in (LlamaRMSNorm, MistralRMSNorm, Qwen2RMSNorm, Qwen3RMSNorm):
        monkeypatch.setattr(norm, "forward", forward)


@torch.no_grad()
@pytest.mark.usefixtures("_double_norms")
def test_float64_logits_and_gradients_are_exact(content):
    theirs = theirs_of(content).double()
    ours = LanguageModel(convert.config_from_hugging_face(content)).double().eval()
    ours.load_state_dict(convert.state_from_hugging_face(theirs.state_dict(), ours.config))
    ids = ids_of(2, 63)
    torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-10, atol=1e-10)
    with torch.enable_grad():
        ours.train()(ids).square().mean().backward()
        theirs(ids).logits.square().mean().backward()
    gradients = {name: p.grad for name, p in ours.named_parameters()}
    given = convert.state_to_hugging_face(gradients, ours.config)
    for name, parameter in theirs.named_parameters():
        torch.testing.assert_close(given[name], parameter.grad, rtol=1e-9, atol=1e-12, msg=name)


@torch.no_grad()
def test_padding_on_the_left_is_a_document_of_its_own(content):
    theirs, ids = theirs_of(content), ids_of(3, 21)
    ours = LanguageModel(convert.config_from_hugging_face(content)).eval()
    ours.load_state_dict(convert.state_from_hugging_face(theirs.state_dict(), ours.config))
    real = torch.arange(21) >= torch.tensor([[0], [4], [13]])
    positions = (real.cumsum(1) - 1).clamp_min(0)
    wanted = theirs(ids, attention_mask=real.long(), position_ids=positions).logits
    got = ours(ids, torch.where(real, 0, -1))
    torch.testing.assert_close(got[real], wanted[real], rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_generation_with_the_cache_is_transformers(content):
    theirs, ids = theirs_of(content), ids_of(2, 11)
    ours = LanguageModel(convert.config_from_hugging_face(content)).eval()
    ours.load_state_dict(convert.state_from_hugging_face(theirs.state_dict(), ours.config))
    theirs.generation_config.eos_token_id = None
    options = {"max_new_tokens": 23, "do_sample": False, "pad_token_id": 0}
    wanted = theirs.generate(ids, attention_mask=torch.ones_like(ids), **options)
    cache, given, got = KeyValueCache(40), ids, ids
    for _ in range(23):
        given = ours(given, cache=cache)[:, -1:].argmax(-1)
        got = torch.cat([got, given], 1)
    assert got.tolist() == wanted.tolist()


@torch.no_grad()
def test_a_file_of_the_bare_gpt2_without_prefix_opens(tmp_path):
    """As openai-community/gpt2 stores it: no prefix, and the causal mask as a tensor."""
    theirs = theirs_of(VARIANTS["gpt2"])
    theirs.save_pretrained(tmp_path)
    bare = {k: v.contiguous() for k, v in theirs.transformer.state_dict().items()}
    bare["h.0.attn.bias"] = torch.ones(1, 1, 64, 64).tril()
    save_file(bare, tmp_path / "model.safetensors", metadata={"format": "pt"})
    ids = ids_of(2, 9)
    ours = convert.load_folder(str(tmp_path))
    torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("head_dim", [6, 64, 128])
@pytest.mark.parametrize("theta", [50.0, 10000.0, 500000.0])
@pytest.mark.parametrize(
    "scaling",
    [
        None,
        RopeScaling("linear", 3.0),
        RopeScaling("dynamic", 3.0),
        RopeScaling("llama3", 8.0, 512, low_freq_factor=1.0, high_freq_factor=4.0),
        RopeScaling("llama3", 32.0, 100, low_freq_factor=0.5, high_freq_factor=2.5),
        RopeScaling("yarn", 5.0, 300),
        RopeScaling("yarn", 1.0, 300, beta_fast=16.0, beta_slow=2.0),
        RopeScaling("yarn", 7.0, 300, attention_factor=0.8, truncate=False),
    ],
)
def test_rotary_tables_are_transformers_to_the_bit(head_dim, theta, scaling):
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = LanguageConfig(300, 4 * head_dim, 8, 1, 4, 4, head_dim, 700, theta)
    config = LanguageConfig(**{**vars(config), "rope_scaling": scaling})
    content = convert.config_to_hugging_face(config)
    content.pop("rope_scaling", None)
    theirs = LlamaRotaryEmbedding(LlamaConfig(**content))
    wanted = theirs(torch.zeros(1), torch.arange(700)[None])
    for got, table in zip(rotary_tables(config), wanted, strict=True):
        assert torch.equal(got, table[0])


def changed(name: str, **change: Any) -> dict[str, Any]:
    return {**VARIANTS[name], **change}


_LONG = {"rope_type": "longrope", "factor": 2.0, "short_factor": [1.0], "long_factor": [1.0]}
_NESTED = {"full_attention": {"rope_type": "default"}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (changed("llama", model_type="gemma3"), "model_type 'gemma3' is not one of"),
        (changed("llama", hidden_act="gelu"), "hidden_act 'gelu': only 'silu'"),
        (changed("llama", logit_scale=2.0), "logit_scale 2.0"),
        (changed("llama", sliding_window=8), "sliding_window 8"),
        (changed("llama", layer_types=["full_attention"] * 3), "layer_types"),
        (changed("llama", partial_rotary_factor=0.5), "partial_rotary_factor 0.5"),
        (changed("llama", quantization_config={"bits": 4}), "quantization_config"),
        (changed("llama", auto_map={}), "auto_map"),
        (changed("llama", rope_parameters=_LONG), "in rope_parameters of kind 'longrope'"),
        (changed("llama", rope_scaling={"type": "ntk", "factor": 2.0}), "rope_type 'ntk'"),
        (changed("llama", rope_parameters=_NESTED), "full_attention"),
        (changed("llama", rope_parameters={"rope_type": "llama3"}), "'llama3' without factor"),
        (changed("llama", rope_scaling={"type": "yarn", "factor": 2, "mscale": 1}), "mscale 1"),
        (changed("mistral", attention_bias=True), "attention_bias True: only False"),
        (changed("mistral", layer_types=["full_attention"] * 3), "layer_types"),
        (
            changed(
                "qwen2_window",
                layer_types=["sliding_attention", "full_attention", "full_attention"],
            ),
            "layer_types",
        ),
        (changed("qwen2", layer_types=["sliding_attention"] * 3), "layer_types"),
        (changed("qwen3", attention_sink=True), "attention_sink True"),
        (changed("gpt2", scale_attn_by_inverse_layer_idx=True), "by_inverse_layer_idx True"),
        (changed("gpt2", add_cross_attention=True), "add_cross_attention True"),
        (changed("gpt2", activation_function="relu"), "activation_function 'relu'"),
        (changed("gpt2", hidden_size=32), "hidden_size 32"),
    ],
)
def test_what_is_not_computed_is_refused_by_its_key(content, message):
    with pytest.raises(UserError, match=message) as caught:
        convert.config_from_hugging_face(content)
    assert "\n" not in str(caught.value)


def test_older_spellings_of_rope_mean_the_same():
    new = changed("llama", rope_parameters={"rope_type": "linear", "factor": 2, "rope_theta": 7.0})
    old = changed("llama", rope_scaling={"type": "linear", "factor": 2.0}, rope_theta=7.0)
    assert convert.config_from_hugging_face(new) == convert.config_from_hugging_face(old)
    both = changed("llama", rope_theta=5.0, rope_parameters={"rope_theta": 7.0})
    assert convert.config_from_hugging_face(both).rope_theta == 7.0


def test_a_missing_size_and_a_wrong_type_are_corrupt():
    lacking = {k: v for k, v in VARIANTS["llama"].items() if k != "hidden_size"}
    with pytest.raises(CorruptData, match="lacks 'hidden_size'"):
        convert.config_from_hugging_face(lacking)
    with pytest.raises(CorruptData, match="wrong type"):
        convert.config_from_hugging_face(changed("llama", hidden_size="wide"))


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_transformers(name):
    """What a file leaves out: read from the fields of its own configuration class."""
    from transformers import AutoConfig

    fields = type(AutoConfig.for_model(name)).__dataclass_fields__
    for key, value in DEFAULTS[name].items():
        assert key not in fields or fields[key].default == value, key


# Counts of unique trainable scalars as the models' cards on the Hugging Face hub give them
# (1.24B, 6.74B, 69B, 124M, 7.24B, 0.49B, 0.6B), to the last digit as their weight files hold them.
PUBLISHED = {
    "1b": 1_235_814_400,
    "7b": 6_738_415_616,
    "70b": 68_976_648_192,
    "gpt2": 124_439_808,
    "mistral-7b": 7_241_732_096,
    "qwen2.5-0.5b": 494_032_768,
    "qwen3-0.6b": 596_049_920,
}


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_have_the_published_number_of_parameters(preset):
    from transformers import AutoConfig, AutoModelForCausalLM

    content = convert.config_to_hugging_face(PRESETS[preset])
    content["num_hidden_layers" if "n_layer" not in content else "n_layer"] = 2
    content.pop("layer_types", None)
    short = convert.config_from_hugging_face(content)
    with torch.device("meta"):
        theirs = AutoModelForCausalLM.from_config(AutoConfig.for_model(**content))
    assert sum(p.numel() for p in theirs.parameters()) == short.parameters
    if preset in PUBLISHED:
        assert PRESETS[preset].parameters == PUBLISHED[preset]


def test_weights_that_have_no_place_are_named(tmp_path):
    for name, weight in (("llama", "model.layers.0.odd.weight"), ("gpt2", "h.0.crossattention.w")):
        folder = tmp_path / name
        made = spread(LanguageModel(convert.config_from_hugging_face(VARIANTS[name])))
        convert.save_folder(made, str(folder))
        held = load_file(folder / "model.safetensors") | {weight: torch.zeros(1)}
        save_file(held, folder / "model.safetensors")
        with pytest.raises(CorruptData, match=weight.replace(".", r"\.")):
            convert.load_folder(str(folder))
    content = json.loads((tmp_path / "gpt2" / "config.json").read_text())
    assert content["n_inner"] == 128
