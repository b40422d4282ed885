"""A tiny trained-looking model, and one int8 export of it for the whole session."""

from __future__ import annotations

import pytest

from models.language import convert
from models.language.model import LanguageModel
from models.language.presets import LanguageConfig
from seamount.core import lineage
from seamount.core.records import Document
from seamount.corpora.text.tokenizer import copy_tokenizer, train_tokenizer
from seamount.export.publish import ExportRequest, export_model

TEXTS = {"A": "the quick brown fox, it's 12 345\n" * 9, "B": "zwölf Boxkämpfer 東京 " * 9}


@pytest.fixture(scope="session")
def documents():
    """Four documents of two components, one of them empty."""
    found = [Document(text, name, f"{name}/0", "x") for name, text in TEXTS.items()]
    return [*found, Document("", "A", "A/1", "x"), Document("fox 12", "A", "A/2", "x")]


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    """A Hugging Face folder with tied weights, 300 ids, context 64."""
    import torch

    torch.set_num_threads(1)
    root = tmp_path_factory.mktemp("export_model")
    tokenizer = train_tokenizer(iter(TEXTS.values()), 300, str(root / "tokenizer"))
    model = LanguageModel(LanguageConfig(tokenizer.vocab_size, 96, 256, 2, 4, 2, 24, 64, tied=True))
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, parameter.shape[1] ** -0.5, generator=generator)
    convert.save_folder(model.eval(), str(root / "model"))
    copy_tokenizer(str(root / "tokenizer"), str(root / "model"))
    lineage.write(str(root / "model"), lineage.Lineage("model", "m0"))
    return str(root / "model")


@pytest.fixture(scope="session")
def exported(model_folder, documents, tmp_path_factory):
    """The int8 export, published."""
    out = str(tmp_path_factory.mktemp("exports") / "int8")
    request = ExportRequest(
        model_folder,
        out,
        quantize="int8",
        documents=lambda: iter(documents),
        max_bpb_delta=0.1,
        threads=1,
    )
    return export_model(request)
