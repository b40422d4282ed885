"""What the stages of a build share: their parameters, keys, and the marks of finished work.

A stage writes its files under WORK/<stage>/<key>/ and, last of all, result.json. The key is a
digest of all that decides the outcome: a rerun finds what is finished and never mistakes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from seamount import __version__
from seamount.core import storage
from seamount.core.code_version import code_digest
from seamount.corpora.text.catalog import EDITS, FILTERS, Catalog
from seamount.corpora.text.inputs import Input

# Raised whenever the same inputs and parameters would give other bytes.
PIPELINE_VERSION = 3
RESULT = "result.json"
WORK = ".work"
_BATCH_BYTES = (1 << 12, 1 << 26)
_BATCHES_AIM = 16


@dataclass(frozen=True)
class Rules:
    """Every parameter that decides the bytes of the corpus (worker counts and paths do not)."""

    catalog: Catalog
    seed: int
    dedupe: Literal["near", "exact", "none"]
    val_share: float
    test_share: float
    shard_bytes: int
    total_bytes: int | None
    keep_dropped: bool
    allow_broken: bool
    # An edited filter or reader gives another corpus, whatever its name and parameters say.
    code: str = field(default_factory=lambda: code_digest("seamount.corpora.text"))

    @cached_property
    def outside_files(self) -> dict[str, str]:
        """SHA-256 of every file that an edit or a filter loads: a model trained anew counts."""
        if self.catalog.as_is:
            return {}
        from seamount.corpora.text.filters import outside_files

        urls = [
            url
            for component in self.catalog.components.values()
            for package, entries in ((EDITS, component.edits), (FILTERS, component.filters))
            for url in outside_files(package, entries)
        ]
        return {url: storage.sha256(url) for url in sorted(set(urls))}

    def as_dict(self) -> dict[str, Any]:
        """Plain values for keys and the manifest."""
        return {
            **{k: v for k, v in vars(self).items() if k != "catalog"},
            "outside_files": self.outside_files,
            "catalog": self.catalog.model_dump(mode="json"),
            "code_version": __version__,
            "pipeline_version": PIPELINE_VERSION,
        }


@dataclass(frozen=True)
class Batch:
    """Inputs that one call of `clean` and one of `scatter` handle, of `total` in the build."""

    key: str
    inputs: tuple[Input, ...]
    total: int


@dataclass(frozen=True)
class Done:
    """One finished call: the folder with its result, and whether an earlier run had finished it."""

    folder: str
    documents: int
    bytes: int
    reused: bool


def batches(inputs: Sequence[Input], rules: Rules) -> list[Batch]:
    """Inputs in their order, cut into batches of similar size whatever the number of workers."""
    total = sum(i.size_bytes for i in inputs)
    least, most = _BATCH_BYTES
    aim = max(least, min(most, total // _BATCHES_AIM))
    groups: list[list[Input]] = []
    room = 0
    for one in inputs:
        if room <= 0:
            groups.append([])
            room = aim
        groups[-1].append(one)
        room -= one.size_bytes
    return [Batch(_key(rules, group), tuple(group), len(inputs)) for group in groups]


def _key(rules: Rules, inputs: list[Input]) -> str:
    marks = [[i.name, i.location, i.fingerprint] for i in inputs]
    return storage.digest_of([rules.as_dict(), marks])[:24]


def combined_key(*parts: Any) -> str:
    """Key of work that builds on other work."""
    return storage.digest_of(parts)[:24]


def run(folder: str, work: Callable[[str], dict[str, Any]]) -> Done:
    """Do `work` (it fills `folder` and returns its result), unless it is finished already.

    The result has at least `documents` and `bytes`.
    """
    mark = storage.join(folder, RESULT)
    reused = storage.exists(mark)
    if reused:
        result = storage.read_json(mark)
    else:
        result = work(folder)
        storage.write_json(mark, result)
    return Done(folder, result["documents"], result["bytes"], reused)


def result_of(done: Done | str) -> dict[str, Any]:
    """What a finished call left in its result.json."""
    folder = done if isinstance(done, str) else done.folder
    return storage.read_json(storage.join(folder, RESULT))


def count(done: Iterable[Done]) -> dict[str, int]:
    """How many calls were done now and how many an earlier run had finished."""
    reused = [d.reused for d in done]
    return {"done": len(reused) - sum(reused), "reused": sum(reused)}
