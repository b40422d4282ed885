"""Train, val and test: cut by groups of near copies, each component in every split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import jsonl_zst, manifest

SPLITS = ("train", "val", "test")
# A held-out split needs one document of a component that has at least so many (the test split is
# served first and leaves one for val, and training keeps one).
_LEAST_DOCUMENTS = {"test": 2, "val": 3}
_LEFT_OVER = {"test": 2, "val": 1}
# The first document held out is no larger than this share of its component, if one is that small.
_FIRST_SHARE = 0.1


@dataclass
class _Group:
    """Near copies of one another, which stay together."""

    documents: int = 0
    sizes: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    split: str = "train"


def assign(
    components: Sequence[str],
    sizes: Sequence[int],
    groups: Sequence[int],
    order: Sequence[int],
    budgets: dict[str, float],
    shares: dict[str, float],
) -> list[str]:
    """The split of each document.

    `groups` numbers the groups of near copies; `order` lists the documents in the order in which
    they are asked; `budgets` is what each component will have in all (bytes) and `shares` the part
    of it that "val" and "test" get. Every component with two documents or more has one in test,
    with three or more one in val too, unless they are all copies of one another.
    """
    found: dict[int, _Group] = defaultdict(_Group)
    by_component: dict[str, dict[int, None]] = defaultdict(dict)
    for index in order:
        group = found[groups[index]]
        group.documents += 1
        group.sizes[components[index]] += sizes[index]
        group.counts[components[index]] += 1
        by_component[components[index]][groups[index]] = None
    for split in ("test", "val"):
        for component in sorted(by_component):
            members = [found[g] for g in by_component[component]]
            _hold_out(split, component, members, shares[split] * budgets[component])
    return [found[g].split for g in groups]


def _hold_out(split: str, component: str, members: list[_Group], aim: float) -> None:
    if aim <= 0:
        return
    taken = sum(g.sizes[component] for g in members if g.split == split)
    left = sum(g.counts[component] for g in members if g.split == "train")
    if taken == 0 and sum(g.counts[component] for g in members) >= _LEAST_DOCUMENTS[split]:
        first = _first(component, members, aim, left)
        if first is not None:
            first.split = split
            taken, left = first.sizes[component], left - first.counts[component]
    for group in members:
        if group.split != "train" or taken + group.sizes[component] > aim:
            continue
        if left - group.counts[component] >= _LEFT_OVER[split]:
            group.split = split
            taken += group.sizes[component]
            left -= group.counts[component]


def _first(component: str, members: list[_Group], aim: float, left: int) -> _Group | None:
    possible = [g for g in members if g.split == "train" and g.counts[component] < left]
    if not possible:
        return None
    most = max(aim, _FIRST_SHARE * sum(g.sizes[component] for g in members))
    small = (g for g in possible if g.sizes[component] <= most)
    return next(small, min(possible, key=lambda g: g.sizes[component]))


def read_split(corpus_url: str, split: str) -> Iterator[Document]:
    """Documents of one split of a built corpus, in order.

    Raises UserError for an unknown split and CorruptData where a shard is not as it was written.
    """
    if split not in SPLITS:
        raise UserError(f"unknown split {split!r}: one of {', '.join(SPLITS)}")
    for shard in manifest.load_manifest(corpus_url)["shards"]:
        if shard["split"] != split:
            continue
        url = storage.join(corpus_url, shard["path"])
        for record in jsonl_zst.read_documents(url):
            if isinstance(record, Quarantined):
                raise manifest.changed(url, f"line {record.line}: {record.reason}")
            yield record
