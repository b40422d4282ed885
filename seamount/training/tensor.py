"""Tensor parallelism: a model family's plan put on a mesh, and the way between shard and whole."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import Any

from torch import Tensor, nn
from torch.distributed.tensor import DTensor, Replicate

from seamount.training.plan import tensor_plan


def apply_plan(model: nn.Module, mesh: Any, plan: Any, sequence: bool = False) -> None:
    """Cut `model` over the tensor axis `mesh` as its family's plan.py says, in place.

    Every rank must hold the same weights before. Modules that the plan does not name stay whole;
    ones that this stage of a pipeline has not are passed over. With `sequence` the residual stream
    between the cut matrices is cut along positions (Korthikanti et al. 2022).
    """
    from torch.distributed.tensor.parallel import parallelize_module

    held = [name for name, _ in model.named_modules()]
    styles = {
        pattern: _style(style, sequence)
        for pattern, style in tensor_plan(plan, model.config).items()
        if any(fnmatch(name, pattern) for name in held)
    }
    parallelize_module(model, mesh, styles)
    plan.retie(model)


def _style(name: str, sequence: bool) -> Any:
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel

    stream = Shard(1) if sequence else Replicate()
    match name:
        case "embedding":
            return RowwiseParallel(input_layouts=Replicate(), output_layouts=stream)
        case "branch":
            return _whole_input(stream)
        case "column":
            return ColwiseParallel()
        case "row":
            return RowwiseParallel(output_layouts=stream)
        case "positions":
            return _own_positions(sequence)
        case "head":
            return ColwiseParallel(
                input_layouts=stream, output_layouts=Shard(-1), use_local_output=False
            )
    raise ValueError(f"no parallel style is called {name!r}")


def _whole_input(stream: Any) -> Any:
    """A style that gives a module its first argument whole, as one DTensor.

    All matrices that read it then give one gradient, which is summed over the ranks once.
    """
    from torch.distributed.tensor.parallel import ParallelStyle

    class WholeInput(ParallelStyle):
        def _apply(self, module: nn.Module, mesh: Any) -> nn.Module:
            def gather(_module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
                first = DTensor.from_local(inputs[0], mesh, [stream], run_check=False)
                return (first.redistribute(placements=[Replicate()]), *inputs[1:])

            module.register_forward_pre_hook(gather)
            return module

    return WholeInput()


def _own_positions(sequence: bool) -> Any:
    """A style that keeps of a module's output [.., T, D] this rank's positions, if those are cut.

    Each rank then has the gradient of its own, as `partial_gradients` expects.
    """
    from torch.distributed.tensor.parallel import ParallelStyle

    class OwnPositions(ParallelStyle):
        def _apply(self, module: nn.Module, mesh: Any) -> nn.Module:
            def keep(_module: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
                return output.chunk(mesh.size(), dim=-2)[mesh.get_local_rank()]

            if sequence:
                module.register_forward_hook(keep)
            return module

    return OwnPositions()


def partial_gradients(model: nn.Module, plan: Any, sequence: bool) -> list[Tensor]:
    """The uncut parameters of which each tensor rank has only its own share of the gradient.

    Those are weights that act on a rank's own positions (all of them with `sequence`), and those
    that the plan's TENSOR_PARTIAL names, which act on its own heads.
    """
    named = getattr(plan, "TENSOR_PARTIAL", ())
    return [
        parameter
        for name, parameter in model.named_parameters()
        if not isinstance(parameter, DTensor)
        and (sequence or any(fnmatch(name, pattern) for pattern in named))
    ]


def local(tensor: Tensor) -> Tensor:
    """This rank's part of `tensor`, sharing its memory; a plain tensor is its own part."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def placed_like(tensor: Tensor | None, model: Tensor) -> Tensor:
    """`tensor` laid out as `model`: partial sums are added up, whole ones cut."""
    assert tensor is not None
    if not isinstance(model, DTensor):
        return tensor
    if not isinstance(tensor, DTensor):
        replicas = [Replicate()] * model.device_mesh.ndim
        tensor = DTensor.from_local(tensor, model.device_mesh, replicas, run_check=False)
    return tensor.redistribute(placements=model.placements)


def whole(part: Tensor, model: Tensor) -> Tensor:
    """The whole tensor of which every rank gives its `part`, laid out as `model`."""
    if not isinstance(model, DTensor):
        return part
    return DTensor.from_local(
        part,
        model.device_mesh,
        model.placements,
        run_check=False,
        shape=model.shape,
        stride=model.stride(),
    ).full_tensor()
