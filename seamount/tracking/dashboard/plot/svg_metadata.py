"""The description of a picture in an SVG's <metadata>, beside it Dublin Core's terms in RDF."""

from __future__ import annotations

import re
import xml.parsers.expat
from typing import TYPE_CHECKING

from seamount.core.errors import CorruptData

if TYPE_CHECKING:
    from seamount.tracking.dashboard.plot.embedded import Embedded

NAMESPACE = "urn:seamount:picture:1"
_ELEMENT = f"{NAMESPACE} view"


def put(svg: bytes, embedded: Embedded, text: str) -> bytes:
    """`svg` with its title and <metadata> after the opening tag."""
    from xml.sax.saxutils import escape

    def tag(name: str, value: str) -> str:
        return f"<{name}>{escape(_legal(value))}</{name}>"

    inside = (
        tag("title", embedded.title)
        + '<metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><rdf:Description rdf:about="">'
        + tag("dc:title", embedded.title)
        + tag("dc:creator", embedded.software)
        + tag("dc:source", embedded.source)
        + tag("dc:date", embedded.created)
        + "</rdf:Description></rdf:RDF>"
        + f'<view xmlns="{NAMESPACE}">{escape(_legal(text))}</view></metadata>'
    )
    opening = re.search(rb"<svg[^>]*>", svg)
    assert opening is not None  # matplotlib's own output
    return svg[: opening.end()] + inside.encode() + svg[opening.end() :]


def find(svg: bytes, limit: int) -> str | None:
    """The description's text, None where there is none; entities are not expanded.

    Raises CorruptData for what is not XML, and for a text of more than `limit` bytes.
    """
    reader, found = _Reader(limit), None
    try:
        reader.parser.Parse(svg, True)
    except xml.parsers.expat.ExpatError as error:
        raise CorruptData(f"this SVG is damaged: {error}") from error
    if reader.pieces is not None:
        found = "".join(reader.pieces)
    return found


class _Reader:
    """Collects the text of the first element of ours."""

    def __init__(self, limit: int) -> None:
        self.pieces: list[str] | None = None
        self._limit, self._inside, self._size = limit, False, 0
        self.parser = xml.parsers.expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._entity

    def _start(self, name: str, _: object) -> None:
        if name == _ELEMENT and self.pieces is None:
            self.pieces, self._inside = [], True

    def _end(self, name: str) -> None:
        self._inside = self._inside and name != _ELEMENT

    def _text(self, text: str) -> None:
        if self._inside and self.pieces is not None:
            self._size += len(text.encode())
            if self._size > self._limit:
                raise CorruptData(f"the picture's description has more than {self._limit:,} bytes")
            self.pieces.append(text)

    def _entity(self, *_: object) -> None:
        raise CorruptData("this SVG declares entities: it was not made by seamount")


def _legal(text: str) -> str:
    """Without the characters that XML 1.0 has not."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
