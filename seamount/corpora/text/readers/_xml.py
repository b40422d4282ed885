"""XML that may be hostile: no entity is expanded, nothing is fetched, memory is bounded.

Sizes come from libxml2's own limits: 256 levels, 10 MB in one text or attribute.
"""

from __future__ import annotations

import html.entities
from collections.abc import Iterator
from typing import IO, Any

from lxml import etree

from seamount.core.errors import CorruptData

_CHUNK = 1 << 16
MOST_RECORD_BYTES = 256 << 20
_SAFE: dict[str, Any] = {
    "resolve_entities": False,
    "load_dtd": False,
    "no_network": True,
    "remove_comments": True,
    "remove_pis": True,
    "huge_tree": False,
}
Element = Any


class NotXml(ValueError):
    """Why bytes are no XML document."""


def parse(data: bytes) -> Element:
    """The root of one document; raises NotXml."""
    parser = etree.XMLParser(**_SAFE)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        raise NotXml(f"not well-formed XML: {_reason(error)}") from error
    if root is None:
        raise NotXml("not well-formed XML: no element")
    return root


def _reason(error: Exception) -> str:
    return str(error).partition(" (<string>")[0]


def records(stream: IO[bytes], name: str, *tags: str) -> Iterator[Element]:
    """Each element below the root that is called as one of `tags`,.

    An element is emptied once the next one is asked for. Raises CorruptData naming the file, after
    the sound records, where the document is damaged, cut short, or has a record beyond 256 MiB.
    """
    parser = etree.XMLPullParser(("start", "end"), **_SAFE)
    depth = since = 0
    while True:
        chunk = stream.read(_CHUNK)
        damage = _feed(parser, chunk)
        since += len(chunk)
        for event, element in parser.read_events():
            depth += 1 if event == "start" else -1
            if event == "end" and depth == 1:
                if local_name(element) in tags:
                    yield element
                _forget(element)
                since = 0
        if damage:
            raise CorruptData(f"{name} is damaged or cut short: {damage}")
        if since > MOST_RECORD_BYTES:
            raise CorruptData(f"{name} has a record of more than {MOST_RECORD_BYTES} bytes")
        if not chunk:
            return


def _feed(parser: Any, chunk: bytes) -> str:
    """Give the parser more, or (no bytes) the end; the damage in words, or nothing."""
    try:
        if chunk:
            parser.feed(chunk)
        else:
            parser.close()
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        return _reason(error)
    return ""


def _forget(element: Element) -> None:
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def local_name(element: Element) -> str:
    """The element's name without its namespace; empty for entities and instructions."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def find(element: Element, *path: str) -> Element | None:
    """The first element down `path`, whatever the namespaces."""
    for name in path:
        element = next((child for child in element if local_name(child) == name), None)
        if element is None:
            return None
    return element


def find_all(element: Element, name: str) -> Iterator[Element]:
    """All descendants called `name`, in order of the document."""
    return (e for e in element.iter() if local_name(e) == name)


def text_of(element: Element | None) -> str:
    """All text in an element as one line; an entity becomes its letter where HTML knows it."""
    if element is None:
        return ""
    return " ".join(raw_text(element).split())


def raw_text(element: Element) -> str:
    """All text in an element, spaces as they stand."""
    parts = []
    for event, node in walk(element):
        if event == "start":
            parts.append(own_text(node))
        elif node is not element:
            parts.append(node.tail or "")
    return "".join(parts)


def walk(element: Element) -> Iterator[tuple[str, Element]]:
    """("start", node) before and ("end", node) after each node below and with `element`."""
    yield from etree.iterwalk(element, ("start", "end"))


def own_text(node: Element) -> str:
    """The text at the start of an element, or the letter of an entity; nothing for others."""
    if node.tag is etree.Entity:
        return html.entities.html5.get(f"{node.name};", node.text)
    return (node.text or "") if isinstance(node.tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """The attribute called `name`, whatever its namespace; empty where it is missing."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return ""
