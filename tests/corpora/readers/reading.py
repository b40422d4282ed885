"""Run a reader over files that a test has written."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

from seamount.core import registry
from seamount.core.errors import CorruptData
from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.catalog import READERS

Record = Document | Quarantined | Skipped


def write(folder: Path, files: dict[str, bytes | str]) -> Path:
    """Write `files` (path -> content) below `folder`."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def read(name: str, url: object, **parameters: Any) -> list[Record]:
    """Every record that reader `name` finds at `url`."""
    module = registry.load(READERS, name, "reader")
    items = module.items(None, url=str(url))
    return [r for item in items for r in module.read(item, module.COMPONENT, **parameters)]


def read_broken(name: str, url: object) -> tuple[list[Record], str]:
    """The records before CorruptData, and what it says (empty where all is sound)."""
    module = registry.load(READERS, name, "reader")
    records: list[Record] = []
    for item in module.items(None, url=str(url)):
        try:
            records += module.read(item, module.COMPONENT)
        except CorruptData as error:
            return records, str(error)
        except BaseException as error:
            error.add_note(f"{name} died after {len(records)} records")
            raise
    return records, ""


def documents(records: list[Record]) -> list[Document]:
    """The documents among records."""
    return [r for r in records if isinstance(r, Document)]


def reasons(records: list[Record]) -> list[str]:
    """Why the other records are none."""
    return [r.reason for r in records if not isinstance(r, Document)]


def tar(files: dict[str, bytes | str], mode: str = "w") -> bytes:
    """A tar of `files`, in their order."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def zipped(files: dict[str, bytes | str]) -> bytes:
    """A deflated zip of `files`, in their order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()
