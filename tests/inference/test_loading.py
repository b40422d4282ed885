"""Every form of a model opens, and what is none is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from seamount.core import storage
from seamount.core.errors import CorruptData, SeamountError, UserError
from seamount.inference.generate import generate
from seamount.inference.loading import load_model


@pytest.fixture
def copy(tiny_folder, tmp_path):
    return Path(shutil.copytree(tiny_folder, tmp_path / "copy"))


def ids():
    return np.arange(20, dtype=np.int64).reshape(2, 10)


def test_ours_equals_transformers(tiny, tiny_folder):
    import torch
    from transformers import AutoModelForCausalLM

    theirs = AutoModelForCausalLM.from_pretrained(tiny_folder, dtype=torch.float32).eval()
    with torch.no_grad():
        wanted = theirs(torch.from_numpy(ids())).logits.numpy()
    assert tiny.kind == "seamount"
    assert np.abs(tiny.forward(ids()) - wanted).max() < 1e-4


def test_another_family_opens_through_transformers(tiny, tmp_path):
    import torch
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    torch.manual_seed(0)
    config = GPTNeoXConfig(
        vocab_size=tiny.vocab_size,
        max_position_embeddings=24,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPTNeoXForCausalLM(config).eval()
    model.save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(Path(tiny.path) / name, tmp_path / name)
    loaded = load_model(str(tmp_path))
    assert (loaded.kind, loaded.context_length) == ("transformers", 24)
    assert "gpt_neox" in loaded.note
    with torch.no_grad():
        wanted = model(torch.from_numpy(ids())).logits.numpy()
    assert np.abs(loaded.forward(ids()) - wanted).max() < 1e-5
    assert len(generate(loaded, "the", 5, stop_at_end=False).ids) == 5


def test_a_known_family_opens_as_our_own(tiny, tmp_path):
    """GPT-2's sizes stand under other keys of config.json than Llama's."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    sizes = {"n_positions": 24, "n_embd": 16, "n_layer": 1, "n_head": 2}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=tiny.vocab_size, **sizes)).eval()
    model.save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(Path(tiny.path) / name, tmp_path / name)
    loaded = load_model(str(tmp_path))
    assert (loaded.kind, loaded.context_length, loaded.note) == ("seamount", 24, "")
    with torch.no_grad():
        wanted = model(torch.from_numpy(ids())).logits.numpy()
    assert np.abs(loaded.forward(ids()) - wanted).max() < 1e-5
    assert len(generate(loaded, "the", 5, stop_at_end=False).ids) == 5


def test_a_checkpoint_opens_whatever_else_it_holds(tiny, tmp_path):
    import torch
    import torch.distributed.checkpoint as dcp

    root = tmp_path / "checkpoints"
    folder = root / "step_00000003"
    state = {f"model.{n}": t for n, t in tiny.module.state_dict().items()}
    state["optimizer.embedding.weight.momentum"] = torch.ones(3)
    with pytest.warns(UserWarning, match="torch.distributed"):
        dcp.save(state, checkpoint_id=str(folder), no_dist=True)
    manifest = {
        "model": {"family": "language", "config": vars(tiny.module.config)},
        "inputs": {"tokenizer": {"path": tiny.path, "digest": "x"}},
    }
    storage.write_json(str(folder / "manifest.json"), manifest)
    storage.write_bytes(str(root / "LATEST"), b"step_00000003\n")
    loaded = load_model(str(root))
    assert loaded.kind == "checkpoint"
    assert np.array_equal(loaded.forward(ids()), tiny.forward(ids()))
    storage.write_json(str(folder / "manifest.json"), {"model": {}})
    with pytest.raises(CorruptData, match="does not describe a checkpoint"):
        load_model(str(folder))


def test_a_runs_folder_stands_for_its_model(tiny, copy, tmp_path):
    (tmp_path / "run").mkdir()
    copy.rename(tmp_path / "run" / "model")
    assert load_model(str(tmp_path / "run")).digest == tiny.digest


def test_what_is_no_model_is_named(copy, tmp_path):
    with pytest.raises(UserError, match="no model at"):
        load_model(str(tmp_path / "nothing"))
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(UserError, match="is a file"):
        load_model(str(tmp_path / "file.txt"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"no config\.json"):
        load_model(str(tmp_path / "empty"))
    (copy / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"no tokenizer\.json"):
        load_model(str(copy))


def test_damaged_files_are_named(copy):
    weights = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(SeamountError, match="safetensors"):
        load_model(str(copy))
    (copy / "config.json").write_text("[]")
    with pytest.raises(CorruptData, match="vocab_size"):
        load_model(str(copy))
    (copy / "model.onnx").write_bytes(b"no model")
    with pytest.raises(SeamountError):
        load_model(str(copy / "model.onnx"))


def test_a_tokenizer_of_another_model_is_refused(copy, real_folder):
    config = json.loads((copy / "config.json").read_text())
    assert config["vocab_size"] < 512
    shutil.copy(f"{real_folder}/tokenizer.json", copy / "tokenizer.json")
    with pytest.raises(UserError, match="do not belong together"):
        load_model(str(copy))
