"""Variants of the demo recipe at equal wall time or steps, scored on the test split: `make bench`.

Claim: the values in recipes/text/demo.yaml are the best of those tried. Prints one line a variant:
bits per byte (paper protocol), steps, CPU seconds of the training. Peer: zstd -19 by document.

    python benchmarks/demo_recipe.py [STEPS]     (default 150, about 1 minute a variant)
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SEAMOUNT = str(Path(sys.executable).with_name("seamount"))
# Every variant sees the same number of tokens; halving the batch doubles the steps.
VARIANTS: dict[str, tuple[float, list[str]]] = {
    "demo": (1, []),
    "batch of 4": (2, ["data.batch_size=4"]),
    "vocabulary 2048": (1, ["model.vocab_size=2048"]),
    "three layers": (1, ["model.layers=3"]),
    "wide 256": (1, ["model.hidden_size=256", "model.heads=4", "model.intermediate_size=704"]),
    "five Newton-Schulz steps": (1, ["optimizer.newton_schulz_steps=5"]),
    "AdamW": (1, ["optimizer.name=adamw", "optimizer.lr=0.004"]),
    "embedding_lr 0.004": (1, ["optimizer.embedding_lr=0.004"]),
}


def run(*command: str) -> None:
    """Run one command of the project quietly."""
    subprocess.run([SEAMOUNT, *command], check=True, stdout=subprocess.DEVNULL)


def score(model: str, corpus: Path, folder: Path) -> float:
    """Weighted bits per byte of `model` (a folder, or a compressor) on the test split."""
    result = folder / "score.json"
    run("eval", "bpb", model, "--data", str(corpus), "--json", str(result))
    return json.loads(result.read_text())["weighted"]


def main() -> None:
    """Build the corpus once, then train and score each variant."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        corpus = folder / "corpus"
        run("corpus", "build", "--source", "local", "--out", str(corpus))
        print(f"{'zstd -19 by document':<26}{score('zstd', corpus, folder):.3f}")
        for name, (factor, overrides) in VARIANTS.items():
            out = folder / name.replace(" ", "-")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            changes = [f"data.corpus={corpus}", f"steps={int(steps * factor)}", *overrides]
            run("train", "text/demo.yaml", *changes, "--out", str(out))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu_s = after.ru_utime - before.ru_utime
            bpb = score(str(out / "model"), corpus, folder)
            print(
                f"{name:<26}{bpb:.3f}  {int(steps * factor)} steps  {cpu_s:.0f} CPU s", flush=True
            )


if __name__ == "__main__":
    main()
