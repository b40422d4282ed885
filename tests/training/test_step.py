"""The parts of one training step against torch's own and against hand-made values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from seamount.training import clip_norm, random_state
from seamount.training.batch_sizes import BatchSizes
from seamount.training.cross_entropy import IGNORED, cross_entropy
from seamount.training.data_order import Batches, held_out
from seamount.training.optimizer import build_optimizer, orthogonal
from seamount.training.recipe import OptimizerRecipe, ScheduleRecipe
from seamount.training.schedule import factor
from seamount.training.step_line import count, duration, step_line


def test_schedule_by_hand():
    linear = ScheduleRecipe(warmup_steps=1, decay_fraction=0.5, final_fraction=0.2)
    got = [factor(linear, step, 8) for step in range(8)]
    assert got == pytest.approx([0.5, 1, 1, 1, 1, 0.8, 0.6, 0.4])
    cosine = ScheduleRecipe(name="cosine")
    assert factor(cosine, 50, 100) == pytest.approx(0.5)
    assert factor(ScheduleRecipe(name="constant"), 99, 100) == 1


def test_cross_entropy_is_torchs():
    logits = (5 * torch.randn(7, 11)).requires_grad_()
    targets = torch.randint(11, (7,))
    targets[2] = IGNORED
    ours, theirs = cross_entropy(logits, targets, 6), functional.cross_entropy(logits, targets)
    torch.testing.assert_close(ours, theirs)
    (wanted,) = torch.autograd.grad(theirs, logits)
    (got,) = torch.autograd.grad(3 * ours, logits)
    torch.testing.assert_close(got, 3 * wanted)


def test_cross_entropy_of_the_impossible_is_finite():
    logits = torch.tensor([[0.0, 500.0]], requires_grad=True)
    loss = cross_entropy(logits, torch.tensor([0]), 1)
    loss.backward()
    assert math.isfinite(loss.item()) and loss.item() > 80
    assert logits.grad.tolist() == [[-1.0, 1.0]]


@pytest.mark.parametrize("shape", [(8, 8), (6, 20), (20, 6)])
def test_newton_schulz_keeps_directions_and_levels_lengths(shape):
    """Against the exact answer of a singular value decomposition: U and V stay, S becomes ~1."""
    left, _, right = torch.linalg.svd(torch.randn(shape, dtype=torch.float64), full_matrices=False)
    matrix = (left * torch.linspace(1, 3, min(shape))) @ right
    (got,) = orthogonal([matrix.float()], 5)
    core = left.T @ got.double() @ right.T
    assert (core - core.diag().diag()).abs().max() < 1e-4
    assert core.diag().min() > 0.6 and core.diag().max() < 1.3


def test_muon_is_torchs_within_its_bfloat16():
    names = ("layers.0.a.weight", "layers.0.b.weight")
    ours = [torch.nn.Parameter(torch.randn(s)) for s in ((24, 16), (16, 16))]
    theirs = [torch.nn.Parameter(p.detach().clone()) for p in ours]
    recipe = OptimizerRecipe(lr=0.1, weight_decay=0.1, momentum=0.9)
    mine = build_optimizer(zip(names, ours, strict=True), recipe)
    stock = torch.optim.Muon(theirs, lr=0.1, weight_decay=0.1, momentum=0.9)
    for _ in range(3):
        for a, b in zip(ours, theirs, strict=True):
            a.grad = torch.randn_like(a)
            b.grad = a.grad.clone()
        mine.step()
        stock.step()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0.01)


def test_adamw_is_torchs():
    ours = torch.nn.Parameter(torch.randn(5, 3))
    theirs = torch.nn.Parameter(ours.detach().clone())
    recipe = OptimizerRecipe(name="adamw", lr=0.01, weight_decay=0.1, eps=1e-8)
    mine = build_optimizer([("layers.0.a.weight", ours)], recipe)
    stock = torch.optim.AdamW([theirs], lr=0.01, betas=(0.9, 0.95), weight_decay=0.1, eps=1e-8)
    for _ in range(5):
        ours.grad = torch.randn_like(ours)
        theirs.grad = ours.grad.clone()
        mine.step()
        stock.step()
    torch.testing.assert_close(ours, theirs)


def test_groups_are_what_the_recipe_says():
    made = {
        "embedding.weight": (9, 4),
        "layers.0.norm.weight": (4,),
        "layers.0.mlp.up.weight": (6, 4),
        "head.weight": (9, 4),
    }
    parameters = [(n, torch.nn.Parameter(torch.zeros(s))) for n, s in made.items()]
    recipe = OptimizerRecipe(lr=1.0, embedding_lr=2.0, head_lr=3.0, weight_decay=0.5)
    groups = build_optimizer(parameters, recipe).param_groups
    seen = [(g["kind"], g["lr"], g["weight_decay"], len(g["params"])) for g in groups]
    assert seen == [("muon", 1.0, 0.5, 1), ("adamw", 3.0, 0.0, 1), ("adamw", 2.0, 0.0, 2)]


def test_clipping_is_torchs():
    ours = [torch.nn.Parameter(torch.zeros(4, 3)), torch.nn.Parameter(torch.zeros(5))]
    for p in ours:
        p.grad = torch.randn_like(p)
    theirs = [torch.nn.Parameter(torch.zeros_like(p)) for p in ours]
    for a, b in zip(ours, theirs, strict=True):
        b.grad = a.grad.clone()
    norm = clip_norm.global_norm(ours)
    clip_norm.scale(ours, norm, 0.5)
    wanted = torch.nn.utils.clip_grad_norm_(theirs, 0.5)
    torch.testing.assert_close(norm, wanted.double())
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_the_norm_of_what_is_not_finite_says_so():
    parameter = torch.nn.Parameter(torch.zeros(2))
    parameter.grad = torch.tensor([float("inf"), 1.0])
    assert clip_norm.global_norm([parameter]) == float("inf")


def test_random_generators_continue():
    import random

    random_state.seed_all(7)
    random.gauss(0, 1), np.random.standard_normal(), torch.rand(3)
    state = {k: v.clone() for k, v in random_state.capture().items()}
    wanted = draw()
    random_state.seed_all(0)
    random_state.restore(state)
    assert draw() == wanted


def draw() -> list[float]:
    import random

    numbers = [random.gauss(0, 1), random.random(), np.random.standard_normal(), np.random.rand()]
    return [*numbers, *torch.rand(3).tolist()]


class Counting:
    """Sequence i holds nothing but i."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> tuple[np.ndarray]:
        return (np.full(3, index, dtype=np.int64),)


def test_batches_continue_where_they_stopped():
    whole = numbers(Batches(Counting(), BatchSizes(2), 0, 5))
    rest = numbers(Batches(Counting(), BatchSizes(2), 3, 5))
    assert whole == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert rest == whole[3:] and len(Batches(Counting(), BatchSizes(2), 3, 5)) == 2


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_order_of_sequences_is_one_for_any_number_of_data_ranks(ranks):
    parts = [
        numbers(Batches(Counting(), BatchSizes(4), 1, 3, rank, ranks)) for rank in range(ranks)
    ]
    steps = [[n for part in step for n in part] for step in zip(*parts, strict=True)]
    assert steps == [[4, 5, 6, 7], [8, 9, 10, 11]]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_held_out_sequences_are_read_once_by_any_number_of_ranks(ranks):
    parts = [held_out(Counting(), 5, 2, rank, ranks) for rank in range(ranks)]
    assert len({len(part) for part in parts}) == 1  # else a rank would wait for ever
    batches = [batch for part in parts for batch in part]
    assert all(batch.ids_BT.shape == batch.targets_BT.shape == (2, 2) for batch in batches)
    seen = [row[0] for batch in batches for row in batch.targets_BT.tolist()]
    assert sorted(n for n in seen if n != IGNORED) == [0, 1, 2, 3, 4]


def numbers(batches: Batches) -> list[list[int]]:
    """Which sequences each batch holds."""
    assert all(batch.ids_BT.equal(batch.targets_BT) for batch in batches)
    return [batch.ids_BT[:, 0].tolist() for batch in batches]


def test_step_line_reads_as_designed():
    event = {"step": 420, "steps": 10000, "loss": 3.4123, "bpb": 1.0214}
    line = step_line(event | {"tokens_per_s": 812345.0, "eta_s": 4330.0})
    assert line == ("step 00420/10000 4.2% | loss 3.412 | bpb 1.021 | 812k tok/s | eta 1h12")
    assert [duration(s) for s in (0, 45, 185, 90000)] == ["0s", "45s", "3m05", "1d01"]
    assert [count(v) for v in (950, 8123, 999_700, 1.5e9)] == ["950", "8.12k", "1M", "1.5G"]
