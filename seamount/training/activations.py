"""What one rank keeps of a forward pass for the backward one, found without computing anything.

The stage runs on fake tensors, which have shapes and no values, and every block once more by
itself in each mode of recompute.py; what is still held afterwards is counted, storage by storage.
A tensor rank's piece is a model whose cut fields (plan.TENSOR_DIVIDES, TENSOR_CUTS) are divided;
where that leaves a rest it is rank 0's, the largest.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from seamount.core.registry import model_family
from seamount.training import float8, recompute
from seamount.training.cross_entropy import cross_entropy
from seamount.training.pipeline import layers_of
from seamount.training.plan import tensor_plan
from seamount.training.recipe import Recipe

MODES = ("none", "selective", "full")
_DTYPES = {"bf16-true": torch.bfloat16, "fp64": torch.float64}


@dataclass(frozen=True)
class Activations:
    """Of one stage and one micro-batch: bytes kept by each layer and mode, and by the ends.

    `ends_bytes` are of all that is no layer: embedding, masks, last norm, head and loss.
    `again_flops` are the floating-point operations that each layer repeats in each mode, `flops`
    those of the stage's forward pass: what torch's counter sees, matrix products above all.
    """

    layer_bytes: dict[str, dict[str, int]]
    ends_bytes: int
    again_flops: dict[str, dict[str, int]]
    flops: int


class Kept(TorchDispatchMode):
    """Follows every storage that operators make: `bytes` of those still held.

    A storage made where `whole` is set counts in full, any other divided by `share`: those lie on
    positions that sequence-parallel ranks divide between them.
    """

    def __init__(self, share: int = 1) -> None:
        super().__init__()
        self.share = share
        self.whole = False
        self.seen: dict[int, tuple[StorageWeakRef, int, bool]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator and note what it made."""
        given = {_key(t) for t in torch.utils._pytree.tree_leaves((args, kwargs)) if _is(t)}
        result = func(*args, **(kwargs or {}))
        for tensor in torch.utils._pytree.tree_leaves(result):
            if _is(tensor) and _key(tensor) not in given:
                self.note(tensor)
        return result

    def note(self, tensor: Tensor) -> None:
        """Count the storage of `tensor` as made here."""
        storage = tensor.untyped_storage()
        self.seen[_key(tensor)] = (StorageWeakRef(storage), storage.nbytes(), self.whole)

    @property
    def bytes(self) -> int:
        """Bytes of what is still held."""
        held = [(size, whole) for ref, size, whole in self.seen.values() if not ref.expired()]
        return sum(size if whole else size // self.share for size, whole in held)


def _is(value: Any) -> bool:
    return isinstance(value, Tensor)


def _key(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


def measure(recipe: Recipe, stage: int, micro_batch_size: int) -> Activations:
    """The activations of pipeline stage `stage` for micro-batches of `micro_batch_size`."""
    with FakeTensorMode(), _autocast(recipe):
        model = _piece(recipe, stage)
        kept = Kept(recipe.parallel.tensor if recipe.parallel.sequence else 1)
        _mark_whole(model, recipe, kept)
        calls: dict[str, Call] = {}
        handles = [h for n, block in _layers(model).items() for h in _watch(block, n, calls, kept)]
        with FlopCounterMode(display=False) as flops:
            total = _kept_by(kept, lambda: _forward(model, recipe, micro_batch_size, kept))
        for handle in handles:
            handle.remove()
        # layers that keep as much are alike
        alone: dict[int, tuple[dict[str, int], dict[str, int]]] = {}
        for name, call in calls.items():
            if call.bytes not in alone:
                alone[call.bytes] = _alone(kept, _layers(model)[name], call)
                alone[call.bytes][0]["selective"] += _collectives(recipe, call)
    found = {name: alone[call.bytes] for name, call in calls.items()}
    return Activations(
        layer_bytes={name: modes for name, (modes, _) in found.items()},
        ends_bytes=total - sum(modes["none"] for modes, _ in found.values()),
        again_flops={name: again for name, (_, again) in found.items()},
        flops=flops.get_total_flops(),
    )


def _layers(model: Any) -> dict[str, nn.Module]:
    return dict(getattr(model, "layers", {}))


def _piece(recipe: Recipe, stage: int) -> nn.Module:
    """The stage as a tensor rank holds it. Checks of the configuration do not hold for a piece."""
    family, parallel = model_family(recipe.model.family), recipe.parallel
    config = copy.copy(recipe.model.config)
    for name in (*family.plan.TENSOR_DIVIDES, *family.plan.TENSOR_CUTS):
        object.__setattr__(config, name, -(-getattr(config, name) // parallel.tensor))
    model = family.model.LanguageModel(config)
    if parallel.pipeline > 1:
        held = layers_of(stage, parallel.stages, config.layers)
        family.plan.keep_stage(model, held, stage == 0, stage == parallel.stages - 1)
    if recipe.precision == "fp8":
        float8.convert(model)
    if recipe.precision in _DTYPES:
        _cast(model, _DTYPES[recipe.precision])
        family.plan.retie(model)
    return model


def _cast(model: nn.Module, dtype: torch.dtype) -> None:
    """`model.to(dtype)`, which torch does not do with fake tensors."""
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                module._parameters[name] = nn.Parameter(parameter.detach().to(dtype))
        for name, buffer in module._buffers.items():
            if buffer is not None and buffer.is_floating_point():
                module._buffers[name] = buffer.to(dtype)


@contextmanager
def _autocast(recipe: Recipe) -> Iterator[None]:
    with torch.autocast("cpu", torch.bfloat16, enabled=recipe.precision == "bf16-mixed"):
        yield


def _forward(model: Any, recipe: Recipe, rows: int, kept: Kept) -> Any:
    """The end of the graph of one micro-batch; the logits' own storage is let go."""
    tokens = recipe.data.sequence_length
    ids = torch.zeros(rows, tokens, dtype=torch.int64)
    if model.embedding is None:
        ids = torch.zeros(rows, tokens, model.config.hidden_size, requires_grad=True)
        ids = ids.to(next(model.parameters()).dtype)
    output = model(ids)
    kept.whole = True
    if model.head is not None:
        output = cross_entropy(
            output.flatten(0, 1).to(torch.promote_types(output.dtype, torch.float32)),
            torch.zeros(rows * tokens, dtype=torch.int64),
            1.0,
        )
    kept.whole = False
    return output.grad_fn


def _mark_whole(model: nn.Module, recipe: Recipe, kept: Kept) -> None:
    """Let `kept` know when it is inside a matrix that tensor ranks share: positions are whole."""
    plan = tensor_plan(model_family(recipe.model.family).plan, recipe.model.config)
    inside = [pattern for pattern, style in plan.items() if style in ("branch", "head")]

    def enter(_module: nn.Module, inputs: Any) -> None:
        kept.whole = True
        kept.note(inputs[0])

    def leave(_module: nn.Module, _inputs: Any, _output: Any) -> None:
        kept.whole = False

    for name, module in model.named_modules():
        if any(fnmatch(name, pattern) for pattern in inside):
            module.register_forward_pre_hook(enter)
            module.register_forward_hook(leave)


@dataclass
class Call:
    """How the whole model called a block, and what storages that added: bytes."""

    shape: torch.Size
    dtype: torch.dtype
    context: tuple[Any, ...]
    bytes: int

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The same inputs again, the stream made anew."""
        stream = torch.empty(self.shape, dtype=self.dtype, requires_grad=True)
        return (stream, *self.context)


def _watch(block: nn.Module, name: str, calls: dict[str, Call], kept: Kept) -> list[Any]:
    def before(_module: nn.Module, inputs: Any) -> None:
        calls[name] = Call(inputs[0].shape, inputs[0].dtype, inputs[1:], -kept.bytes)

    def after(_module: nn.Module, _inputs: Any, _output: Any) -> None:
        calls[name].bytes += kept.bytes

    return [block.register_forward_pre_hook(before), block.register_forward_hook(after)]


def _alone(kept: Kept, block: nn.Module, call: Call) -> tuple[dict[str, int], dict[str, int]]:
    """By mode: bytes that `block` keeps, its input among them if needed; operations it repeats."""
    found, flops = {}, {}
    for mode in MODES:
        run = block if mode == "none" else recompute.recomputed(block, mode)
        found[mode] = _kept_by(kept, partial(_graph, run, call.inputs))
        with FlopCounterMode(display=False) as counter:
            _output(run, call.inputs).sum().backward()
        flops[mode] = counter.get_total_flops()
    return found, {mode: count - flops["none"] for mode, count in flops.items()}


def _collectives(recipe: Recipe, call: Call) -> int:
    """Bytes that the collectives of a block's branches give, which "selective" keeps.

    One device has none, so the piece does not show them: each row matrix sums the stream, and with
    `sequence` its branch gathers it before and cuts it after.
    """
    parallel = recipe.parallel
    if parallel.tensor == 1:
        return 0
    plan = tensor_plan(model_family(recipe.model.family).plan, recipe.model.config)
    branches = list(plan.values()).count("row")
    stream = call.shape.numel() * call.dtype.itemsize
    return branches * (stream + stream // parallel.tensor if parallel.sequence else stream)


def _graph(run: Callable[..., Tensor], inputs: tuple[Any, ...]) -> Any:
    return _output(run, inputs).grad_fn


def _output(run: Callable[..., Tensor], inputs: tuple[Any, ...]) -> Tensor:
    return run(inputs[0].clone(), *inputs[1:])  # whose source autograd holds, as it does parameters


def _kept_by(kept: Kept, forward: Callable[[], Any]) -> int:
    kept.seen.clear()
    kept.whole = False  # a recomputation ends early, within a module
    with kept:
        graph = forward()  # holds what its nodes saved
    found = kept.bytes
    del graph
    return found
