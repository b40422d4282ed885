"""Lines packed by tools that are not ours: zstd and gzip as commands, Python's gzip."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import zstandard

from seamount.core.errors import CorruptData
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import formats

LINE_FORMS: dict[str, Callable[[bytes], bytes]] = {
    ".jsonl.zst": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
    ".jsonl.gz": lambda data: gzip.compress(data, 1),
    ".jsonl": lambda data: data,
}


def line(text: str, **meta: object) -> bytes:
    return json.dumps({"text": text, "meta": {"pile_set_name": "Github", **meta}}).encode() + b"\n"


def read(path: Path, **options: int) -> tuple[list[Document], list[Quarantined], str | None]:
    """Documents, quarantined records, and what CorruptData says (None where all is sound)."""
    documents, quarantined, error = [], [], None
    try:
        for record in formats.read(str(path), **options):
            (documents if isinstance(record, Document) else quarantined).append(record)
    except CorruptData as problem:
        error = str(problem)
        assert str(path) in error
    return documents, quarantined, error


def texts(path: Path) -> list[str]:
    documents, quarantined, error = read(path)
    assert error is None and not quarantined
    return [d.text for d in documents]


def gzip_tool(data: bytes, *options: str) -> bytes:
    tool = shutil.which("gzip")
    assert tool is not None
    return subprocess.run(
        [tool, "-c", *options], input=data, capture_output=True, check=True
    ).stdout
