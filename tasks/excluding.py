"""Documents taken out of a corpus, by a call that may be repeated at any time."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE
from pydantic import BaseModel, ConfigDict, Field

from seamount.core import storage
from seamount.core.wording import counted
from seamount.corpora.text.takedown import exclude as takedown
from seamount.corpora.text.takedown.rule import Rule
from seamount.corpora.text.takedown.witnesses import witnesses_of_exclusion
from seamount.tracking.run import Run
from seamount.training.trace import judge_checkpoint
from tasks import publish
from tasks.caching import worth_retrying
from tasks.reference import Artefact, describe
from tasks.tracking import station

_REPORT = "exclusion.json"
_settings: dict[str, Any] = {
    "cache_policy": NO_CACHE,  # what is gone already is found by the corpus itself
    "retries": 2,
    "retry_delay_seconds": [2, 10],
    "retry_condition_fn": worth_retrying,
}


class Choice(BaseModel):
    """What is excluded; exactly one of the three."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    components: tuple[str, ...] = Field((), description="Whole components, by name.")
    ids: tuple[str, ...] = Field((), description="Documents by id.")
    match: str | None = Field(
        None, min_length=1, description="All whose text this regular expression is found in."
    )


@task(description="Rewrite the touched shards; look for what was made before.", **_settings)
def exclude(
    corpus: str, choice: Choice, out: str, look: list[str], dry_run: bool, run: Run
) -> Artefact:
    """The reference to exclusion.json in `out`: what went (or would go) and who saw it."""
    with station(run, "exclude", f"exclude: from {corpus}"):
        rule = Rule(choice.components, choice.ids, choice.match)
        done = takedown.exclude(corpus, rule, dry_run)
        went = (done.url, done.exclusion, done.removed_ids)
        seen = witnesses_of_exclusion(*went, look, judge_checkpoint)
        counts = {key: (done.exclusion or {}).get(key, 0) for key in ("documents", "bytes")}
        get_run_logger().info(f"{counted(counts['documents'], 'document')}, dry run: {dry_run}")
        told = {"corpus": corpus, "corpus_digest": done.digest, "dry_run": dry_run, **counts}
        report = {**told, "exclusion": done.exclusion, "copies": done.copies}
        report["witnesses"] = [asdict(one) for one in seen]
        path = storage.join(out, _REPORT)
        storage.write_json(path, report)
    return describe("exclusion", out, storage.sha256(path), **told, witnesses=len(seen))


@task(description="Show the new shares, and what was made from the corpus before.", **_settings)
def report_exclusion(done: Artefact, run: Run) -> Artefact:
    """`done`, after its tables were published."""
    report = storage.read_json(storage.join(done.path, _REPORT))
    mixture = (report["exclusion"] or {}).get("mixture", {})
    publish.table("exclusion-mixture", _shares(mixture), "Shares before and after")
    rows = [{k: v for k, v in one.items() if k != "tokens"} for one in report["witnesses"]]
    publish.table("exclusion-witnesses", rows, "What was made from the corpus before")
    run.log_metrics({f"exclusion/{key}": report[key] for key in ("documents", "bytes")})
    return done


def _shares(mixture: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "component": name,
            "share before": part["share"][0],
            "share after": part["share"][1],
            "weight before": part["weight"][0],
            "weight after": part["weight"][1],
        }
        for name, part in mixture.items()
    ]
