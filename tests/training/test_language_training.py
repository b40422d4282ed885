"""Training for real: killed, stopped, resumed in another layout, and compared.

One undisturbed run is the reference. A second is killed with -9 and goes on to the very same
bytes; a copy of it goes on with two tensor-parallel ranks, is stopped by SIGTERM, and ends on one.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from seamount.core.errors import UserError
from seamount.core.lineage import tree
from seamount.core.records import Document
from seamount.corpora.text.tokenizer import train_tokenizer
from seamount.corpora.text.tokens import write_tokens
from seamount.training.language import TrainRef, TrainRequest, train
from seamount.training.recipe import Recipe, load_recipe

OVERRIDES = (
    "model={preset: tiny, vocab_size: 321, tied: true}",  # two ranks hold unlike shares
    "data.batch_size=4",
    "data.sequence_length=33",
    "optimizer.clip_norm=1.0",
    "steps=100",
    "threads=1",
    "checkpoint.every_steps=10",
    "validation={every_steps: 20, sequences: 5}",
)


@dataclass(frozen=True)
class Data:
    """Folders to train from."""

    tokens: str
    tokenizer: str

    @property
    def overrides(self) -> tuple[str, ...]:
        return (*OVERRIDES, f"data.tokens={self.tokens}", f"data.tokenizer={self.tokenizer}")

    @property
    def recipe(self) -> Recipe:
        return load_recipe("text/demo.yaml", self.overrides)

    def request(self, out: Path, recipe: Recipe | None = None, **options) -> TrainRequest:
        chosen = recipe or self.recipe
        return TrainRequest(chosen, self.tokens, self.tokenizer, str(out), **options)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Data:
    folder = tmp_path_factory.mktemp("data")
    words = random.Random(0).choices(["sea", "mount", "pile", "log", "metre", "\n"], k=40_000)
    texts = [" ".join(words[i : i + 500]) for i in range(0, len(words), 500)]
    tokenizer = train_tokenizer(iter(texts), 320, str(folder / "tokenizer"))
    documents = [Document(text, "words", str(i), "made") for i, text in enumerate(texts)]
    inputs = {"tokenizer": {"path": tokenizer.folder, "digest": tokenizer.digest}}
    for split, part in (("train", documents[4:]), ("val", documents[:4])):
        write_tokens(part, tokenizer, str(folder / "tokens"), split, inputs)
    return Data(str(folder / "tokens"), tokenizer.folder)


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory) -> tuple[TrainRef, dict[int, dict[str, float]]]:
    metrics: dict[int, dict[str, float]] = {}
    out = tmp_path_factory.mktemp("undisturbed")

    def log_metrics(values: dict[str, float], step: int) -> None:
        metrics.setdefault(step, {}).update(values)

    return train(data.request(out, log_metrics=log_metrics)), metrics


@pytest.fixture(scope="module")
def killed(data, tmp_path_factory) -> Path:
    """The output folder of a run that was killed once it had a checkpoint of step 20 or later."""
    out = tmp_path_factory.mktemp("killed")
    caller = start(data, out)
    latest = out / "checkpoints" / "LATEST"
    wait_until(lambda: latest.exists() and latest.read_text() >= "step_00000020")
    caller.kill()
    caller.wait(30)
    wait_until(lambda: not children_of(out))
    assert not (out / "model").exists(), "it ended before it could be killed"
    return out


def start(data: Data, out: Path, *more: str) -> subprocess.Popen[bytes]:
    """`seamount train` in a process of its own."""
    command = [sys.executable, "-m", "seamount.cli.main", "train", "text/demo.yaml"]
    command += [*data.overrides, *more, "--out", str(out)]
    with (out / "log").open("ab") as log:
        return subprocess.Popen(command, stderr=log)


def children_of(out: Path) -> list[str]:
    """Rank processes whose log goes to `out`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
            ours = os.readlink(entry / "fd" / "2") == str(out / "log")
        except OSError:
            continue
        if ours and b"seamount.training.ranks" in command:
            found.append(entry.name)
    return found


def wait_until(condition) -> None:
    deadline_s = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline_s, "waited too long"
        time.sleep(0.02)


def weights(ref: TrainRef) -> dict[str, torch.Tensor]:
    return load_file(Path(ref.model) / "model.safetensors")


def test_training_learns_and_says_so(undisturbed, data):
    ref, metrics = undisturbed
    assert (ref.step, ref.tokens_seen, ref.resumed_from) == (100, 100 * 4 * 33, None)
    assert set(metrics) == set(range(10, 101, 10))
    names = {"loss", "bpb", "learning_rate", "grad_norm", "tokens_per_s", "tokens"}
    assert metrics[10].keys() == {f"train/{n}" for n in names}
    assert metrics[10]["train/loss"] > metrics[100]["train/loss"] > 0
    assert metrics[100]["val/bpb"] < metrics[20]["val/bpb"] < 8
    assert sorted(p.name for p in Path(ref.checkpoint).parent.iterdir()) == [
        "LATEST",
        "step_00000090",
        "step_00000100",
    ]


def test_the_model_folder_is_hugging_faces_and_knows_its_origin(undisturbed, data):
    from models.language import convert

    ref, _ = undisturbed
    model = convert.load_folder(ref.model)
    assert model.config.tied and model.config.vocab_size == 321
    assert (Path(ref.model) / "tokenizer.json").is_file()
    found = tree(ref.model)
    assert found["kind"] == "model" and found["digest"] == ref.weights
    assert found["inputs"]["checkpoint"]["inputs"]["tokens"]["state"] == "ok"


def test_after_kill_9_it_ends_in_the_same_bytes(undisturbed, killed, data, tmp_path):
    out = tmp_path / "resumed"
    shutil.copytree(killed, out)
    (out / "checkpoints" / ".saving-left").mkdir()
    ref = train(data.request(out))
    wanted, _ = undisturbed
    assert ref.resumed_from is not None and ref.resumed_from >= 20
    assert ref.weights == wanted.weights
    assert ref.final_loss == wanted.final_loss
    digests = [
        json.loads((Path(r.checkpoint) / "manifest.json").read_text()) for r in (ref, wanted)
    ]
    assert digests[0]["identity"] == digests[1]["identity"]


RAMP = ("data.batch_size=2", "data.batch_schedule=[[15, 4], [30, 8]]", "steps=40")


def test_a_ramp_killed_in_its_middle_ends_in_the_same_bytes(data, tmp_path):
    recipe = load_recipe("text/demo.yaml", [*data.overrides, *RAMP])
    wanted = train(data.request(tmp_path / "whole", recipe))
    assert wanted.tokens_seen == (15 * 2 + 15 * 4 + 10 * 8) * 33
    out = tmp_path / "killed"
    out.mkdir()
    caller = start(data, out, *RAMP)
    latest = out / "checkpoints" / "LATEST"
    wait_until(lambda: latest.exists() and latest.read_text() >= "step_00000020")
    caller.kill()
    caller.wait(30)
    wait_until(lambda: not children_of(out))
    ref = train(data.request(out, recipe))
    assert ref.resumed_from in (20, 30)
    assert (ref.weights, ref.final_loss) == (wanted.weights, wanted.final_loss)


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1])
def test_a_ramp_over_stages_and_data_ranks_is_that_of_one_process(data, tmp_path, size):
    options = [*data.overrides, *RAMP, f"data.micro_batch_size={size}"]
    layout = "parallel={pipeline: 2, data: 2}"
    alone, together = (
        train(data.request(tmp_path / name, load_recipe("text/demo.yaml", [*options, *more])))
        for name, more in (("alone", []), ("together", [layout]))
    )
    assert together.final_loss == pytest.approx(alone.final_loss, abs=1e-4)
    for name, tensor in weights(alone).items():
        torch.testing.assert_close(weights(together)[name], tensor, rtol=0, atol=2e-3)


def test_auto_tells_its_choice(data, tmp_path, caplog):
    chosen = ["recompute={mode: auto, budget_bytes: 300_000}", "data.micro_batch_size=auto"]
    recipe = load_recipe("text/demo.yaml", [*data.overrides, *chosen, "steps=2"])
    with caplog.at_level("INFO", logger="seamount"):
        train(data.request(tmp_path, recipe))
    assert "pipeline rank 0: micro-batches of 1, layers 2 none; activations 0.2" in caplog.text


RESHARDED = {
    "tensor": "parallel.tensor=2",
    "stages": "parallel.pipeline=2",
    "data": "parallel={data: 2, shard_optimizer: true}",
    "all": "parallel={pipeline: 2, data: 2, tensor: 2, shard_optimizer: true}",
}


@pytest.mark.parametrize(
    "layout", ["tensor", *(pytest.param(n, marks=pytest.mark.slow) for n in list(RESHARDED)[1:])]
)
def test_ranks_stop_on_sigterm_and_one_goes_on(undisturbed, killed, data, tmp_path, layout):
    """A checkpoint of one rank goes on in the layout, whose checkpoint goes on in one rank."""
    out = tmp_path / "stopped"
    shutil.copytree(killed, out)
    before = (out / "checkpoints" / "LATEST").read_text()
    caller = start(data, out, RESHARDED[layout])
    # the first save of this start shows that it is under way
    wait_until(lambda: (out / "checkpoints" / "LATEST").read_text() > before)
    caller.send_signal(signal.SIGTERM)
    assert caller.wait(120) == 75, (out / "log").read_text()
    assert "stopped by request at step" in (out / "log").read_text()
    wait_until(lambda: not children_of(out))
    ref = train(data.request(out))
    assert 0 < ref.resumed_from < 100
    wanted, _ = undisturbed
    assert ref.final_loss == pytest.approx(wanted.final_loss, abs=1e-4)
    for name, tensor in weights(wanted).items():
        torch.testing.assert_close(weights(ref)[name], tensor, rtol=0, atol=2e-3)


def test_a_finished_run_is_not_trained_again(undisturbed, data):
    ref, _ = undisturbed
    out = Path(ref.model).parent
    start_s = time.monotonic()
    again = train(data.request(out))
    assert time.monotonic() - start_s < 5
    assert (again.resumed_from, again.weights) == (100, ref.weights)
    assert again.final_loss == ref.final_loss


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optimizer.lr=0.5", "optimizer.lr was 0.02 and is 0.5"),
        ("model.layers=1", "model.layers was 2 and is 1"),
        ("steps=200", "steps was 100 and is 200"),
    ],
)
def test_another_recipe_does_not_continue_it(undisturbed, data, override, message):
    ref, _ = undisturbed
    recipe = load_recipe("text/demo.yaml", [*data.overrides, override])
    with pytest.raises(UserError, match=message) as caught:
        train(data.request(Path(ref.model).parent, recipe))
    assert "--restart" in str(caught.value)


def test_a_small_vocabulary_is_refused(data, tmp_path):
    recipe = load_recipe("text/demo.yaml", [*data.overrides, "model.vocab_size=257"])
    with pytest.raises(UserError, match=r"model.vocab_size 257 is below the \d+ ids"):
        train(data.request(tmp_path, recipe))
