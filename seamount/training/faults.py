"""Known faults of parallel training, planted on purpose: `seamount train parity --plant FAULT`.

Each undoes one thing that a layout needs, as systems in use have left it out (the references name
reports of it). A comparison that does not see one proves nothing. Called in a rank's own process,
which ends after the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Fault:
    """What is wrong, in which layouts it must show, and how it is done to the classes."""

    about: str
    layouts: tuple[str, ...]
    plant: Callable[[], None]


def _no_tied_sum() -> None:
    from seamount.training.parts import Parts

    Parts._sum_tied = lambda self, parameter: None  # type: ignore[method-assign]


def _no_partial_sum() -> None:
    from seamount.training import parts

    parts.partial_gradients = lambda model, plan, sequence: []  # type: ignore[method-assign]


def _no_data_sum() -> None:
    from seamount.training import data_parallel

    data_parallel.sum_gradients = lambda parameters, layout, owner_of: None  # type: ignore[method-assign]


def _norm_of_one_rank() -> None:
    from seamount.training import clip_norm
    from seamount.training.parts import Parts

    real = Parts.finish_gradients

    def finish(self: Any) -> Any:
        real(self)
        return clip_norm.global_norm(self.counted.values())

    Parts.finish_gradients = finish  # type: ignore[method-assign]


def _tied_counted_twice() -> None:
    from seamount.training.parts import Parts

    # read back as all parameters, whatever is stored
    Parts.counted = property(lambda self: self.parameters, lambda self, value: None)  # type: ignore[assignment, misc]


def _mean_of_means() -> None:
    from seamount.training.mesh import DATA
    from seamount.training.parts import Parts

    real = Parts.totals

    def totals(self: Any, values: Any, *, over_stages: bool = False) -> Any:
        if over_stages:
            return real(self, values, over_stages=True)
        return values * self.layout.size(DATA)  # each rank divides by its own tokens

    Parts.totals = totals  # type: ignore[method-assign]


def _updates_not_sent() -> None:
    from seamount.training.parts import Parts

    Parts.send_updates = lambda self: None  # type: ignore[method-assign]


def _branch_not_summed() -> None:
    """The first of Megatron's conjugate operators without its backward sum."""
    from torch.distributed.tensor.parallel import ColwiseParallel
    from torch.nn import functional

    from seamount.training import tensor

    class Column(ColwiseParallel):
        def _apply(self, module: Any, mesh: Any) -> Any:
            from torch.distributed.tensor import distribute_module

            distribute_module(module, mesh, self._partition_linear_fn)
            # to_local takes the gradient of one rank's columns for that of all
            module.forward = lambda x: functional.linear(x.to_local(), module.weight.to_local())
            return module

    real = tensor._style

    def style(name: str, sequence: bool) -> Any:
        return Column() if name == "column" else real(name, sequence)

    tensor._style = style


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "tied-not-summed": Fault(
            "the copies of a tied matrix on two stages keep their own gradients (Megatron-LM 844)",
            ("pp2", "tp2xpp2"),
            _no_tied_sum,
        ),
        "tied-counted-twice": Fault(
            "the norm counts a tied matrix on both stages", ("pp2",), _tied_counted_twice
        ),
        "norms-not-summed": Fault(
            "weights between the cut matrices keep the gradient of their own positions "
            "(Megatron-LM 1446)",
            ("sp", "tp2xpp2"),
            _no_partial_sum,
        ),
        "branch-not-summed": Fault(
            "columns of a cut matrix do not sum the gradient of what they all read",
            ("tp2", "sp"),
            _branch_not_summed,
        ),
        "norm-of-one-rank": Fault(
            "gradients are clipped by the norm of what one rank holds (torchtitan 596)",
            ("tp2", "pp2"),
            _norm_of_one_rank,
        ),
        "data-not-summed": Fault("each data rank keeps its own gradients", ("dp2",), _no_data_sum),
        "mean-of-means": Fault(
            "the loss is a mean of the data ranks' means, though their numbers of tokens differ",
            ("dp2",),
            _mean_of_means,
        ),
        "updates-not-sent": Fault(
            "what one rank's optimiser updated does not reach the others",
            ("dp2-sharded",),
            _updates_not_sent,
        ),
    }
)
