"""Data parallelism: gradients summed over the data ranks, and who updates which parameter.

With a sharded optimiser (Rajbhandari et al. 2020, ZeRO stage 1) each parameter has one owner among
the data ranks. Its gradient goes to the owner alone, which holds the optimiser's state, updates it
and sends the new value to the others: whole matrices, as Muon needs them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import torch
from torch import Tensor

from seamount.training.mesh import DATA, Layout
from seamount.training.tensor import local, placed_like

_BUCKET_VALUES = 4 << 20


def owners(parameters: Iterable[tuple[str, Tensor]], ranks: int) -> dict[str, int]:
    """Which data rank updates each parameter: the largest first, to the one with least so far."""
    sizes = sorted(((p.numel(), name) for name, p in parameters), key=lambda s: (-s[0], s[1]))
    held = [0] * ranks
    found: dict[str, int] = {}
    for size, name in sizes:
        found[name] = held.index(min(held))
        held[found[name]] += size
    return found


@torch.no_grad()
def sum_gradients(
    parameters: Mapping[str, Tensor], layout: Layout, owner_of: Mapping[str, int] | None
) -> None:
    """Sum gradients over the data ranks: on all of them, or on each parameter's owner.

    What is not an owner's has no gradient afterwards. Every rank must hold the same parameters.
    """
    for parameter in parameters.values():
        if parameter.grad is not None:
            parameter.grad = placed_like(parameter.grad, parameter)
    if layout.size(DATA) == 1:
        return
    group = layout.group(DATA)
    for owner, tensors in _by_owner(parameters, owner_of):
        gradients = [local(t.grad) for t in tensors if t.grad is not None]
        for bucket in _buckets(gradients):
            flat = torch.cat([t.reshape(-1) for t in bucket])
            if owner is None:
                torch.distributed.all_reduce(flat, group=group)
            else:
                torch.distributed.reduce(flat, group_dst=owner, group=group)
            _spread(flat, bucket)
        if owner is not None and owner != layout.rank(DATA):
            for tensor in tensors:
                tensor.grad = None


@torch.no_grad()
def send_updates(
    parameters: Mapping[str, Tensor], layout: Layout, owner_of: Mapping[str, int]
) -> None:
    """Give every data rank the values that each parameter's owner has."""
    group = layout.group(DATA)
    for owner, tensors in _by_owner(parameters, owner_of):
        for bucket in _buckets([local(t.detach()) for t in tensors]):
            flat = torch.cat([t.reshape(-1) for t in bucket])
            torch.distributed.broadcast(flat, group_src=owner, group=group)
            _spread(flat, bucket)


def _by_owner(
    parameters: Mapping[str, Tensor], owner_of: Mapping[str, int] | None
) -> Iterator[tuple[int | None, list[Tensor]]]:
    found: dict[int | None, list[Tensor]] = defaultdict(list)
    for name, parameter in parameters.items():
        found[None if owner_of is None else owner_of[name]].append(parameter)
    yield from sorted(found.items(), key=lambda item: item[0] or 0)


def _buckets(tensors: list[Tensor]) -> Iterator[list[Tensor]]:
    """Runs of tensors of one type, of about one size in sum."""
    bucket: list[Tensor] = []
    for tensor in tensors:
        full = sum(t.numel() for t in bucket) + tensor.numel() > _BUCKET_VALUES
        if bucket and (full or bucket[0].dtype != tensor.dtype):
            yield bucket
            bucket = []
        bucket.append(tensor)
    if bucket:
        yield bucket


def _spread(flat: Tensor, bucket: list[Tensor]) -> None:
    for part, tensor in zip(flat.split([t.numel() for t in bucket]), bucket, strict=True):
        tensor.copy_(part.view_as(tensor))
