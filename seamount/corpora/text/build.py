"""Build a corpus: sources to shards, through stages that can be killed anywhere and rerun.

Each stage is a function of small picklable values (paths and counts, never documents) and leaves
its result below OUT/.work, so each call can as well be a task of a workflow engine:

    plan(request)                                       -> Plan(out, work, rules, inputs, batches)
    clean.clean(batch, rules, work)                     -> Done      once a batch, any order
    deduplicate.dedupe(cleaned, rules, work)            -> Done      once
    mix.mix_and_split(cleaned, deduped, rules, work)    -> Done      once
    shards.scatter(number, cleaned, mixed, rules, work) -> Done      once a batch
    shards.tasks(mixed)                                 -> list[ShardTask]
    shards.gather(task, scattered, mixed, work)         -> Done      once a shard
    finish(plan, cleaned, deduped, mixed, scattered, gathered) -> CorpusRef

`cleaned`, `scattered` and `gathered` are the lists of Done in the order of plan.batches and tasks.
A Done whose call an earlier run had finished has reused=True. find_reusable(plan) gives the corpus
itself where nothing changed; build_corpus(request) does all of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from seamount.core import progress, storage
from seamount.core.errors import CorruptData, UserError
from seamount.corpora import graph
from seamount.corpora.text import inputs as inputs_module
from seamount.corpora.text import manifest
from seamount.corpora.text.alone import alone
from seamount.corpora.text.catalog import Catalog, load_catalog
from seamount.corpora.text.stages import publish, stage

log = logging.getLogger("seamount")
SHARD_BYTES = 32 << 20


@dataclass(frozen=True)
class CorpusRequest:
    """What to build.

    `sources`: URLs of Pile-format jsonl.zst (files, folders), or a catalog with readers (`local`).
    `catalog`: name or path; without one the Pile's rules serve by component name and proportions
    stay natural. `max_bytes` bounds the text of the corpus. `workers`: 0 or 1 for this process,
    more for an embedded cluster, or a Dask `scheduler`'s address. `shard_bytes`: text in a train
    shard, and the memory to write one. `dedupe`: near unless the catalog keeps all as it is.
    """

    sources: tuple[str, ...]
    out: str
    catalog: str | None = None
    seed: int = 0
    workers: int = 0
    scheduler: str | None = None
    val_share: float = 0.01
    test_share: float = 0.02
    shard_bytes: int = SHARD_BYTES
    max_bytes: int | None = None
    dedupe: Literal["near", "exact", "none"] | None = None
    keep_dropped: bool = False
    allow_broken: bool = False


@dataclass(frozen=True)
class CorpusRef:
    """A finished corpus. `bytes` counts text; `shards_read` how many inputs this build opened, and
    `stages` how many calls of each stage were done now and how many an earlier run had finished.
    """

    url: str
    digest: str
    documents: int
    bytes: int
    reused: bool
    shards_read: int = 0
    stages: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """The work of one build, decided before anything is read."""

    out: str
    work: str
    sources: tuple[str, ...]
    rules: stage.Rules
    inputs: tuple[inputs_module.Input, ...]
    batches: tuple[stage.Batch, ...]


def plan(request: CorpusRequest) -> Plan:
    """Check the request, find every input and cut the work into batches."""
    _check(request)
    catalog = _catalog(request)
    manifest.refuse_unfinished_exclusion(request.out)
    publish.refuse_foreign(request.out, request.sources)
    found = inputs_module.expand(request.sources, request.max_bytes)
    rules = stage.Rules(
        catalog=catalog,
        seed=request.seed,
        dedupe=request.dedupe or ("none" if catalog.as_is else "near"),
        val_share=request.val_share,
        test_share=request.test_share,
        shard_bytes=request.shard_bytes,
        total_bytes=request.max_bytes or catalog.total_bytes,
        keep_dropped=request.keep_dropped,
        allow_broken=request.allow_broken,
    )
    out = request.out
    out = str(storage.local_path(out).absolute()) if storage.is_local(out) else out
    work = storage.join(out, stage.WORK)
    groups = tuple(stage.batches(found, rules))
    return Plan(out, work, request.sources, rules, tuple(found), groups)


def _check(request: CorpusRequest) -> None:
    if not request.out.strip() or not all(source.strip() for source in request.sources):
        raise UserError("an empty text is no place: name the output folder and every source")
    for name in ("val_share", "test_share"):
        share = getattr(request, name)
        if not 0 <= share < 0.5:
            raise UserError(f"{name} is {share}: give a share from 0 to below 0.5")
    for name in ("shard_bytes", "max_bytes"):
        size = getattr(request, name)
        if size is not None and size < 1:
            raise UserError(f"{name} is {size}: give a number of bytes above 0")
    if request.seed < 0:
        raise UserError(f"seed is {request.seed}: give a whole number from 0 on")
    if request.dedupe not in ("near", "exact", "none", None):
        raise UserError(f"dedupe is {request.dedupe!r}: one of near, exact, none")


def _catalog(request: CorpusRequest) -> Catalog:
    if request.catalog is not None:
        return load_catalog(request.catalog)
    read = [load_catalog(s) for s in request.sources if inputs_module.is_catalog(s)]
    if len(read) == len(request.sources) == 1:
        return read[0]
    rules = load_catalog("pile")
    components = dict(rules.components)
    for catalog in read:
        components |= catalog.components
    natural = {"mixture": "natural", "unknown_components": "keep", "total_bytes": None}
    return rules.model_copy(update={**natural, "components": components})


def find_reusable(planned: Plan) -> CorpusRef | None:
    """The corpus that stands in `out`, if it is of the same inputs and rules; nothing is read.

    Raises UserError where another build would bring back documents that were excluded from it.
    """
    content = publish.find_reusable(planned.out, planned.inputs, planned.rules)
    if content is None:
        manifest.refuse_to_resurrect(planned.out)
        return None
    storage.remove_tree(planned.work)  # left where a build was killed after its last step
    log.info("corpus unchanged: reused %s, 0 shards read", planned.out)
    return _reference(planned.out, content, reused=True)


def finish(
    planned: Plan,
    cleaned: Sequence[stage.Done],
    deduped: stage.Done,
    mixed: stage.Done,
    scattered: Sequence[stage.Done],
    gathered: Sequence[stage.Done],
) -> CorpusRef:
    """Check the ledger, publish the corpus and remove the work folder."""
    content = publish.publish(
        planned.out,
        planned.inputs,
        planned.sources,
        planned.rules,
        cleaned,
        deduped,
        mixed,
        scattered,
        gathered,
    )
    storage.remove_tree(planned.work)
    for alarm in content["alarms"]:
        log.warning("corpus: %s", alarm)
    read = sum(
        len(batch.inputs)
        for batch, done in zip(planned.batches, cleaned, strict=True)
        if not done.reused
    )
    stages = {
        "clean": stage.count(cleaned),
        "dedupe": stage.count([deduped]),
        "mix": stage.count([mixed]),
        "scatter": stage.count(scattered),
        "gather": stage.count(gathered),
    }
    return _reference(planned.out, content, False, read, stages)


def _reference(
    out: str,
    content: dict[str, Any],
    reused: bool,
    shards_read: int = 0,
    stages: dict[str, dict[str, int]] | None = None,
) -> CorpusRef:
    return CorpusRef(
        url=out,
        digest=content["digest"],
        documents=content["documents"],
        bytes=content["bytes"],
        reused=reused,
        shards_read=shards_read,
        stages=stages or {},
    )


def build_corpus(request: CorpusRequest) -> CorpusRef:
    """Build the corpus, or find that it is built already; a killed build is taken up again."""
    planned = plan(request)
    with held(planned):
        if (reusable := find_reusable(planned)) is not None:
            return reusable
        with _nothing_left_of_nothing(planned):
            return _build(planned, request)


@contextmanager
def held(planned: Plan) -> Iterator[None]:
    """Hold the output against other builds and exclusions; raises UserError where one is there."""
    storage.make_folder(planned.out)
    with alone(planned.out):
        yield


def _build(planned: Plan, request: CorpusRequest) -> CorpusRef:
    from seamount.corpora.text.stages import clean, deduplicate, mix, shards

    rules, work = planned.rules, planned.work
    storage.make_folder(work)
    with graph.cluster(request.workers, request.scheduler) as handle:
        step = partial(_each, handle)
        cleaned = step("clean", partial(clean.clean, rules=rules, work=work), planned.batches)
        deduped = deduplicate.dedupe(cleaned, rules, work)
        mixed = mix.mix_and_split(cleaned, deduped, rules, work)
        scatter = partial(shards.scatter, cleaned=cleaned, mixed=mixed, rules=rules, work=work)
        scattered = step("scatter", scatter, range(len(cleaned)))
        gather = partial(shards.gather, scattered=scattered, mixed=mixed, work=work)
        gathered = step("gather", gather, shards.tasks(mixed))
    return finish(planned, cleaned, deduped, mixed, scattered, gathered)


@contextmanager
def _nothing_left_of_nothing(planned: Plan) -> Iterator[None]:
    """Where a build is refused before any call ended, its work folder has nothing to resume."""
    try:
        yield
    except (UserError, CorruptData):
        if not storage.list_files(planned.work, (stage.RESULT,)):
            storage.remove_tree(planned.work)
        raise


def _each(
    handle: graph.Handle, label: str, function: Callable[[Any], stage.Done], items: Sequence[Any]
) -> list[stage.Done]:
    with progress.bar(f"corpus: {label}", len(items)) as bar:
        return handle.map(function, items, lambda done: bar.advance())
