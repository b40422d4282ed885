"""Between this family and Hugging Face's folders of Llama, Mistral, Qwen and GPT-2, both ways."""

from __future__ import annotations

from models.language.convert_config import config_from_hugging_face, config_to_hugging_face
from models.language.convert_weights import state_from_hugging_face, state_to_hugging_face
from models.language.model import LanguageModel
from seamount.core import storage
from seamount.core.errors import CorruptData

__all__ = [
    "config_from_hugging_face",
    "config_to_hugging_face",
    "load_folder",
    "save_folder",
    "state_from_hugging_face",
    "state_to_hugging_face",
]


def save_folder(model: LanguageModel, folder: str) -> None:
    """Write config.json and model.safetensors into `folder` as AutoModelForCausalLM reads them."""
    from safetensors.torch import save

    state = {name: p.detach().float() for name, p in model.named_parameters()}
    tensors = {k: v.contiguous() for k, v in state_to_hugging_face(state, model.config).items()}
    weights = save(tensors, metadata={"format": "pt"})
    storage.write_bytes(storage.join(folder, "model.safetensors"), weights)
    storage.write_json(storage.join(folder, "config.json"), config_to_hugging_face(model.config))


def load_folder(folder: str) -> LanguageModel:
    """The model in a Hugging Face folder, float32, in evaluation mode.

    Raises UserError for a kind of model that is not known, CorruptData for weights that do not fit.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    config = config_from_hugging_face(storage.read_json(storage.join(folder, "config.json")))
    url = storage.join(folder, "model.safetensors")
    try:
        theirs = load(storage.read_bytes(url))
    except SafetensorError as error:
        raise CorruptData(f"{url} is not a safetensors file: {error}") from error
    model = LanguageModel(config)
    state = {k: v.float() for k, v in state_from_hugging_face(theirs, config).items()}
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise CorruptData(f"{url} does not fit its config.json: {error}") from error
    return model.eval()
