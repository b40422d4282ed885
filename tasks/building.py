"""Sources and corpus: the first two stations."""

from __future__ import annotations

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE
from pydantic import BaseModel

from seamount.core import settings, storage
from seamount.core.wording import counted
from seamount.corpora.text import build, manifest
from seamount.corpora.text.stages import shards
from seamount.tracking.run import Run
from tasks import corpus_stages as stages
from tasks import publish
from tasks.caching import worth_retrying
from tasks.parameters import CorpusOptions
from tasks.reference import Artefact, describe
from tasks.tracking import station


class Sources(BaseModel):
    """What a corpus is made from: names for people, and a digest of every input's fingerprint."""

    urls: tuple[str, ...]
    inputs: int
    size_bytes: int
    digest: str
    finished: bool = False


@task(
    description="Find every input of the sources and take its fingerprint; nothing is read.",
    cache_policy=NO_CACHE,
    retries=2,
    retry_delay_seconds=[1, 5],
    retry_condition_fn=worth_retrying,
)
def find_sources(sources: list[str], out: str, options: CorpusOptions, run: Run) -> Sources:
    """The inputs of a build; a folder that is a finished corpus stands for itself."""
    with station(run, "sources", f"sources: {', '.join(sources)}"):
        if len(sources) == 1 and manifest.is_corpus(sources[0]):
            content = manifest.load_manifest(sources[0])
            digest, size = content["digest"], content["bytes"]
            found = [(s["path"], s["size_bytes"]) for s in content["shards"]]
            finished = True
        else:
            planned = build.plan(_request(sources, out, options))
            digest = storage.digest_of([[i.name, i.fingerprint] for i in planned.inputs])
            size = sum(i.size_bytes for i in planned.inputs)
            found = [(i.name, i.size_bytes) for i in planned.inputs]
            finished = False
        rows = [{"input": name, "bytes": size_bytes} for name, size_bytes in found]
        publish.table(
            "corpus-sources", rows[:500], f"{counted(len(rows), 'input')}, {size:,} bytes"
        )
    return Sources(
        urls=tuple(sources), inputs=len(rows), size_bytes=size, digest=digest, finished=finished
    )


def build_corpus(sources: Sources, out: str, options: CorpusOptions, run: Run) -> Artefact:
    """The corpus in `out`, made by tasks over batches of shards on a Dask cluster closed after.

    A finished corpus that was given stands for itself; one in `out` that is of the same inputs,
    rules and code is reused, and no shard is read.
    """
    if sources.finished:
        return report_corpus(sources.urls[0], "given as it is", run)
    planned = build.plan(_request(list(sources.urls), out, options))
    with build.held(planned):
        if build.find_reusable(planned) is not None:
            return report_corpus(out, "unchanged, reused from an earlier run (0 shards read)", run)
        with station(run, "corpus", f"corpus: into {out}"):
            built = _stages(planned, options)
    return report_corpus(built.url, f"{counted(built.shards_read, 'input')} read", run)


def _stages(planned: build.Plan, options: CorpusOptions) -> build.CorpusRef:
    storage.make_folder(planned.work)
    with stages.open_cluster(options) as address:
        cleaned = [
            done
            for group in stages.in_groups(planned.batches)
            for done in stages.clean_shards(planned, group, address)
        ]
        deduped = stages.remove_copies(planned, cleaned)
        mixed = stages.mix_and_split(planned, cleaned, deduped)
        scattered = [
            done
            for group in stages.in_groups(range(len(cleaned)))
            for done in stages.scatter_shards(planned, group, cleaned, mixed, address)
        ]
        gathered = [
            done
            for group in stages.in_groups(shards.tasks(mixed))
            for done in stages.gather_shards(planned, group, scattered, mixed, address)
        ]
    return stages.publish_corpus(planned, cleaned, deduped, mixed, scattered, gathered)


@task(description="Show the corpus: ledger, mixture, counts.", cache_policy=NO_CACHE)
def report_corpus(url: str, says: str, run: Run) -> Artefact:
    """The reference to the corpus at `url`."""
    get_run_logger().info(f"corpus: {says}")
    content = manifest.load_manifest(url)
    publish.table("corpus-ledger", _ledger(content), "Every input document, kept or dropped")
    publish.table("pile-mixture", _mixture(content), "Documents and bytes by component")
    run.log_metrics({f"corpus/{key}": content[key] for key in ("documents", "bytes")})
    return describe(
        "corpus",
        url,
        content["digest"],
        documents=content["documents"],
        bytes=content["bytes"],
        splits=content["splits"],
    )


def _request(sources: list[str], out: str, options: CorpusOptions) -> build.CorpusRequest:
    given = options.model_dump()
    given["scheduler"] = given["scheduler"] or settings.dask_scheduler()
    return build.CorpusRequest(sources=tuple(sources), out=out, **given)


def _ledger(content: dict) -> list[dict]:
    return [
        {
            "input": row["input"],
            "documents in": row["in"]["documents"],
            "kept": row["kept"]["documents"],
            "kept bytes": row["kept"]["bytes"],
            "dropped": _counts(row["dropped"]),
            "copies": _counts(row["duplicates"]),
            "quarantined": row["quarantined"]["documents"],
            "error": row["error"] or "",
        }
        for row in [*content["ledger"]["inputs"], content["ledger"]["total"]]
    ]


def _counts(reasons: dict) -> str:
    return ", ".join(f"{why}: {n['documents']}" for why, n in sorted(reasons.items()))


def _mixture(content: dict) -> list[dict]:
    total = max(1, content["bytes"])
    return [
        {"component": name, **part, "share": part["bytes"] / total}
        for name, part in sorted(content["components"].items())
    ]
