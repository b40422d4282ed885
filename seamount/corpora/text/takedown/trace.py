"""Where a document of a corpus came from, where it stands, and where its tokens went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seamount.core.errors import CorruptData, UserError
from seamount.core.wording import one_line
from seamount.corpora.text import manifest
from seamount.corpora.text.takedown import removed_copies, rewriting, selection
from seamount.corpora.text.takedown.find import rows_where
from seamount.corpora.text.takedown.witnesses import artefacts_below, places_around, token_ranges

NO_CLUSTERS = (
    f"this corpus has no {removed_copies.FILE_NAME}, which says what was removed as a copy of it: "
    "build it again with this version"
)


def trace(url: str, name: str, folders: Sequence[str] = ()) -> dict[str, Any]:
    """All that is known of the document `name` of the corpus in `url`.

    Result: documents (rows of documents.parquet: id, component, source, input, split, shard, line,
    digest, bytes; its copies by epochs too), excluded (rows of excluded.parquet), copy_of (rows of
    duplicates.parquet where this id was itself removed as a copy; then the documents that stand for
    it, `kept_id`, are traced as well), same_text (other ids of the same digest), cluster (rows of
    duplicates.parquet of what was removed in its favour; None, with cluster_note, where not
    kept), tokens [{folder, digest, split, start, end, id, state}] in token folders below `folders`
    (default: around the corpus) whose lineage names this corpus as it is or was. Raises UserError
    where the id was neither in the corpus nor removed as a copy.
    """
    content = manifest.load_manifest(url)
    copy_of = list(removed_copies.rows(url, "id", (name,)))
    names = {name, *(row["kept_id"] for row in copy_of)}
    rows = list(rows_where(url, lambda one: one in names or selection.base_of(one) in names))
    gone = _excluded(url, names)
    rows = _copies_only_of(rows, names, content)
    if not rows and not gone and not copy_of:
        raise UserError(
            f"no document of {url} has the id {one_line(name, 80)}: "
            "look with `seamount corpus find`"
        )
    ids = {row["id"] for row in rows} | {row["id"] for row in gone}
    known = removed_copies.are_known(url)
    kept = names | _originals(url, names, [*rows, *gone], content)
    return {
        "id": name,
        "documents": rows,
        "excluded": gone,
        "copy_of": copy_of,
        "same_text": _same_text(url, rows, ids),
        "cluster": list(removed_copies.rows(url, "kept_id", kept)) if known else None,
        "cluster_note": None if known else NO_CLUSTERS,
        "tokens": _tokens(url, content, ids, folders),
    }


def _originals(
    url: str, names: set[str], rows: list[dict[str, Any]], content: dict[str, Any]
) -> set[str]:
    """The documents of which `names` are copies by epochs: copies are told under their ids."""
    bases = {base for name in names if (base := selection.base_of(name)) is not None}
    if not bases or not selection.is_repeated(content):
        return set()
    marks = {(row["source"], row["digest"]) for row in rows if row["id"] in names}
    there = [*rows_where(url, bases.__contains__), *_excluded(url, bases)]
    return {row["id"] for row in there if (row["source"], row["digest"]) in marks}


def _copies_only_of(
    rows: list[dict[str, Any]], names: set[str], content: dict[str, Any]
) -> list[dict[str, Any]]:
    """Without documents whose own id merely looks like that of a copy."""
    own = [row for row in rows if row["id"] in names]
    if not selection.is_repeated(content):
        return own
    marks = {(row["source"], row["digest"]) for row in own}
    return [row for row in rows if row["id"] in names or (row["source"], row["digest"]) in marks]


def _excluded(url: str, names: set[str]) -> list[dict[str, Any]]:
    table = rewriting.excluded_rows(url)
    return [] if table is None else [row for row in table.to_pylist() if row["id"] in names]


def _same_text(url: str, rows: list[dict[str, Any]], ids: set[str]) -> list[str]:
    if not rows:
        return []
    digests = {row["digest"] for row in rows}
    alike = selection.rows_with(url, "digest", tuple(digests))
    return [name for name in alike["id"].to_pylist() if name not in ids]


def _tokens(
    url: str, content: dict[str, Any], ids: set[str], folders: Sequence[str]
) -> list[dict[str, Any]]:
    before = {one["digest_before"] for one in content.get("exclusions", ())}
    found = []
    for one in artefacts_below(folders or places_around(url)):
        digest = one.record.inputs.get("corpus", {}).get("digest")
        if one.record.kind != "tokens" or digest not in before | {content["digest"]}:
            continue
        state = "of the corpus as it is" if digest == content["digest"] else "of an earlier state"
        for split in sorted(one.record.parameters.get("splits", ())):
            try:
                ranges = token_ranges(one.path, split, ids)
            except (CorruptData, UserError):
                continue  # its own commands say what is wrong with it
            mark = {"folder": one.path, "digest": one.record.digest, "state": state}
            found += [{**mark, **place} for place in ranges]
    return found
