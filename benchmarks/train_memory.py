"""Memory of training ranks beside the dry run's prediction: `make bench`.

Claim asked for: a rank's peak above an idle rank's is within 15 % of what `--dry-run` predicts.
Each row is a training of a few steps on random tokens, every rank a process of its own; the peak is
that of the steps (Linux: VmHWM, cleared after the model stands), for the rank that has most. An
idle rank is the same training of a model of next to nothing: same imports, same process group.
Checkpoints and the final model folder are left out.

    python benchmarks/train_memory.py [--json FILE]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from seamount.training.launch import run_ranks
from seamount.training.prediction import predict
from seamount.training.recipe import Recipe, load_recipe, recipe_to_dict

STEPS = 3
SMALL = (
    "model={preset: 1m, hidden_size: 256, heads: 4, kv_heads: 4, "
    "intermediate_size: 704, layers: 8, vocab_size: 8192}"
)
WIDE = (
    "model={preset: 1m, hidden_size: 768, heads: 12, kv_heads: 12, "
    "intermediate_size: 2048, layers: 8, vocab_size: 4096}"
)
DATA = "data={sequence_length: 512, batch_size: 8, micro_batch_size: 2}"
ADAMW = "optimizer={name: adamw, lr: 0.001}"
ROWS: dict[str, tuple[str, ...]] = {
    "activations, one rank": (SMALL, DATA, ADAMW),
    "one micro-batch": (SMALL, "data={sequence_length: 512, batch_size: 8}", ADAMW),
    "weights, AdamW": (WIDE, "data={sequence_length: 128, batch_size: 2}", ADAMW),
    "weights, Muon": (WIDE, "data={sequence_length: 128, batch_size: 2}"),
    "bf16-true": (SMALL, DATA, ADAMW, "precision=bf16-true"),
    "tensor 2": (SMALL, DATA, ADAMW, "parallel={tensor: 2}"),
    "tensor 2, sequence": (SMALL, DATA, ADAMW, "parallel={tensor: 2, sequence: true}"),
    "pipeline 2, 1f1b": (SMALL, DATA, ADAMW, "parallel={pipeline: 2}"),
    "pipeline 2, gpipe": (SMALL, DATA, ADAMW, "parallel={pipeline: 2, schedule: gpipe}"),
    "data 2, sharded": (WIDE, DATA, ADAMW, "parallel={data: 2, shard_optimizer: true}"),
}
NOTHING = (
    "model={preset: tiny, layers: 2, vocab_size: 257, context_length: 8}",
    "data={sequence_length: 8, batch_size: 4, micro_batch_size: 1}",
    ADAMW,
)


def peak_bytes() -> int:
    """Peak resident set of this process since it was last cleared."""
    status = Path("/proc/self/status").read_text()
    return next(int(x.split()[1]) << 10 for x in status.splitlines() if x.startswith("VmHWM"))


def forget_peak() -> None:
    """Begin the peak anew, with what is free given back to the kernel."""
    import ctypes

    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def measured(job: dict[str, Any], _channel: Any) -> dict[str, Any]:
    """On each rank: train, and give rank 0 the largest peak of the steps."""
    import torch
    from lightning.pytorch import Callback

    from seamount.training.language_module import LanguageModule
    from seamount.training.language_ranks import build_trainer, quiet
    from seamount.training.parity_ranks import RandomBatches
    from seamount.training.recipe import recipe_from_dict

    class Began(Callback):
        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            forget_peak()

    quiet()
    recipe = recipe_from_dict(job)
    sizes = torch.ones(recipe.model.config.vocab_size, dtype=torch.int64)
    module = LanguageModule(recipe, sizes)
    trainer = build_trainer(recipe, [Began()], recipe.steps)
    trainer.fit(module, train_dataloaders=RandomBatches(recipe))
    peaks: list[Any] = [peak_bytes()]
    if torch.distributed.is_initialized():
        peaks = [None] * recipe.parallel.ranks
        torch.distributed.all_gather_object(peaks, peak_bytes())
    return {"peaks": peaks}


def run(recipe: Recipe) -> int:
    """The peak of the rank that holds most."""
    target = "train_memory:measured"
    job = recipe_to_dict(recipe)
    return max(run_ranks(target, job, recipe.parallel.ranks, threads=1)["peaks"])


def main() -> None:
    """Print one line a row: measured above idle, predicted, and their ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="rows whose name has this")
    given = parser.parse_args()
    idle: dict[str, int] = {}
    found = {}
    for name, overrides in ROWS.items():
        if given.only not in name:
            continue
        layout = next((o for o in overrides if o.startswith("parallel")), "parallel={}")
        steps = f"steps={STEPS}"
        if layout not in idle:
            idle[layout] = run(load_recipe("text/demo.yaml", [*NOTHING, layout, steps]))
        recipe = load_recipe("text/demo.yaml", [*overrides, steps])
        memory = predict(recipe)["memory"]
        above, told = run(recipe) - idle[layout], memory["peak_bytes"]
        found[name] = {"measured_bytes": above, "idle_bytes": idle[layout], **memory}
        print(
            f"  {name:<24} measured {above / 1e6:7.1f} MB  predicted {told / 1e6:7.1f} MB  "
            f"ratio {told / above:5.2f}  (idle {idle[layout] / 1e6:.0f} MB)",
            flush=True,
        )
    if given.json:
        given.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
