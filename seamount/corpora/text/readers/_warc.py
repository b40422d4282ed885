"""Web pages out of WARC files (ISO 28500), record by record in bounded memory.

FastWARC parses headers; it says nothing about a record whose body is cut short, and loses its place
where an HTTP body is damaged. So every body is measured here, and read as a whole before HTTP is.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from seamount.core.errors import CorruptData
from seamount.core.records import Quarantined, Skipped
from seamount.corpora.text.readers import _files, _main_text, _streams

is_warc = _files.with_suffix(".warc")
_PIECE_BYTES = 1 << 18
_PAGES = ("text/html", "application/xhtml+xml")
_KINDS = (
    *("response", "resource", "request", "metadata", "revisit"),
    *("warcinfo", "conversion", "continuation"),
)
_OK = 200
_CHUNK = re.compile(rb"[0-9a-fA-F]{1,8}[;\r\n]")
_ANY_ZLIB_WBITS = 47  # gzip or zlib, by its first bytes


@dataclass(frozen=True)
class Page:
    """A page as its server sent it, without transfer and content codings."""

    url: str
    date: str
    charset: str | None
    truncated: str
    data: bytes
    number: int
    source: str

    @property
    def meta(self) -> dict[str, Any]:
        """Address and date, and why the crawler cut the page if it did."""
        cut = {"truncated": self.truncated} if self.truncated else {}
        return {"url": self.url, "date": self.date, **cut}


def pages(location: str) -> Iterator[Page | Skipped | Quarantined]:
    """Every HTML page of a file that was answered with 200; other records are Skipped.

    A page that cannot be decoded is Quarantined; a damaged file raises CorruptData after its sound
    records.
    """
    with _streams.opened(location) as stream:
        for number, (record, block) in enumerate(_records(stream, location), 1):
            yield _page(record, block, number, f"{location}:{number}")


def _records(stream: IO[bytes], location: str) -> Iterator[tuple[Any, bytes | None]]:
    """(record, its block) one by one; the block is None where it is larger than a page may be."""
    from fastwarc.warc import ArchiveIterator

    told_stream: Any = _Told(stream)
    archive = ArchiveIterator(told_stream, parse_http=False, stream_detect=False)
    number = 0
    while True:
        number += 1
        try:
            record = next(archive, None)
            if record is None:
                return
            found, block = _block(record)
        except OSError as error:
            if error.errno is not None:
                raise
            raise CorruptData(f"{location} is damaged at its record {number}: {error}") from error
        told = record.headers.get("Content-Length") or ""
        if not told.strip().isdecimal() or found != record.content_length:
            raise CorruptData(
                f"{location} is cut short at its record {number}: {found} bytes of "
                f"{told or 'unknown length'}; fetch the file again"
            )
        yield record, block


class _Told:
    """A stream that tells its place, as FastWARC asks, and cannot be sought in."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._place = stream, 0

    def read(self, size: int) -> bytes:
        """The next bytes; those before a damage are given before it is told."""
        data: bytes = self._stream.read1(size)
        self._place += len(data)
        return data

    def tell(self) -> int:
        """The number of bytes given."""
        return self._place


def _block(record: Any) -> tuple[int, bytes | None]:
    """The number of bytes that are there, and the bytes if they are few enough."""
    parts: list[bytes] = []
    size = 0
    while piece := record.reader.read(_PIECE_BYTES):
        size += len(piece)
        if size <= _main_text.MOST_BYTES:
            parts.append(piece)
    return size, b"".join(parts) if size <= _main_text.MOST_BYTES else None


def _page(
    record: Any, block: bytes | None, number: int, source: str
) -> Page | Skipped | Quarantined:
    size = record.content_length
    kind = _kind(record)
    if kind not in ("response", "resource"):
        return Skipped(source, f"a {kind} record", size)
    if block is None:
        return Skipped(source, f"larger than {_main_text.MOST_BYTES} bytes", size)
    try:
        answer = _Answer.of(record, block)
        if answer.status != _OK:
            return Skipped(source, f"a status other than {_OK}", size)
        if answer.media_type not in _PAGES:
            return Skipped(source, "not HTML", size)
        data = _decoded(answer.body, answer.coding)
    except _streams.TooLarge:
        return Skipped(source, f"larger than {_main_text.MOST_BYTES} bytes", size)
    except (OSError, ValueError) as error:
        return Quarantined(source, number, f"an HTTP answer that is damaged: {error}", size)
    headers = record.headers
    return Page(
        (headers.get("WARC-Target-URI") or "").strip("<>"),
        headers.get("WARC-Date") or "",
        answer.charset,
        headers.get("WARC-Truncated") or "",
        data,
        number,
        source,
    )


def _kind(record: Any) -> str:
    kind = (record.headers.get("WARC-Type") or "").strip().lower()
    return kind if kind in _KINDS else "strange"


@dataclass(frozen=True)
class _Answer:
    status: int
    media_type: str
    charset: str | None
    coding: str
    body: bytes

    @classmethod
    def of(cls, record: Any, block: bytes) -> _Answer:
        """What an HTTP answer says; a `resource` record is a body alone."""
        declared = record.headers.get("Content-Type") or ""
        if _kind(record) == "resource" or not declared.startswith("application/http"):
            return cls(_OK, *_media(declared), "", block)
        try:
            headers, body = _http(block, "transfer")
        except OSError:
            headers, body = _http(block, "none")
            if _CHUNK.match(body):
                raise
            # said to come in chunks, but the crawler has put them together
        status, coding = headers.status_code or 0, headers.get("Content-Encoding") or ""
        return cls(status, *_media(headers.get("Content-Type") or ""), coding, body)


def _http(block: bytes, decode: Any) -> tuple[Any, bytes]:
    """Headers and body of an HTTP answer; OSError where it is none."""
    from fastwarc.warc import WarcRecord

    record = WarcRecord()
    record.set_bytes_content(block)
    record.is_http = True
    record.parse_http(auto_decode=decode)
    return record.http_headers, record.reader.read()


def _media(declared: str) -> tuple[str, str | None]:
    """Media type and charset of a Content-Type."""
    kind, _, rest = declared.partition(";")
    named = re.search(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", rest, re.I)
    return kind.strip().lower(), named[1] if named else None


def _decoded(body: bytes, coding: str) -> bytes:
    """`body` without its content codings; TooLarge beyond a page, ValueError where it is damaged.

    A coding that the bytes do not show was taken off by the crawler.
    """
    for name in reversed([c.strip().lower() for c in coding.split(",") if c.strip()]):
        if name in ("gzip", "x-gzip") and not body.startswith(b"\x1f\x8b"):
            continue
        if name in ("gzip", "x-gzip", "deflate"):
            body = _inflated(body, name)
        elif name == "br":
            body = _unbrotlied(body)
        elif name != "identity":
            raise ValueError(f"the content coding {name[:40]!r} is not known")
    return body


def _inflated(body: bytes, name: str) -> bytes:
    bare = name == "deflate" and not _is_zlib(body)
    inflater = zlib.decompressobj(wbits=-zlib.MAX_WBITS if bare else _ANY_ZLIB_WBITS)
    try:
        data = inflater.decompress(body, _main_text.MOST_BYTES + 1)
    except zlib.error as error:
        raise ValueError(f"{name}: {error}") from error
    if len(data) > _main_text.MOST_BYTES:
        raise _streams.TooLarge
    if not inflater.eof:
        raise ValueError(f"{name} without its end")
    return data


def _is_zlib(body: bytes) -> bool:
    """RFC 1950: method 8, and the first two bytes are a multiple of 31."""
    return len(body) > 1 and body[0] & 15 == 8 and not int.from_bytes(body[:2]) % 31


def _unbrotlied(body: bytes) -> bytes:
    import brotli

    decoder, data = brotli.Decompressor(), bytearray()
    most = _main_text.MOST_BYTES
    try:
        data += decoder.process(body, output_buffer_limit=most + 1)
        while not decoder.is_finished() and len(data) <= most:
            piece = decoder.process(b"", output_buffer_limit=most + 1)
            if not piece:
                raise ValueError("brotli without its end")
            data += piece
    except brotli.error as error:
        raise ValueError(f"brotli: {error}") from error
    if len(data) > most:
        raise _streams.TooLarge
    return bytes(data)
