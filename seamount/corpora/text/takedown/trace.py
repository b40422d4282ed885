"""Where a document of a corpus came from, where it stands, and where its tokens went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seamount.core.errors import CorruptData, UserError
from seamount.core.wording import one_line
from seamount.corpora.text import manifest
from seamount.corpora.text.takedown import rewriting, selection
from seamount.corpora.text.takedown.find import rows_where
from seamount.corpora.text.takedown.witnesses import artefacts_below, places_around, token_ranges

NO_CLUSTERS = (
    "which documents were removed as its copies is not kept after a build: documents.parquet has "
    "rows of survivors only"
)


def trace(url: str, name: str, folders: Sequence[str] = ()) -> dict[str, Any]:
    """All that is known of the document `name` of the corpus in `url`.

    Result: documents (rows of documents.parquet: id, component, source, input, split, shard, line,
    digest, bytes; its copies by epochs too), excluded (rows of excluded.parquet), same_text (other
    ids of the same digest), cluster (ids removed in its favour; None where not kept), tokens
    [{folder, digest, split, start, end, id, state}] in token folders below `folders` (default:
    around the corpus) whose lineage names this corpus as it is or was. Raises UserError where the
    id never was in the corpus.
    """
    content = manifest.load_manifest(url)
    rows = list(rows_where(url, lambda one: name in (one, selection.base_of(one))))
    gone = _excluded(url, name)
    rows = _copies_only_of(rows, name, content)
    if not rows and not gone:
        raise UserError(
            f"no document of {url} has the id {one_line(name, 80)}: "
            "look with `seamount corpus find`"
        )
    ids = {row["id"] for row in rows} | {row["id"] for row in gone}
    return {
        "id": name,
        "documents": rows,
        "excluded": gone,
        "same_text": _same_text(url, rows, ids),
        "cluster": None,
        "cluster_note": NO_CLUSTERS,
        "tokens": _tokens(url, content, ids, folders),
    }


def _copies_only_of(
    rows: list[dict[str, Any]], name: str, content: dict[str, Any]
) -> list[dict[str, Any]]:
    """Without documents whose own id merely looks like that of a copy."""
    own = [row for row in rows if row["id"] == name]
    if not selection.is_repeated(content):
        return own
    marks = {(row["source"], row["digest"]) for row in own}
    return [row for row in rows if row["id"] == name or (row["source"], row["digest"]) in marks]


def _excluded(url: str, name: str) -> list[dict[str, Any]]:
    table = rewriting.excluded_rows(url)
    return [] if table is None else [row for row in table.to_pylist() if row["id"] == name]


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
