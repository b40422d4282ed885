"""Audits of a corpus: they report and change nothing."""

from __future__ import annotations

from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from pydantic import BaseModel, ConfigDict, Field

from seamount.core import storage
from seamount.corpora.text.audit import bias, composition, contamination, pictures
from seamount.corpora.text.quality.ngram_index import NGRAM
from seamount.tracking.run import Run
from tasks import publish
from tasks.caching import worth_retrying
from tasks.parameters import Place
from tasks.reference import Artefact, describe
from tasks.tracking import station

_retried: dict[str, Any] = {
    "cache_policy": NO_CACHE,
    "retries": 2,
    "retry_delay_seconds": [2, 10],
    "retry_condition_fn": worth_retrying,
}


class AuditOptions(BaseModel):
    """What an audit reports."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    decades: bool = Field(True, description="Count by decade, which reads the shards.")
    tokens: Place | None = Field(
        None, description="Token folder of the corpus for counts; empty estimates them."
    )
    benchmarks: tuple[Place, ...] = Field(
        (), description="Benchmark files (.jsonl, .json, .txt) that are looked for."
    )
    ngram: int = Field(NGRAM, ge=1, le=100, description="Words in a row that must agree.")
    wordlist: Place | None = Field(None, description="Word list (YAML) for co-occurrence.")


@task(description="Composition by component, kind and decade: table, plot, figures.", **_retried)
def describe_corpus(corpus: str, out: str, options: AuditOptions, run: Run) -> Artefact:
    """The reference to audit.json in `out`."""
    with station(run, "composition", f"composition: {corpus}"):
        result = composition.audit(corpus, decades=options.decades, tokens=options.tokens)
        storage.write_json(storage.join(out, "audit.json"), result)
        pictures.write(result, storage.join(out, "audit.svg"))
        publish.table("corpus-composition", _rows(result), "Every component of the corpus")
        svg = pictures.stacked(pictures.draw(result))
        publish.picture("corpus-composition-plot", svg, "Composition of the corpus")
        effective = {name: part["after"] for name, part in result["effective"].items()}
        run.log_metrics({f"audit/effective_{name}": n for name, n in effective.items()})
    digest = storage.sha256(storage.join(out, "audit.json"))
    counts = {key: result[key] for key in ("documents", "bytes")}
    return describe("audit", out, digest, **counts, tokens=result["tokens"]["total"], **effective)


@task(description="Overlap with benchmarks by word n-grams.", **_retried)
def find_benchmarks(corpus: str, out: str, options: AuditOptions, run: Run) -> str | None:
    """Where the report lies; None where no benchmark was given."""
    if not options.benchmarks:
        return None
    with station(run, "contamination", f"contamination: {len(options.benchmarks)} files"):
        result = contamination.contamination(corpus, options.benchmarks, options.ngram)
        says = f"Documents that share {options.ngram} words in a row with a benchmark"
        rows = [{"component": n, **part} for n, part in result["components"].items()]
        publish.table("corpus-contamination", rows, says)
        run.log_metrics({"audit/contaminated_documents": result["touched"]["documents"]})
        return _written(result, out, "contamination.json")


@task(description="Co-occurrence of the words of a list, by component.", **_retried)
def count_words(corpus: str, out: str, options: AuditOptions, run: Run) -> str | None:
    """Where the report lies; None where no word list was given."""
    if options.wordlist is None:
        return None
    with station(run, "bias", f"bias: {options.wordlist}"):
        result = bias.bias(corpus, bias.read_words(options.wordlist))
        publish.table("corpus-bias", _pairs(result), result["method"])
        return _written(result, out, "bias.json")


def _written(result: dict[str, Any], out: str, name: str) -> str:
    path = storage.join(out, name)
    storage.write_json(path, result)
    return path


def _rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"component": name, **part} for name, part in result["components"].items()]


def _pairs(result: dict[str, Any]) -> list[dict[str, Any]]:
    parts = {"all": result["all"], **result["components"]}
    return [
        {"component": name, "target": target, "group": group, **value}
        for name, part in parts.items()
        for target, groups in part["pairs"].items()
        for group, value in groups.items()
    ]
