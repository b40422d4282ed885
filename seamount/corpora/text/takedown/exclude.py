"""Take documents out of a built corpus: only the touched shards are written anew.

Killed at any moment, the same call again ends in the same bytes as one that was not disturbed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Any

from seamount.core import lineage, storage
from seamount.core.errors import DiskFull, UserError
from seamount.core.wording import one_line
from seamount.corpora.text import document_index, manifest
from seamount.corpora.text.audit.dropped import DROPPED, EDITED
from seamount.corpora.text.takedown import (
    account,
    removed_copies,
    rewriting,
    selection,
    staging,
)
from seamount.corpora.text.takedown.rule import Rule, rule_from_dict

log = logging.getLogger("seamount")


@dataclass(frozen=True)
class ExcludeRef:
    """What an exclusion did, or would do (`dry_run`).

    `exclusion` is its entry in the manifest's history (None where nothing was left to exclude),
    `removed_ids` the lines that went by split, `same_text` ids that stay although
    their text is that of a removed document. `copies` are the documents that the build had removed
    as copies of one that goes: {documents, bytes, ids (for a rule by ids)}; they are not in the
    corpus but stand at the sources. None where the corpus does not say.
    """

    url: str
    digest: str
    exclusion: dict[str, Any] | None
    removed_ids: dict[str, list[str]] = field(default_factory=dict)
    same_text: tuple[str, ...] = ()
    dry_run: bool = False
    earlier: bool = False
    copies: dict[str, Any] | None = None


def exclude(url: str, rule: Rule, dry_run: bool = False, absent_ok: bool = False) -> ExcludeRef:
    """Take what `rule` chooses out of the corpus in `url`.

    What is gone already by an earlier exclusion is no mistake. Raises UserError where nothing in
    the corpus fits the rule and nothing ever did (unless `absent_ok`), and for the id of a document
    that the build removed as a copy while another stands for it; CorruptData where a touched shard
    is not what the build wrote (nothing is changed then).
    """
    done = _exclude_alone(url, rule, dry_run, absent_ok)
    ids = {name for names in done.removed_ids.values() for name in names}
    return replace(done, copies=_copies_of(url, rule, ids))


def _copies_of(url: str, rule: Rule, ids: set[str]) -> dict[str, Any] | None:
    """What the build removed as copies of `ids`."""
    if not removed_copies.are_known(url):
        return None
    count = size = 0
    names = []
    for row in removed_copies.rows(url, "kept_id", ids):
        count, size = count + 1, size + row["bytes"]
        if rule.ids:
            names.append(row["id"])
    return {"documents": count, "bytes": size, "ids": names if rule.ids else None}


def _exclude_alone(url: str, rule: Rule, dry_run: bool, absent_ok: bool) -> ExcludeRef:
    with staging.alone(url):
        staging.refuse_unfinished_build(url)
        if not dry_run and staging.clear(url):
            log.info("finished the exclusion that was stopped in %s", url)
        content = manifest.load_manifest(url)
        if not absent_ok:
            selection.check_components(content, rule)
        chosen = selection.select(url, content, rule)
        if not absent_ok:
            _check_ids(url, rule, chosen)
        if not chosen.rows.num_rows:
            return _nothing(url, content, rule, dry_run, absent_ok)
        if chosen.rows.num_rows == content["documents"]:
            raise UserError(f"this would take every document out of {url}: remove the folder")
        return (_predict if dry_run else _exclude)(url, content, rule, chosen)


def _check_ids(url: str, rule: Rule, chosen: selection.Selection) -> None:
    """Raise UserError for ids of a rule that stand nowhere; a copy whose survivor went is gone."""
    gone = _excluded_ids(url) if rule.ids else set()
    for row in removed_copies.rows(url, "id", set(chosen.absent) - gone):
        if row["kept_id"] not in gone:
            name, kept = one_line(row["id"], 80), one_line(row["kept_id"], 80)
            raise UserError(
                f"{name} is not in {url}: the build removed it as {row['kind']} copy of {kept}, "
                f"which stands for it; exclude {kept} to take that out"
            )
        gone.add(row["id"])
    selection.found_or_excluded(chosen, gone)


def repeat(url: str, other: str, dry_run: bool = False) -> list[ExcludeRef]:
    """Exclude from the corpus in `url` by every rule of the history of the corpus `other`.

    A rule by ids takes more here than the ids: what was removed in `other` as a copy of one of
    them, which in another build may be the one that is kept, and what in `url` was kept in place of
    one of them. Else a near copy of an excluded document would come in by a rebuild.
    """
    history = manifest.load_manifest(other).get("exclusions", [])
    if not history:
        raise UserError(f"nothing was ever excluded from {other}: there is nothing to repeat")
    rules = [_with_copies(url, other, one) for one in history]
    return [exclude(url, rule, dry_run, absent_ok=True) for rule in rules]


def _with_copies(url: str, other: str, entry: dict[str, Any]) -> Rule:
    """The rule of an entry of the history of `other`; ids with those of copies there and here."""
    rule = rule_from_dict(entry["rule"])
    if not rule.ids:
        return rule
    ids = set(rule.ids)
    went = {name for names in removed_of(other, entry["number"]).values() for name in names}
    ids |= {row["id"] for row in removed_copies.rows(other, "kept_id", ids | went)}
    ids |= {row["kept_id"] for row in removed_copies.rows(url, "id", ids)}
    return Rule(ids=tuple(ids))


def _excluded_ids(url: str) -> set[str]:
    rows = rewriting.excluded_rows(url)
    return set(rows["id"].to_pylist()) if rows is not None else set()


def _nothing(
    url: str, content: dict[str, Any], rule: Rule, dry_run: bool, absent_ok: bool
) -> ExcludeRef:
    """The answer where no document fits: done before, or a mistake."""
    before = [one for one in content.get("exclusions", ()) if one["rule"] == rule.as_dict()]
    gone = bool(before) or bool(rule.ids) or bool(rule.components)  # checked: all were there once
    if not (gone or absent_ok):
        raise UserError(f"no document of {url} matches {rule.match!r}: nothing was excluded")
    if not before:
        return ExcludeRef(url, content["digest"], None, dry_run=dry_run)
    entry = before[-1]
    gone_ids = removed_of(url, entry["number"])
    return ExcludeRef(url, content["digest"], entry, gone_ids, dry_run=dry_run, earlier=True)


def removed_of(url: str, number: int) -> dict[str, list[str]]:
    """Ids of what the exclusion `number` of the corpus in `url` took, by split."""
    rows = rewriting.excluded_rows(url)
    if rows is None:
        return {}
    columns = (rows[name].to_pylist() for name in ("split", "id", "exclusion"))
    found: dict[str, list[str]] = {}
    for split, name, one in zip(*columns, strict=True):
        if one == number:
            found.setdefault(split, []).append(name)
    return found


def _predict(
    url: str, content: dict[str, Any], rule: Rule, chosen: selection.Selection
) -> ExcludeRef:
    """What `_exclude` would do; no shard is read and nothing written, so digests stay unknown."""
    entries = {shard["path"]: shard for shard in content["shards"]}
    shards = [_without(entries[path], chosen) for path in sorted(chosen.lines)]
    entry = account.excluded(content, shards, chosen.rows, rule)["exclusions"][-1]
    told = {**entry, "digest_after": None}
    return ExcludeRef(
        url, content["digest"], told, _by_split(chosen), chosen.same_text, dry_run=True
    )


def _without(shard: dict[str, Any], chosen: selection.Selection) -> dict[str, Any]:
    """The entry of a shard without the chosen rows, by documents.parquet alone."""
    columns = (chosen.rows[name].to_pylist() for name in ("shard", "component", "bytes"))
    components = {name: dict(part) for name, part in shard["components"].items()}
    count = size = 0
    for path, name, one in zip(*columns, strict=True):
        if path == shard["path"]:
            count, size = count + 1, size + one
            components[name]["documents"] -= 1
            components[name]["bytes"] -= one
    return {
        **shard,
        "documents": shard["documents"] - count,
        "bytes": shard["bytes"] - size,
        "components": {n: part for n, part in components.items() if part["documents"]},
    }


def _exclude(
    url: str, content: dict[str, Any], rule: Rule, chosen: selection.Selection
) -> ExcludeRef:
    entries = {shard["path"]: shard for shard in content["shards"]}
    _refuse_small_disk(url, [entries[path] for path in chosen.lines])
    staged = staging.Staging(url)
    try:
        shards = _shards(url, entries, chosen, staged)
        changed = account.excluded(content, shards, chosen.rows, rule)
        entry = changed["exclusions"][-1]
        rewriting.rewrite_index(url, chosen.lines, staged.place(document_index.FILE_NAME))
        target = staged.place(rewriting.EXCLUDED)
        rewriting.add_to_excluded(url, chosen.rows, entry["number"], target)
        entry["samples"] = _samples(url, rule, chosen, staged)
        _lineage(url, changed, staged)
    except BaseException:
        staged.discard()
        raise
    staged.commit(changed)
    return ExcludeRef(url, changed["digest"], entry, _by_split(chosen), chosen.same_text)


def _by_split(chosen: selection.Selection) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    columns = (chosen.rows[name].to_pylist() for name in ("split", "id"))
    for split, name in zip(*columns, strict=True):
        found.setdefault(split, []).append(name)
    return found


def _refuse_small_disk(url: str, touched: list[dict[str, Any]]) -> None:
    free, needed = storage.free_bytes(url), sum(shard["size_bytes"] for shard in touched)
    if free is not None and free < needed:
        raise DiskFull(
            f"the touched shards of {url} need up to {needed} bytes beside the old ones, and "
            f"{free} are free: free some space"
        )


def _shards(
    url: str,
    entries: dict[str, dict[str, Any]],
    chosen: selection.Selection,
    staged: staging.Staging,
) -> list[dict[str, Any]]:
    ids: dict[str, dict[int, str]] = {path: {} for path in chosen.lines}
    columns = (chosen.rows[name].to_pylist() for name in ("shard", "line", "id"))
    for path, line, name in zip(*columns, strict=True):
        ids[path][line] = name
    return [
        rewriting.rewrite_shard(url, entries[path], ids[path], staged.place(path))
        for path in sorted(ids)
    ]


def _samples(url: str, rule: Rule, chosen: selection.Selection, staged: staging.Staging) -> int:
    """Take the same documents out of what --keep-dropped stored, and their copies; how many."""
    digests = set(chosen.rows["digest"].to_pylist())
    ids = set(chosen.rows["id"].to_pylist()) if rule.ids else set()
    copies = {row["id"] for row in removed_copies.rows(url, "kept_id", ids)}

    def takes(record: dict[str, Any]) -> bool:
        meta = record.get("meta", record)
        text = record.get("text", record.get("diff", ""))
        component = meta.get("pile_set_name", meta.get("component", ""))
        name = meta.get("id", "")
        return name in copies or rule.takes(component, name, text) or _digest(text) in digests

    count = 0
    for folder in (DROPPED, EDITED):
        where = storage.join(url, folder)
        for file in storage.list_files(where, (".jsonl.gz",)) if storage.exists(where) else ():
            name = f"{folder}/{file.rpartition('/')[2]}"
            gone = rewriting.rewrite_samples(file, takes, staged.place(name))
            count += gone
            if not gone:
                staged.drop_last()
    return count


def _digest(text: str) -> str:
    import xxhash

    return xxhash.xxh3_128_hexdigest(text.encode("utf-8", "replace"))


def _lineage(url: str, changed: dict[str, Any], staged: staging.Staging) -> None:
    record = account.lineage_of(lineage.read(url), changed)
    part = storage.join(staged.folder, "lineage")
    lineage.write(part, record)
    storage.move(storage.join(part, lineage.FILE_NAME), staged.place(lineage.FILE_NAME))
