"""The stages of a corpus as tasks over batches of shards; each finds what an earlier run finished.

Work fans out over the Dask cluster at `address` (None: this process). What a finished stage left
in the work folder is found again by content (inputs, rules, code), so Prefect's cache is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE

from seamount.core import progress, settings
from seamount.corpora import graph
from seamount.corpora.text import build
from seamount.corpora.text.stages import clean, deduplicate, mix, shards, stage
from tasks.caching import worth_retrying
from tasks.parameters import CorpusOptions

# Tasks a stage is cut into at the most: each is worth its half second in Prefect's books.
_TASKS_A_STAGE = 4
_retried: dict[str, Any] = {
    "cache_policy": NO_CACHE,
    "retries": 2,
    "retry_delay_seconds": [2, 10],
    "retry_condition_fn": worth_retrying,
}


@contextmanager
def open_cluster(options: CorpusOptions) -> Iterator[str | None]:
    """Address of a cluster that is closed at the end, so that training finds free cores."""
    scheduler = options.scheduler or settings.dask_scheduler()
    with graph.cluster(options.workers, scheduler) as handle:
        yield handle.address


def in_groups(items: Sequence[Any]) -> list[Sequence[Any]]:
    """`items` in their order, in as many groups as there are tasks for them."""
    size = max(1, -(-len(items) // _TASKS_A_STAGE))
    return [items[i : i + size] for i in range(0, len(items), size)]


@task(description="Read, normalise, filter and fingerprint a batch of shards.", **_retried)
def clean_shards(
    planned: build.Plan, batches: Sequence[stage.Batch], address: str | None
) -> list[stage.Done]:
    """One Done a batch, in their order."""
    work = partial(clean.clean, rules=planned.rules, work=planned.work)
    return _fan_out("cleaned", work, batches, address)


@task(description="Find exact and near copies over all shards, and who survives.", **_retried)
def remove_copies(planned: build.Plan, cleaned: list[stage.Done]) -> stage.Done:
    """The table of survivors."""
    return deduplicate.dedupe(cleaned, planned.rules, planned.work)


@task(description="Decide mixture, split and place of every document.", **_retried)
def mix_and_split(
    planned: build.Plan, cleaned: list[stage.Done], deduped: stage.Done
) -> stage.Done:
    """Where each document goes."""
    return mix.mix_and_split(cleaned, deduped, planned.rules, planned.work)


@task(description="Sort a batch of shards by target shard.", **_retried)
def scatter_shards(
    planned: build.Plan,
    numbers: Sequence[int],
    cleaned: list[stage.Done],
    mixed: stage.Done,
    address: str | None,
) -> list[stage.Done]:
    """One Done a batch, in their order."""
    work = partial(
        shards.scatter, cleaned=cleaned, mixed=mixed, rules=planned.rules, work=planned.work
    )
    return _fan_out("scattered", work, numbers, address)


@task(description="Gather a batch of the corpus' own shards.", **_retried)
def gather_shards(
    planned: build.Plan,
    wanted: Sequence[shards.ShardTask],
    scattered: list[stage.Done],
    mixed: stage.Done,
    address: str | None,
) -> list[stage.Done]:
    """One Done a shard, in their order."""
    work = partial(shards.gather, scattered=scattered, mixed=mixed, work=planned.work)
    return _fan_out("written", work, wanted, address)


@task(description="Check the ledger and publish the corpus under its final name.", **_retried)
def publish_corpus(planned: build.Plan, *done: Any) -> build.CorpusRef:
    """The finished corpus."""
    return build.finish(planned, *done)


def _fan_out(says: str, work: Any, items: Sequence[Any], address: str | None) -> list[stage.Done]:
    label = f"corpus: {says}"
    with graph.cluster(scheduler=address) as handle, progress.bar(label, len(items)) as bar:
        done = handle.map(work, items, lambda _: bar.advance())
    found = stage.count(done)
    count = f"{len(done)} {'batch' if len(done) == 1 else 'batches'}"
    reused = f", {found['reused']} reused from an earlier run" if found["reused"] else ""
    get_run_logger().info(f"{says} {count}{reused}")
    return done
