"""The axes along which a job's ranks are laid out, and what each axis adds up.

Rank numbers run fastest along the tensor axis and slowest along the pipeline axis, so that tensor
ranks, which talk most, are neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from seamount.training.recipe import ParallelRecipe

PIPELINE, DATA, TENSOR = "pipeline_parallel", "data_parallel", "tensor_parallel"


@dataclass(frozen=True)
class Layout:
    """Where this process stands; `mesh` is None for a job of one rank."""

    parallel: ParallelRecipe
    mesh: Any = None

    def size(self, axis: str) -> int:
        """Number of ranks along `axis`."""
        return 1 if self.mesh is None else int(self.mesh[axis].size())

    def rank(self, axis: str) -> int:
        """This rank's place along `axis`."""
        return 0 if self.mesh is None else int(self.mesh[axis].get_local_rank())

    def group(self, axis: str) -> Any:
        """The process group of the ranks that differ from this one along `axis` only."""
        return self.mesh[axis].get_group()

    def add(self, value: Tensor, *axes: str) -> Tensor:
        """`value` summed in place over the ranks of each of `axes`."""
        for axis in axes:
            if self.size(axis) > 1:
                torch.distributed.all_reduce(value, group=self.group(axis))
        return value


def build_mesh(parallel: ParallelRecipe, device: str = "cpu") -> Any:
    """The device mesh of `parallel`, or None for one rank. The process group must stand."""
    if parallel.ranks == 1:
        return None
    from torch.distributed.device_mesh import init_device_mesh

    shape = (parallel.pipeline, parallel.data, parallel.tensor)
    return init_device_mesh(device, shape, mesh_dim_names=(PIPELINE, DATA, TENSOR))
