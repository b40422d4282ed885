"""Which documents a training step saw: the order of data is a function of seed and step.

Step N (from 1, as the metrics count) is the N-th update; its batch are the sequences number
(N - 1) x B to N x B - 1 of the run, where B stays one. Shapes: B = batch size, T = sequence length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seamount.core import lineage, storage
from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text.packing import PackedSequences
from seamount.corpora.text.tokens import TokenFile
from seamount.training import checkpoint
from seamount.training.batch_sizes import BatchSizes


@dataclass(frozen=True)
class Order:
    """What fixes the order of data: batch size B, its changes, sequence length T, seed, steps."""

    batch_size: int
    sequence_length: int
    seed: int
    steps: int
    changes: tuple[tuple[int, int], ...] = ()

    @property
    def sizes(self) -> BatchSizes:
        """Sequences of each update."""
        return BatchSizes(self.batch_size, self.changes)


def order_of_recipe(recipe: Any) -> Order:
    """The order that a training by `recipe` (a Recipe) has."""
    data = recipe.data
    return Order(
        data.batch_size, data.sequence_length, recipe.seed, recipe.steps, data.batch_schedule
    )


def order_of_checkpoint(folder: str, tokens: str | None) -> tuple[Order, str]:
    """The order of the training that left the checkpoint in `folder`, and its token folder.

    `folder` may be one checkpoint or a folder of them (the newest counts). `tokens` overrides where
    the tokens lie now. Raises UserError where they are not those that it was trained on.
    """
    manifest = _manifest(folder)
    recipe, wanted = manifest["recipe"], manifest["inputs"]["tokens"]
    where = tokens or wanted["path"]
    if lineage.read(where).digest != wanted["digest"]:
        raise UserError(
            f"the tokens in {where} are not those that {folder} was trained on (another digest): "
            "give their folder with --tokens"
        )
    data = recipe["data"]
    changes = tuple((step, size) for step, size in data.get("batch_schedule", ()))
    steps = manifest["step"]
    order = Order(data["batch_size"], data["sequence_length"], recipe["seed"], steps, changes)
    return order, where


def _manifest(folder: str) -> dict[str, Any]:
    root = storage.local_path(folder)
    for name in ("", "checkpoints"):
        pointer = root / name / checkpoint.LATEST
        if pointer.is_file():
            root = root / name / pointer.read_text().strip()
            break
    url = root / checkpoint.MANIFEST
    content = storage.read_json(str(url)) if url.is_file() else None
    if not isinstance(content, dict) or "recipe" not in content or "inputs" not in content:
        raise UserError(f"{folder} is no checkpoint: give a folder with {checkpoint.MANIFEST}")
    return content


def documents_of_step(tokens: str, step: int, order: Order) -> dict[str, Any]:
    """The documents in the batch of update `step`.

    Result: step, epoch of its first sequence, sequences [{number, start, end, documents [{id,
    component, first, tokens}]}] where tokens[start:end] of the file are the T + 1 ids (the first
    only a context), `first` the place in the document from which on `tokens` of its ids (its
    opening token counts) were read; documents [{id, component, tokens}] the same in sum, the
    largest first. Raises UserError for a step that the training does not have.
    """
    if not 1 <= step <= order.steps:
        raise UserError(f"step is {step}: this training has the steps 1 to {order.steps}")
    file = TokenFile(tokens, "train")
    packed = PackedSequences(file, order.sequence_length, order.seed)
    first, after = order.sizes.before(step - 1), order.sizes.before(step)
    sequences = [_sequence(packed, number) for number in range(first, after)]
    return {
        "step": step,
        "epoch": first // len(packed),
        "tokens": tokens,
        "corpus": dict(file.info["inputs"].get("corpus", {})),
        "sequences": sequences,
        "documents": _in_sum(sequences),
    }


def steps_of(tokens: str, names: set[str], order: Order) -> dict[str, list[int]]:
    """In which steps of a training each of the documents `names` was in the batch, if in any.

    A document counts from its first id in a sequence on, be it as context alone. Costs a few
    hashes a sequence of the documents and epoch, whatever the length of the training.
    """
    file = TokenFile(tokens, "train")
    packed = PackedSequences(file, order.sequence_length, order.seed)
    epochs = -(-order.sizes.before(order.steps) // len(packed))
    found = {}
    for place, name in enumerate(file.document_ids):
        if name not in names:
            continue
        start, end = int(file.starts[place]), int(file.starts[place + 1])
        first, last = (
            max(0, (start - 1) // packed.sequence_length),
            (end - 1) // (packed.sequence_length),
        )
        steps = {
            order.sizes.step_of(packed.number_of(sequence, epoch)) + 1
            for sequence in range(first, min(last, len(packed) - 1) + 1)
            for epoch in range(epochs)
        }
        if seen := sorted(step for step in steps if step <= order.steps):
            found[name] = seen
    return found


def judge_checkpoint(folder: str, tokens: str | None, removed: set[str]) -> tuple[str, str] | None:
    """Whether the checkpoint in `folder` had come to one of the `removed` documents: ("saw" or
    "clean", why); None where it does not tell its data.
    """
    try:
        order, where = order_of_checkpoint(folder, tokens)
        seen = steps_of(where, removed, order)
    except (UserError, CorruptData, KeyError, TypeError):
        return None
    if not seen:
        return "clean", f"its {order.steps} steps came to none of them"
    first = min(steps[0] for steps in seen.values())
    return "saw", f"{len(seen):,} of them in its {order.steps} steps, the first in step {first}"


def _sequence(packed: PackedSequences, number: int) -> dict[str, Any]:
    import numpy as np

    file = packed.file
    _, places = packed[number]
    start = packed.start_of(number)
    documents, counts = np.unique(places, return_counts=True)
    return {
        "number": number,
        "start": start,
        "end": start + len(places),
        "documents": [
            {
                "id": file.document_ids[document],
                "component": file.components[document],
                "first": max(0, start - int(file.starts[document])),
                "tokens": int(count),
            }
            for document, count in zip(documents.tolist(), counts.tolist(), strict=True)
        ],
    }


def _in_sum(sequences: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], int] = {}
    for sequence in sequences:
        for one in sequence["documents"]:
            key = (one["id"], one["component"])
            found[key] = found.get(key, 0) + one["tokens"]
    ordered = sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))
    return [{"id": i, "component": c, "tokens": tokens} for (i, c), tokens in ordered]
