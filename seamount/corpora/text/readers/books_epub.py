"""Books as EPUB: one document a book, never cut, its chapters in reading order.

`meta` keeps title, author, language and year as the package file tells them. A book with encrypted
chapters (DRM) is quarantined.
"""

from __future__ import annotations

import io
import posixpath
import re
import struct
import urllib.parse
import zipfile
import zlib
from collections.abc import Iterator

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _encodings, _files, _html, _streams, _xml

COMPONENT = "BookCorpus2"
_WANTED = _files.with_suffix(".epub")
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "")
_FONT_ALGORITHMS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_YEAR = re.compile(r"\b(\d{4})\b")
_DECLARED = re.compile(rb"""<\?xml[^>]*encoding=["']([\w.-]+)""")


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .epub, and archives of them."""
    return _files.items(url, limit_bytes, lambda n: _WANTED(n) or _archives.is_archive(n))


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a book."""
    for file in _archives.files(item, _WANTED):
        yield _book(file, component) if isinstance(file, _archives.File) else file


class _Unreadable(ValueError):
    """Why a book is quarantined."""


# The last line is what zipfile raises on archives that contradict themselves.
_UNREADABLE = (
    *(_Unreadable, _xml.NotXml, zipfile.BadZipFile, zlib.error, EOFError),
    *(NotImplementedError, RuntimeError, ValueError, OSError, struct.error, OverflowError),
)


def _book(file: _archives.File, component: str) -> Document | Quarantined | Skipped:
    try:
        with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
            pages = _Pages(archive)
            package_path = pages.package_path()
            package = pages.xml(package_path)
            chapters = [pages.chapter(path) for path in _reading_order(package, package_path)]
    except _streams.TooLarge:
        return Skipped(file.source, "larger than the bound when unpacked", len(file.data))
    except _UNREADABLE as error:
        return _encodings.quarantined(file, f"no readable EPUB: {error}")
    text = "\n\n\n".join(c for c in chapters if c.strip()) + "\n"
    return Document(text, component, file.id, file.source, _meta(package))


class _Pages:
    """The members of a book, decompressed up to a bound for all of them together."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = {name.lower(): name for name in reversed(archive.namelist())}
        self._room = _streams.MOST_BYTES
        self._refuse_encrypted()

    def _refuse_encrypted(self) -> None:
        if _ENCRYPTION.lower() not in self._names:
            return
        for method in _xml.find_all(self.xml(_ENCRYPTION), "EncryptionMethod"):
            if method.get("Algorithm") not in _FONT_ALGORITHMS:
                raise _Unreadable("its chapters are encrypted (DRM)")

    def data(self, path: str) -> bytes:
        """A member's bytes, its name taken in any case."""
        name = self._names.get(path.lower())
        if name is None:
            raise _Unreadable(f"it has no {path[:200]!r}")
        with self._archive.open(name) as stream:
            data = _streams.whole(stream, self._room)
        self._room -= len(data)
        return data

    def xml(self, path: str) -> _xml.Element:
        """A member parsed."""
        return _xml.parse(self.data(path))

    def package_path(self) -> str:
        """Where container.xml says the package file stands."""
        for root in _xml.find_all(self.xml(_CONTAINER), "rootfile"):
            if path := root.get("full-path"):
                return str(path)
        raise _Unreadable("container.xml names no package file")

    def chapter(self, path: str) -> str:
        """A chapter's text."""
        data = self.data(path)
        declared = _DECLARED.search(data[:200])
        return _html.to_text(_encodings.decode(data, declared[1].decode() if declared else None)[0])


def _reading_order(package: _xml.Element, package_path: str) -> Iterator[str]:
    manifest, spine = _xml.find(package, "manifest"), _xml.find(package, "spine")
    if manifest is None or spine is None:
        raise _Unreadable("its package file has no manifest or no spine")
    pages = {e.get("id"): e for e in manifest if e.get("media-type", "") in _PAGES}
    folder = posixpath.dirname(package_path)
    for reference in spine:
        page = pages.get(reference.get("idref", ""))
        if page is not None and page.get("href"):
            href = urllib.parse.unquote(page.get("href").partition("#")[0])
            yield "/".join(_archives.parts(posixpath.join(folder, href)))


def _meta(package: _xml.Element) -> dict[str, object]:
    metadata = _xml.find(package, "metadata")
    told: dict[str, list[str]] = {}
    for element in [] if metadata is None else metadata.iter():
        told.setdefault(_xml.local_name(element), []).append(_xml.text_of(element))
    meta: dict[str, object] = {
        "title": next(iter(told.get("title", [])), ""),
        "author": ", ".join(a for a in told.get("creator", []) if a),
        "language": next(iter(told.get("language", [])), ""),
    }
    years = [int(year) for date in told.get("date", []) for year in _YEAR.findall(date)]
    meta["year"] = min((year for year in years if year), default=0)
    return {name: value for name, value in meta.items() if value}
