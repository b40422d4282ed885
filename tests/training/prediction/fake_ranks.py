"""One rank of a large job in this process: torch's fake process group, which sends nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode

from seamount.training.mesh import Layout, build_mesh
from seamount.training.recipe import ParallelRecipe


@contextmanager
def standing_at(rank: int, parallel: ParallelRecipe) -> Iterator[Layout]:
    """This process as `rank` of a job laid out as `parallel`."""
    torch.distributed.init_process_group(
        "fake", rank=rank, world_size=parallel.ranks, store=FakeStore()
    )
    try:
        yield Layout(parallel, build_mesh(parallel))
    finally:
        torch.distributed.destroy_process_group()


_KINDS = {
    "all_reduce": "all_reduce",
    "all_reduce_": "all_reduce",
    "allreduce_": "all_reduce",
    "all_gather_into_tensor": "all_gather",
    "_allgather_base_": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_": "reduce",
    "broadcast_": "broadcast",
}
_FEW = 4  # values; sums of so few are no part of the prediction


@dataclass
class Heard(TorchDispatchMode):
    """Notes every collective that operators ask for: kind -> [count, bytes of the whole tensor]."""

    found: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def __hash__(self) -> int:
        return id(self)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if DTensor in types:
            return NotImplemented  # what it asks for itself comes here again
        result = func(*args, **(kwargs or {}))
        name = func._schema.name
        if "c10d" in name.split("::")[0]:
            kind = _KINDS.get(name.split("::")[1])
            given = torch.utils._pytree.tree_leaves((args, result))
            most = max((t for t in given if isinstance(t, torch.Tensor)), key=torch.numel)
            if kind and most.numel() > _FEW:
                row = self.found.setdefault(kind, [0, 0])
                row[0] += 1
                row[1] += most.numel() * most.element_size()
        return result
