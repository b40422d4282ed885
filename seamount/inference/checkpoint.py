"""Opens a training checkpoint for inference: weights out of the distributed folder, no optimiser.

Parameters stand there as "model.<name>"; manifest.json names family, configuration and tokenizer.
Any layout of ranks may have written them.
"""

from __future__ import annotations

import warnings
from typing import Any

from seamount.core import storage
from seamount.core.errors import CorruptData, UserError
from seamount.core.registry import model_family


def load_checkpoint_module(folder: str) -> tuple[Any, dict[str, Any], str]:
    """(module in evaluation mode, Hugging Face style configuration, tokenizer folder).

    Raises CorruptData where manifest and weights do not fit each other, UserError where the
    tokenizer is no longer where the manifest says.
    """
    manifest = _manifest(folder)
    family = model_family(manifest["model"]["family"])
    config = family.presets.LanguageConfig(**manifest["model"]["config"])
    module = family.model.LanguageModel(config).float()
    _fill(module, folder)
    tokenizer = _tokenizer_folder(folder, manifest["inputs"]["tokenizer"])
    content = family.convert.config_to_hugging_face(config)
    return module.eval(), {**content, "seamount_family": family.name}, tokenizer


def _manifest(folder: str) -> dict[str, Any]:
    url = storage.join(folder, "manifest.json")
    manifest = storage.read_json(url)
    try:
        str(manifest["model"]["family"]), dict(manifest["model"]["config"])
        dict(manifest["inputs"]["tokenizer"])
    except (KeyError, TypeError) as error:
        raise CorruptData(f"{url} does not describe a checkpoint: it lacks {error}") from error
    return dict(manifest)


def _fill(module: Any, folder: str) -> None:
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.api import CheckpointException

    wanted = {f"model.{name}": tensor for name, tensor in module.state_dict().items()}
    local = str(storage.local_path(folder))
    saved = dcp.FileSystemReader(local).read_metadata().state_dict_metadata
    missing = sorted(name for name in wanted if name not in saved)
    tied = {"model.head.weight"} if "model.embedding.weight" in saved else set()
    if set(missing) - tied:
        raise CorruptData(f"the checkpoint {folder} lacks {missing[0]!r}: use another one")
    state = {name: tensor for name, tensor in wanted.items() if name in saved}
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "torch.distributed is disabled")  # as it is meant
            dcp.load(state, checkpoint_id=local, no_dist=True)
    except (CheckpointException, OSError, ValueError) as error:
        raise CorruptData(f"the checkpoint {folder} cannot be read: {error}") from error


def _tokenizer_folder(folder: str, reference: dict[str, str]) -> str:
    """Where the manifest says, else the run's own tokenizer/ beside checkpoints/."""
    beside = storage.join(folder, "..", "..", "tokenizer")
    for candidate in (reference["path"], beside):
        if storage.exists(storage.join(candidate, "tokenizer.json")):
            return candidate
    raise UserError(
        f"the tokenizer of the checkpoint {folder} is not at {reference['path']}: copy it back"
    )
