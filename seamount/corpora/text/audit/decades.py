"""When the texts of a corpus are from, as far as their sources tell."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

from seamount.core import storage
from seamount.corpora.text import document_index, manifest, zstd_stream

UNKNOWN = "unknown"
# In this order the first that tells a year counts. `release_year` of Gutenberg's books is not
# among them: it is the year of the electronic edition.
KEYS = ("year", "date", "date_filed", "time", "created_at", "created", "published", "timestamp")
_YEARS = range(1000, 2101)
_YEAR = re.compile(r"(?<!\d)(1\d{3}|20\d{2}|2100)(?!\d)")
_EARLIEST_S, _SECONDS_A_YEAR = 1e8, 31_556_952  # smaller numbers are years or no times at all


def of_corpus(url: str, content: dict[str, Any]) -> dict[str, Counter[str]]:
    """{decade: documents and bytes} of a built corpus; only metadata is decoded from its shards.

    Raises CorruptData where shards and documents.parquet do not agree.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    sizes = _sizes(url)
    for shard in content["shards"]:
        path = storage.join(url, shard["path"])
        lines = 0
        for year in _years(path):
            lines += 1
            found[decade(year)].update(documents=1, bytes=next(sizes, 0))
        if lines != shard["documents"]:
            raise manifest.changed(path, f"{lines} lines where {shard['documents']} were")
    return dict(found)


def _sizes(url: str) -> Iterator[int]:
    for batch in document_index.batches(url, ("bytes",)):
        yield from batch.column(0).to_pylist()


def _years(path: str) -> Iterator[int | None]:
    import msgspec

    with storage.open_read(path) as stream:
        for block in zstd_stream.line_blocks(stream, path):
            try:
                records = _decoder().decode_lines(block)
            except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
                raise manifest.changed(path, f"a line is not readable: {error}") from error
            for record in records:
                yield year_of({key: getattr(record.meta, key) for key in KEYS})


@cache
def _decoder() -> Any:
    """Decodes of a line what may tell a year; the text is passed over."""
    import msgspec

    meta = msgspec.defstruct("Meta", [(key, Any, None) for key in KEYS], gc=False)
    return msgspec.json.Decoder(msgspec.defstruct("Record", [("meta", meta)], gc=False))


def year_of(meta: dict[str, Any]) -> int | None:
    """The year that a document's metadata tells; None where none does.

    Numbers are years (1000 to 2100) or seconds since 1970; of a text the first four digits that
    are a year count.
    """
    for key in KEYS:
        value = meta.get(key)
        if isinstance(value, bool) or value is None:
            continue
        year = _of_number(value) if isinstance(value, int | float) else _of_text(str(value))
        if year is not None:
            return year
    return None


def _of_number(value: float) -> int | None:
    if value in _YEARS:
        return int(value)
    year = 1970 + int(value // _SECONDS_A_YEAR) if _EARLIEST_S <= value < 1e11 else 0
    return year if year in _YEARS else None


def _of_text(value: str) -> int | None:
    if re.fullmatch(r"\d{9,11}", value):
        return _of_number(int(value))
    found = _YEAR.search(value[:100])
    return int(found[1]) if found else None


def decade(year: int | None) -> str:
    """`1990s`, or `unknown`."""
    return UNKNOWN if year is None else f"{year // 10 * 10}s"
