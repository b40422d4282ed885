"""Training speed beside a plain PyTorch loop and Hugging Face's Trainer: `make bench`.

Claim asked for: at least 0.97 of the plain loop's speed and 1.0 of the Trainer's, at three sizes.
Same model, token file, batch, AdamW, clipping, threads; each contestant a fresh process, taken in
turn, round after round. Ours is `train()` as `seamount train` calls it, with progress and tracking.
Printed: the median seconds of a step by the clock and by CPU time, which counts where the machine
has other work, and the ratio of speeds by each.

    python benchmarks/train_throughput.py [--rounds 3] [--only NAME] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from peers import packages_of

from seamount.training import language
from seamount.training.recipe import Recipe, load_recipe, recipe_to_dict

ROOT = Path(__file__).resolve().parents[1]
LOOPS = ROOT / "benchmarks" / "peers" / "training_loops.py"
# transformers is installed with Seamount; the Trainer needs this beside it.
ACCELERATE = ("accelerate==1.16.0",)
VOCABULARY = 2048
# name: (fields of the model, tokens a sequence, sequences a batch, steps, of which not timed)
SIZES: dict[str, tuple[str, int, int, int, int]] = {
    "1M": ("preset: 1m", 256, 4, 240, 40),
    "8M": (
        "preset: 1m, hidden_size: 288, heads: 6, kv_heads: 6, intermediate_size: 768, layers: 8",
        *(256, 8, 60, 10),
    ),
    "30M": (
        "preset: 1m, hidden_size: 512, heads: 8, kv_heads: 8, intermediate_size: 1376, layers: 9",
        *(512, 4, 24, 4),
    ),
}


def measured(job: dict[str, Any], channel: Any) -> dict[str, Any]:
    """The rank function: `fit` as it is, with a clock among the callbacks."""
    from lightning.pytorch import Callback
    from peers.training_loops import Clock

    from seamount.training import language_ranks

    steps = job["recipe"]["steps"]
    clock = Clock(int(os.environ["BENCH_FIRST"]), steps)

    class Ticks(Callback):
        def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
            clock.tick(pl_module.steps_done)
            if pl_module.steps_done == steps:
                channel.send({"event": "metrics", "step": steps, "data": clock.figures()})

    build = language_ranks.build_trainer

    def with_clock(recipe: Any, callbacks: Any, count: int) -> Any:
        return build(recipe, [Ticks(), *callbacks], count)

    language_ranks.build_trainer = with_clock
    return language_ranks.fit(job, channel)


def ours(recipe: Recipe, folder: Path, first: int) -> dict[str, float]:
    """Seconds a step of `train()`."""
    found: dict[str, float] = {}

    def keep(data: dict[str, float], step: int) -> None:
        found.update(data)

    os.environ["BENCH_FIRST"] = str(first)
    language.TARGET = "train_throughput:measured"
    out = tempfile.mkdtemp(dir=folder)
    where = [str(folder / "tokens"), str(folder / "tokenizer"), out]
    language.train(language.TrainRequest(recipe, *where, log_metrics=keep))
    return {name: found[name] for name in ("wall_s", "cpu_s")}


def theirs(loop: str, recipe: Recipe, folder: Path, first: int) -> dict[str, float]:
    """Seconds a step of another loop, in a process of its own with the same threads."""
    info = json.loads((folder / "tokens" / "tokens.json").read_text())
    job = {
        "recipe": recipe_to_dict(recipe),
        "tokens": str(folder / "tokens" / "train.bin"),
        "dtype": info["splits"]["train"]["dtype"],
        "sequence_length": recipe.data.sequence_length,
        "batch_size": recipe.data.batch_size,
        "steps": recipe.steps,
        "first": first,
        "lr": recipe.optimizer.lr,
    }
    (folder / "job.json").write_text(json.dumps(job))
    paths = [str(ROOT), str(packages_of("hugging-face-trainer", ACCELERATE))]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        # as our own ranks are started: without these the peers lose some per cent
        **{"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0", "HF_HUB_OFFLINE": "1"},
        **{"OMP_NUM_THREADS": str(recipe.threads), "MKL_NUM_THREADS": str(recipe.threads)},
        **{"MALLOC_MMAP_THRESHOLD_": str(4 << 30), "MALLOC_TRIM_THRESHOLD_": str(4 << 30)},
    }
    command = [sys.executable, str(LOOPS), loop, str(folder / "job.json")]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def prepare(folder: Path) -> None:
    """A token file of random words, long enough for every size, and its tokenizer."""
    import random

    from seamount.core.records import Document
    from seamount.corpora.text.tokenizer import train_tokenizer
    from seamount.corpora.text.tokens import write_tokens

    chance = random.Random(1)
    words = [
        "".join(chance.choices("abcdefghijklmnop", k=chance.randint(2, 8))) for _ in range(999)
    ]
    texts = [" ".join(chance.choices(words, k=400)) for _ in range(400)]
    documents = [Document(text, "words", str(n), "made") for n, text in enumerate(texts)]
    tokenizer = train_tokenizer(iter(texts), VOCABULARY, str(folder / "tokenizer"))
    write_tokens(iter(documents), tokenizer, str(folder / "tokens"), "train", {})


def compare(name: str, folder: Path, rounds: int, threads: int) -> dict[str, Any]:
    """Every contestant's median seconds a step at one size."""
    model, length, batch, steps, first = SIZES[name]
    recipe = load_recipe(
        "text/demo.yaml",
        [
            f"model={{{model}, vocab_size: {VOCABULARY}}}",
            f"data={{sequence_length: {length}, batch_size: {batch}}}",
            "optimizer={name: adamw, lr: 0.001, clip_norm: 1.0}",
            "schedule={name: constant}",
            *(f"steps={steps}", f"threads={threads}"),
        ],
    )
    found: dict[str, list[dict[str, float]]] = {"plain": [], "trainer": [], "seamount": []}
    for _ in range(rounds):
        for loop in ("plain", "trainer"):
            found[loop].append(theirs(loop, recipe, folder, first))
        found["seamount"].append(ours(recipe, folder, first))
    result: dict[str, Any] = {"parameters": recipe.model.config.parameters}
    for loop, each in found.items():
        result[loop] = {key: statistics.median(one[key] for one in each) for key in each[0]}
    return result


def main() -> None:
    """One line a size and contestant, with ratios of speed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="sizes whose name has this")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        prepare(Path(scratch))
        for name in (n for n in SIZES if given.only in n):
            found = compare(name, Path(scratch), given.rounds, given.threads)
            results[name] = found
            print(f"{name} ({found['parameters']:,} parameters, {given.threads} threads)")
            mine = found["seamount"]
            for loop in ("seamount", "plain", "trainer"):
                one = found[loop]
                print(
                    f"  {loop:<9} {one['wall_s'] * 1e3:8.1f} ms a step, "
                    f"CPU {one['cpu_s'] * 1e3:8.1f} ms; ours is "
                    f"{one['wall_s'] / mine['wall_s']:.3f} as fast by the clock, "
                    f"{one['cpu_s'] / mine['cpu_s']:.3f} by CPU time",
                    flush=True,
                )
    if given.json:
        given.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
