"""Europarl's release files (`txt/en/ep-00-01-17.txt`): one document a file, that is a sitting.

`<CHAPTER>` and `<SPEAKER NAME=...>` become paragraphs of their own, a turn follows its speaker's
name; `<P>` is a paragraph; other markup goes. All languages are kept; `meta.language` is the
folder.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _encodings, _files

COMPONENT = "EuroParl"
_WANTED = _files.with_suffix(".txt")
_MARKUP = re.compile(r"^\s*<(/?[A-Za-z]+)\b([^\n]*?)/?>[ \t]*$", re.MULTILINE)
_NAME = re.compile(r"""\bNAME\s*=\s*(?:"([^"]*)"|'([^']*)'|(\S+))""", re.IGNORECASE)
_DATE = re.compile(r"ep-(\d\d)-(\d\d)-(\d\d)")
_BLANKS = re.compile(r"\n{3,}")


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .txt, compressed or not, and archives of them (europarl.tgz)."""
    return _files.items(url, limit_bytes, lambda n: _WANTED(n) or _archives.is_archive(n))


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a file."""
    for file in _archives.files(item, _WANTED):
        if not isinstance(file, _archives.File):
            yield file
            continue
        found = _encodings.text_of(file)
        if isinstance(found, Skipped):
            yield found
            continue
        text, turns = _turns(found[0])
        meta = {**found[1], **_meta(file.id), "turns": turns}
        yield Document(text, component, file.id, file.source, meta)


def _turns(source: str) -> tuple[str, int]:
    turns = 0

    def shown(mark: re.Match[str]) -> str:
        nonlocal turns
        if mark[1].upper() != "SPEAKER":
            return "\n"
        turns += 1
        name = _NAME.search(mark[2])
        return (
            f"\n{html.unescape(next(filter(None, name.groups()), '')).strip()}\n" if name else "\n"
        )

    text = _MARKUP.sub(shown, source.replace("\r\n", "\n"))
    lines = (line.strip() for line in text.split("\n"))
    return _BLANKS.sub("\n\n", "\n".join(lines)).strip() + "\n", turns


def _meta(name: str) -> dict[str, object]:
    meta: dict[str, object] = {}
    folder = PurePosixPath(name).parent.name
    if len(folder) == 2:
        meta["language"] = folder
    if found := _DATE.search(name):
        year = int(found[1])
        meta["date"] = f"{1900 + year if year > 90 else 2000 + year}-{found[2]}-{found[3]}"
    return meta
