"""Opens every form a language model has here: one call, one kind of handle.

A Hugging Face folder of a known family loads into models/, any other through transformers' own
AutoModelForCausalLM; a checkpoint folder of a training run; an ONNX export, run by onnxruntime.
Shape suffixes: B batch, T tokens, V vocabulary.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seamount.core import lineage, storage
from seamount.core.errors import CorruptData, UserError
from seamount.core.registry import model_family
from seamount.corpora.text.tokenizer import Tokenizer, load_tokenizer
from seamount.inference.trained_context import trained_context

if TYPE_CHECKING:
    import numpy as np

DEFAULT_CONTEXT = 1024
_DEFAULT_FAMILY = "language"
_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "n_ctx", "seq_length")


@dataclass(frozen=True)
class Loaded:
    """A model ready to run.

    `forward` maps ids int64 [B, T] to logits float32 [B, T, V], fp32 on the CPU; positions after
    a row's end may hold anything, since every model here is causal. `kind` says what opened it:
    "seamount", "checkpoint", "transformers" or "onnx"; `note` why, where that is not obvious.
    `context_length` is the longest input, `trained_context` the longest one seen in training
    (None where nothing beside the model tells).
    """

    kind: str
    path: str
    forward: Callable[[np.ndarray], np.ndarray]
    tokenizer: Tokenizer
    config: dict[str, Any]
    context_length: int
    vocab_size: int
    digest: str
    module: Any = None
    note: str = ""
    trained_context: int | None = None
    protocol: dict[str, Any] = field(default_factory=dict)


def load_model(path: str, threads: int | None = None) -> Loaded:
    """Open the model at `path`: a folder or an .onnx file.

    `threads` bounds onnxruntime (default: the CPUs this process may use). Raises UserError where
    nothing there is a model or model and tokenizer do not belong together.
    """
    path = _resolve(path)
    if path.endswith(".onnx"):
        loaded = _load_onnx(path, threads)
    elif _is_checkpoint(path):
        loaded = _load_checkpoint(path)
    else:
        loaded = _load_folder(path)
    if loaded.tokenizer.vocab_size > loaded.vocab_size:
        raise UserError(
            f"the tokenizer beside {path} has {loaded.tokenizer.vocab_size} ids but the model only "
            f"{loaded.vocab_size}: they do not belong together"
        )
    return loaded


def torch_forward(module: Any) -> Callable[[np.ndarray], np.ndarray]:
    """`module(ids) -> logits` as a function of numpy arrays, without gradients."""
    import torch

    def forward(ids_BT: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            logits_BTV = module(torch.from_numpy(ids_BT))
        array_BTV: np.ndarray = logits_BTV.float().numpy()
        return array_BTV

    return forward


def open_session(path: str, threads: int | None = None) -> Any:
    """An onnxruntime session with bounded threads that do not spin while they wait."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    local = str(storage.local_path(path))
    try:
        return onnxruntime.InferenceSession(local, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library has one bare class a status code
        raise CorruptData(f"{path} is not a model onnxruntime can run: {error}") from error


def _resolve(path: str) -> str:
    """The model meant by `path`: a run's folder stands for its model/, checkpoints/ for LATEST."""
    if not storage.exists(path):
        raise UserError(f"no model at {path!r}: check the path")
    if not storage.is_folder(path):
        if path.endswith(".onnx"):
            return path
        raise UserError(f"{path!r} is a file, but a model is a folder or an .onnx file")
    latest = storage.join(path, "LATEST")
    if storage.exists(latest):
        return storage.join(path, storage.read_bytes(latest).decode().strip())
    for inside in ("model.onnx", "model"):
        candidate = storage.join(path, inside)
        if storage.exists(candidate) and not storage.exists(
            storage.join(path, "model.safetensors")
        ):
            return candidate
    return path


def _is_checkpoint(path: str) -> bool:
    return storage.exists(storage.join(path, ".metadata"))


def _load_folder(path: str) -> Loaded:
    config = _read_config(path)
    family = model_family(config.get("seamount_family", _DEFAULT_FAMILY))
    note = _why_not_in_family(path, config, family)
    if note:
        module, forward = _load_with_transformers(path)
    else:
        module = family.convert.load_folder(path)
        forward = torch_forward(module)
    return Loaded(
        kind="transformers" if note else "seamount",
        path=path,
        forward=forward,
        tokenizer=_tokenizer(path),
        config=config,
        context_length=_context_length(config),
        trained_context=trained_context(path),
        vocab_size=int(config["vocab_size"]),
        digest=_digest(path),
        module=module,
        note=note,
        protocol={"runtime": "torch", "precision": "fp32"},
    )


def _why_not_in_family(path: str, config: dict[str, Any], family: Any) -> str:
    if not storage.exists(storage.join(path, "model.safetensors")):
        return "no model.safetensors in one file"
    try:
        family.convert.config_from_hugging_face(config)
    except UserError as error:
        return str(error)
    return ""


def _load_with_transformers(path: str) -> tuple[Any, Callable[[np.ndarray], np.ndarray]]:
    import torch
    from transformers import AutoModelForCausalLM

    local = str(storage.local_path(path))
    try:
        model = AutoModelForCausalLM.from_pretrained(
            local, dtype=torch.float32, local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError, KeyError) as error:
        sentence = str(error).strip().splitlines()[0]
        raise UserError(f"transformers cannot open the model in {path}: {sentence}") from error
    model.eval()
    return model, torch_forward(lambda ids_BT: model(input_ids=ids_BT, use_cache=False).logits)


def _load_checkpoint(path: str) -> Loaded:
    from seamount.inference.checkpoint import load_checkpoint_module

    module, config, tokenizer_folder = load_checkpoint_module(path)
    return Loaded(
        kind="checkpoint",
        path=path,
        forward=torch_forward(module),
        tokenizer=load_tokenizer(tokenizer_folder),
        config=config,
        context_length=_context_length(config),
        trained_context=trained_context(path),
        vocab_size=int(config["vocab_size"]),
        digest=storage.sha256(storage.join(path, "manifest.json")),
        module=module,
        protocol={"runtime": "torch", "precision": "fp32"},
    )


def _load_onnx(path: str, threads: int | None) -> Loaded:
    folder = path.rsplit("/", 1)[0] if "/" in path else "."
    config = _read_config(folder)
    session = open_session(path, threads)
    names = [i.name for i in session.get_inputs()]
    if names != ["input_ids"]:
        raise UserError(f"{path} takes the inputs {names}: only a model of input_ids is run here")

    def forward(ids_BT: np.ndarray) -> np.ndarray:
        logits_BTV: np.ndarray = session.run(["logits"], {"input_ids": ids_BT})[0]
        return logits_BTV

    return Loaded(
        kind="onnx",
        path=path,
        forward=forward,
        tokenizer=_tokenizer(folder),
        config=config,
        context_length=_context_length(config),
        trained_context=trained_context(folder),
        vocab_size=int(config["vocab_size"]),
        digest=storage.sha256(path),
        protocol={"runtime": "onnxruntime", "precision": config.get("quantization", "fp32")},
    )


def _read_config(folder: str) -> dict[str, Any]:
    url = storage.join(folder, "config.json")
    if not storage.exists(url):
        raise UserError(f"{folder} has no config.json: it is not a model folder")
    config = storage.read_json(url)
    if not isinstance(config, dict) or not isinstance(config.get("vocab_size"), int):
        raise CorruptData(f"{url} does not describe a language model: it has no vocab_size")
    return config


def _context_length(config: dict[str, Any]) -> int:
    found = (config[key] for key in _CONTEXT_KEYS if isinstance(config.get(key), int))
    return next(found, DEFAULT_CONTEXT)


def _tokenizer(folder: str) -> Tokenizer:
    return load_tokenizer(folder)


def _digest(folder: str) -> str:
    """By lineage where there is one, else of the weight files."""
    if storage.exists(storage.join(folder, lineage.FILE_NAME)):
        return lineage.read(folder).digest
    weights = storage.list_files(folder, (".safetensors", ".bin"))
    return storage.digest_of({url[len(folder) :]: storage.sha256(url) for url in weights})
