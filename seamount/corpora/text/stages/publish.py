"""Stage 6: the finished shards get their final names, the manifest last of all."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

import pyarrow.parquet as pq

from seamount import __version__
from seamount.core import lineage, storage
from seamount.core.errors import CorruptData, SeamountError, UserError
from seamount.corpora.text import document_index, ledger, manifest
from seamount.corpora.text.inputs import Input, content_digest, is_catalog, reader_of
from seamount.corpora.text.stages import clean, deduplicate, shards, stage
from seamount.corpora.text.stages.replaced import difference

log = logging.getLogger("seamount")
QUARANTINE, DROPPED, EDITED = "quarantine.json", "dropped", "edited"
_STALE = "stale.json"
_MOST_DAMAGED = 20


def publish(
    out: str,
    inputs: Sequence[Input],
    sources: tuple[str, ...],
    rules: stage.Rules,
    cleaned: Sequence[stage.Done],
    deduped: stage.Done,
    mixed: stage.Done,
    scattered: Sequence[stage.Done],
    gathered: Sequence[stage.Done],
) -> dict[str, Any]:
    """Move everything to its final name below `out` and return the manifest.

    Killed at any point, a second call finishes the job; until the manifest stands, `out` holds no
    corpus. The ledger and the shards are checked against one another before anything moves.
    """
    content = _manifest(inputs, sources, rules, cleaned, deduped, mixed, gathered)
    _check(content)
    work = storage.join(out, stage.WORK)
    _retire_old(out, work, content)
    for done, shard in zip(gathered, content["shards"], strict=True):
        _move_shard(done.folder, out, shard)
    _remove_stale(out, work, {shard["path"] for shard in content["shards"]})
    _publish_documents(out, gathered)
    _publish_duplicates(out, deduped)
    _publish_dropped(out, cleaned, scattered, rules.keep_dropped)
    _publish_quarantine(out, cleaned)
    parts = storage.join(work, "publish")
    lineage.write(parts, _lineage(sources, content))
    storage.move(storage.join(parts, lineage.FILE_NAME), storage.join(out, lineage.FILE_NAME))
    storage.write_json(storage.join(parts, manifest.FILE_NAME), content)
    storage.move(storage.join(parts, manifest.FILE_NAME), storage.join(out, manifest.FILE_NAME))
    return content


def _manifest(
    inputs: Sequence[Input],
    sources: tuple[str, ...],
    rules: stage.Rules,
    cleaned: Sequence[stage.Done],
    deduped: stage.Done,
    mixed: stage.Done,
    gathered: Sequence[stage.Done],
) -> dict[str, Any]:
    result = stage.result_of(mixed)
    rows = [ledger.row_from_dict(r) for r in result["ledger"]]
    digests = {row.input: row.sha256 for row in rows}
    finished = [stage.result_of(done) for done in gathered]
    return {
        "format": manifest.FORMAT,
        "version": manifest.VERSION,
        "code_version": __version__,
        "digest": storage.digest_of([[s["path"], s["sha256"]] for s in finished]),
        "sources": list(sources),
        "inputs": [
            {
                "name": one.name,
                "size_bytes": one.size_bytes,
                "fingerprint": one.fingerprint,
                "sha256": digests[one.name],
            }
            for one in inputs
        ],
        "parameters": rules.as_dict(),
        "shards": finished,
        "documents": sum(s["documents"] for s in finished),
        "bytes": sum(s["bytes"] for s in finished),
        "splits": {name: _sum(finished, name) for name in ("train", "val", "test")},
        "components": _components(finished),
        "mixture": result["mixture"],
        "ledger": {
            "inputs": [ledger.row_to_dict(row) for row in rows],
            "total": ledger.row_to_dict(ledger.total(rows)),
        },
        "copies": _copies(finished, rows),
        "quarantined": sum(row.quarantined.documents for row in rows),
        "alarms": [*_damaged(rows), *result["alarms"], *stage.result_of(deduped)["alarms"]],
        "largest_cluster": stage.result_of(deduped)["largest_cluster"],
    }


def _damaged(rows: Sequence[ledger.Row]) -> list[str]:
    """What --allow-broken let pass; the ledger has it in full."""
    told = [f"{row.input} is damaged: {row.error}" for row in rows if row.error]
    more = len(told) - _MOST_DAMAGED
    return [*told[:_MOST_DAMAGED], *([f"{more} more inputs are damaged"] if more > 0 else [])]


def _sum(finished: list[dict[str, Any]], split: str) -> dict[str, int]:
    mine = [s for s in finished if s["split"] == split]
    return {key: sum(s[key] for s in mine) for key in ("documents", "bytes")}


def _components(finished: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    total: dict[str, dict[str, int]] = {}
    for shard in finished:
        for name, part in shard["components"].items():
            mine = total.setdefault(name, {"documents": 0, "bytes": 0})
            mine["documents"] += part["documents"]
            mine["bytes"] += part["bytes"]
    return dict(sorted(total.items()))


def _copies(finished: list[dict[str, Any]], rows: list[ledger.Row]) -> dict[str, int]:
    """What stands in the shards beyond the kept documents: repeats by the epochs of a mixture."""
    kept = ledger.total(rows).kept
    return {
        "documents": sum(s["documents"] for s in finished) - kept.documents,
        "bytes": sum(s["bytes"] for s in finished) - kept.bytes,
    }


def _check(content: dict[str, Any]) -> None:
    rows = [ledger.row_from_dict(r) for r in content["ledger"]["inputs"]]
    for row in [*rows, ledger.row_from_dict(content["ledger"]["total"])]:
        row.check()
    copies, mode = content["copies"], content["parameters"]["catalog"]["mixture"]
    if min(copies.values()) < 0 or (mode == "natural" and max(copies.values()) > 0):
        raise SeamountError(
            f"the shards hold {copies['documents']} documents and {copies['bytes']} bytes more "
            "than the ledger kept; nothing was published; please report this"
        )


def _retire_old(out: str, work: str, new: dict[str, Any]) -> None:
    """Note the shards of the corpus that stood here, then take away its manifest."""
    note = storage.join(work, _STALE)
    if not manifest.is_corpus(out):
        return
    old = manifest.load_manifest(out)
    log.warning("%s: the corpus that stood here is replaced (%s)", out, difference(old, new))
    storage.write_json(note, sorted(shard["path"] for shard in old["shards"]))
    _remove(storage.join(out, manifest.FILE_NAME))


def _remove_stale(out: str, work: str, current: set[str]) -> None:
    note = storage.join(work, _STALE)
    if storage.exists(note):
        for path in set(storage.read_json(note)) - current:
            _remove(storage.join(out, path))
    for name in (QUARANTINE, DROPPED, EDITED):
        _remove(storage.join(out, name))


def _remove(url: str) -> None:
    if storage.exists(url):
        storage.remove_tree(url)


def _move_shard(folder: str, out: str, shard: dict[str, Any]) -> None:
    source, target = storage.join(folder, shards.SHARD), storage.join(out, shard["path"])
    if storage.exists(source):
        storage.move(source, target)
    elif not storage.exists(target) or storage.sha256(target) != shard["sha256"]:
        raise CorruptData(
            f"{target} is not what this build wrote, and its copy in {stage.WORK} is gone: remove "
            f"the folder {stage.WORK} below the output and build again"
        )


def _place(data: bytes, out: str, name: str) -> None:
    part = storage.join(out, stage.WORK, "publish", name.replace("/", "_"))
    storage.write_bytes(part, data)
    storage.move(part, storage.join(out, name))


def _publish_documents(out: str, gathered: Sequence[stage.Done]) -> None:
    """Put the shards' rows together, a shard at a time."""
    part = storage.join(out, stage.WORK, "publish", document_index.FILE_NAME)
    with (
        storage.atomic_write(part) as stream,
        pq.ParquetWriter(stream, shards.DOCUMENTS_SCHEMA, compression="zstd") as table,
    ):
        for done in gathered:
            with storage.open_read(storage.join(done.folder, shards.ROWS)) as rows:
                table.write_table(pq.read_table(rows))
    storage.move(part, storage.join(out, document_index.FILE_NAME))


def _publish_duplicates(out: str, deduped: stage.Done) -> None:
    url = storage.join(deduped.folder, deduplicate.DUPLICATES)
    _place(storage.read_bytes(url), out, deduplicate.DUPLICATES)


def _publish_dropped(
    out: str, cleaned: Sequence[stage.Done], scattered: Sequence[stage.Done], wanted: bool
) -> None:
    if not wanted:
        return
    kinds = (("filtered", cleaned, clean.DROPPED), ("removed", scattered, shards.DROPPED))
    for kind, done, name in kinds:
        for number, one in enumerate(done):
            data = storage.read_bytes(storage.join(one.folder, name))
            _place(data, out, f"{DROPPED}/{number:05d}-{kind}.jsonl.gz")
    for mark, done in (("", cleaned), ("-cut", scattered)):
        for number, one in enumerate(done):
            url = storage.join(one.folder, clean.EDITED)
            if storage.exists(url):
                _place(storage.read_bytes(url), out, f"{EDITED}/{number:05d}{mark}.jsonl.gz")


def _publish_quarantine(out: str, cleaned: Sequence[stage.Done]) -> None:
    found = [record for done in cleaned for record in stage.result_of(done)["quarantined"]]
    if found:
        part = storage.join(out, stage.WORK, "publish", QUARANTINE)
        storage.write_json(part, found)
        storage.move(part, storage.join(out, QUARANTINE))


def quarantined_by_reason(out: str) -> dict[str, ledger.Tally]:
    """How many records of a corpus are quarantined for which reason, whatever their positions."""
    found: dict[str, ledger.Tally] = {}
    url = storage.join(out, QUARANTINE)
    for record in storage.read_json(url) if storage.exists(url) else []:
        reason = re.sub(r" at (byte|character) \d+( of the line)?", "", record["reason"])
        found.setdefault(reason, ledger.Tally()).add(record["bytes"])
    return dict(sorted(found.items()))


def _lineage(sources: tuple[str, ...], content: dict[str, Any]) -> lineage.Lineage:
    inputs = {
        f"source {number}": lineage.reference(source)
        for number, source in enumerate(sources)
        if storage.exists(storage.join(source, lineage.FILE_NAME))
    }
    parameters = {k: v for k, v in content["parameters"].items() if k != "catalog"}
    parameters["catalog"] = content["parameters"]["catalog"]["name"]
    parameters["sources"] = content["sources"]
    parameters["inputs"] = {i["name"]: i["sha256"] for i in content["inputs"]}
    return lineage.Lineage("corpus", content["digest"], inputs, parameters)


def find_reusable(out: str, inputs: Sequence[Input], rules: stage.Rules) -> dict[str, Any] | None:
    """The manifest in `out` if it is of these very inputs and rules and its shards are all there.

    Only sizes and times are looked at; where a time changed but not the size, the input is read
    once to see whether its content did.
    """
    if not manifest.is_corpus(out):
        return None
    content = manifest.load_manifest(out)
    before = {i["name"]: i for i in content["inputs"]}
    if content["parameters"] != rules.as_dict() or set(before) != {i.name for i in inputs}:
        return None
    if manifest.missing_shards(out, content):
        return None
    return content if all(_is_same(one, before[one.name]) for one in inputs) else None


def _is_same(one: Input, before: dict[str, Any]) -> bool:
    if one.fingerprint == before["fingerprint"]:
        return True
    return one.size_bytes == before["size_bytes"] and content_digest(one) == before["sha256"]


def refuse_foreign(out: str, sources: tuple[str, ...]) -> None:
    """Raise UserError where building into `out` would mix with, or eat, files of others."""
    for source in (s for s in sources if not is_catalog(s)):
        source = (reader_of(source) or ("", source))[1]
        if storage.is_inside(out, source):
            raise UserError(
                f"the output {out!r} is the source {source!r} or lies in it, so the next build "
                "would read it: choose another output folder"
            )
    if not storage.exists(out) or manifest.is_corpus(out):
        return
    if not storage.is_folder(out):
        raise UserError(f"{out!r} is a file: give a folder for the corpus")
    ours = storage.exists(storage.join(out, stage.WORK))
    if not ours and storage.list_files(out, (".zst",)):
        raise UserError(
            f"{out!r} holds .zst files that are no corpus of Seamount: choose another output folder"
        )
