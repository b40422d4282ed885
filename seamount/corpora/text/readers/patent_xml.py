"""USPTO patent grants and applications: the background section, one document a patent.

Weekly files hold many XML documents one after another (each begins with `<?xml`); a damaged one is
quarantined alone. Read are the red book's forms since 2005 (us-patent-grant, -application) and
those of 2001 to 2004 (PATDOC, patent-application-publication). The section begins at the first
heading that names the background, field, prior or related art and ends at the heading of another
section (summary, drawings, description); a patent without one is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _files, _patent_text, _xml

COMPONENT = "USPTO Backgrounds"
_WANTED = _files.with_suffix(".xml")
_MOST_PATENT_BYTES = 128 << 20
_DECLARATION = b"<?xml "


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .xml, compressed or not, and zips or tars of them."""
    return _files.items(url, limit_bytes, lambda n: _WANTED(n) or _archives.is_archive(n))


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a patent; its id is the file's name and the patent's own number."""
    for file in _archives.streams(item, _WANTED):
        if not isinstance(file, _archives.Stream):
            yield file
            continue
        for number, (data, size) in enumerate(_documents(file.stream), 1):
            place = f"{file.source}:{number}"
            if data is None:
                yield Skipped(place, f"larger than {_MOST_PATENT_BYTES} bytes", size)
            else:
                yield _patent(data, file.id, place, number, component)


def _documents(stream: IO[bytes]) -> Iterator[tuple[bytes | None, int]]:
    """The bytes of each XML document and their number; None for one beyond the bound."""
    lines: list[bytes] = []
    size = 0
    while line := stream.readline(1 << 20):
        if line.lstrip().startswith(_DECLARATION) and size:
            yield _joined(lines, size), size
            lines, size = [], 0
        size += len(line) if size or line.strip() else 0
        if size and size <= _MOST_PATENT_BYTES:
            lines.append(line)
    if size:
        yield _joined(lines, size), size


def _joined(lines: list[bytes], size: int) -> bytes | None:
    return b"".join(lines).strip() if size <= _MOST_PATENT_BYTES else None


def _patent(
    data: bytes, name: str, place: str, number: int, component: str
) -> Document | Quarantined | Skipped:
    try:
        root = _xml.parse(data)
    except _xml.NotXml as error:
        return Quarantined(place, number, str(error), len(data))
    kind = _xml.local_name(root)
    meta = _patent_text.meta(root)
    if not _patent_text.is_patent(kind):
        return Skipped(place, "no patent", len(data))
    text = _patent_text.background(root)
    if not text:
        return Skipped(place, "no background section", len(data))
    return Document(text, component, f"{name}:{meta.get('number', number)}", place, meta)
