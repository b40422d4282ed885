"""Models to run: a tiny one of our own with its tokenizer, and the given real one."""

from __future__ import annotations

import pytest

from models.language import convert
from models.language.model import LanguageModel
from models.language.presets import LanguageConfig
from seamount.corpora.text.tokenizer import copy_tokenizer, train_tokenizer


def filled(config):
    """A model with weights large enough that its probabilities differ widely."""
    import torch

    generator = torch.Generator().manual_seed(5)
    model = LanguageModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, 0.3, generator=generator)
    return model.eval()


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    """A Hugging Face folder of a random model, 300 ids, context 32."""
    import torch

    torch.set_num_threads(1)
    root = tmp_path_factory.mktemp("tiny_model")
    texts = ["the quick brown fox, it's 12 345\n" * 4, "zwölf Boxkämpfer 東京 " * 4]
    tokenizer = train_tokenizer(iter(texts), 300, str(root / "tokenizer"))
    config = LanguageConfig(tokenizer.vocab_size, 32, 48, 2, 4, 2, 8, 32, tied=True)
    convert.save_folder(filled(config), str(root / "model"))
    copy_tokenizer(str(root / "tokenizer"), str(root / "model"))
    return str(root / "model")


@pytest.fixture(scope="session")
def tiny(tiny_folder):
    """The tiny model, loaded."""
    from seamount.inference.loading import load_model

    return load_model(tiny_folder)


@pytest.fixture(scope="session")
def real_folder(shared_data):
    """The given tiny Llama with learned weights and reference outputs."""
    import torch

    torch.set_num_threads(1)
    return str(shared_data / "llama_aidreams260k")
