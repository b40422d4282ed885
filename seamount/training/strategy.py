"""Lightning strategies: stock where one rank works, a thin one with our mesh where many do."""

from __future__ import annotations

from typing import Any

from lightning.pytorch.plugins.environments import LightningEnvironment
from lightning.pytorch.strategies import ModelParallelStrategy, SingleDeviceStrategy
from lightning.pytorch.strategies.parallel import ParallelStrategy
from lightning.pytorch.strategies.strategy import Strategy

from seamount.training.mesh import build_mesh
from seamount.training.recipe import ParallelRecipe


class MeshStrategy(ModelParallelStrategy):
    """ModelParallelStrategy whose mesh has the axes of a recipe.

    The stock one knows the two axes data x tensor alone, and no pipeline. Saving and loading are
    ours (training/checkpoint.py): Lightning writes no file here.
    """

    def __init__(self, parallel: ParallelRecipe) -> None:
        super().__init__(
            data_parallel_size=parallel.data,
            tensor_parallel_size=parallel.tensor,
            process_group_backend="gloo",
        )
        self.parallel = parallel
        self.cluster_environment = LightningEnvironment()

    def setup_environment(self) -> None:
        """Join the process group and build the mesh."""
        ParallelStrategy.setup_environment(self)
        self._setup_distributed()
        self._device_mesh = build_mesh(self.parallel, self.root_device.type)
        assert self.lightning_module is not None
        self.lightning_module._device_mesh = self._device_mesh

    @property
    def distributed_sampler_kwargs(self) -> dict[str, Any]:
        """Unused: training/data_order.py knows each rank's share."""
        return {"num_replicas": 1, "rank": 0}


def build_strategy(parallel: ParallelRecipe) -> Strategy:
    """The strategy for a recipe's layout."""
    return SingleDeviceStrategy("cpu") if parallel.ranks == 1 else MeshStrategy(parallel)
