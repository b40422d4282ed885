"""The axes along which a job's ranks are laid out."""

from __future__ import annotations

from typing import Any

from seamount.training.recipe import ParallelRecipe

TENSOR = "tensor_parallel"


def build_mesh(parallel: ParallelRecipe, device: str = "cpu") -> Any:
    """The device mesh of `parallel`, or None for one rank. The process group must stand."""
    if parallel.ranks == 1:
        return None
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh(device, (parallel.tensor,), mesh_dim_names=(TENSOR,))
