"""What a model is judged on: documents, how their components weigh, what a program made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.core.records import Document, Quarantined
from seamount.evaluation.bpb import Weights


@dataclass(frozen=True)
class HeldOut:
    """Evaluation documents (a fresh iterator a call), the train split if there is one, weights.

    `weights` None leaves the choice to `bpb` (the Pile's if all names are its own, else bytes).
    """

    documents: Callable[[], Iterator[Document]]
    train: Callable[[], Iterator[Document]] | None
    weights: Weights | None
    generated: tuple[str, ...]


def held_out(url: str, split: str = "test") -> HeldOut:
    """The `split` of a corpus folder, or every document of files (*.jsonl.zst, ...) at `url`.

    A corpus is weighted by its catalog where that set the mixture.
    """
    from seamount.corpora.text.split import read_split

    if not storage.exists(storage.join(url, "manifest.json")):
        return HeldOut(partial(_read_files, url), None, None, ())
    catalog = _catalog(url)
    components: Mapping[str, Any] = catalog.get("components") or {}
    given = {n: c["weight"] for n, c in components.items() if c.get("weight") is not None}
    natural = catalog.get("mixture") == "natural" or not given
    return HeldOut(
        documents=partial(read_split, url, split),
        train=partial(read_split, url, "train"),
        weights=None if natural else Weights("catalog", given),
        generated=tuple(sorted(n for n, c in components.items() if c.get("generated"))),
    )


def _catalog(url: str) -> Mapping[str, Any]:
    from seamount.corpora.text.manifest import load_manifest

    return load_manifest(url)["parameters"].get("catalog") or {}


def _read_files(url: str) -> Iterator[Document]:
    from seamount.corpora.text import formats

    for file in formats.list_inputs(url):
        for record in formats.read(file):
            if isinstance(record, Quarantined):
                raise UserError(
                    f"{file} line {record.line} cannot be read ({record.reason}): a score must "
                    "cover every document; see `seamount corpus check`"
                )
            yield record
