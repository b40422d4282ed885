"""The background section of a patent's XML, in the forms of USPTO's red book since 2001."""

from __future__ import annotations

import re
from collections.abc import Iterator

from seamount.corpora.text.readers import _xml

_ROOTS = frozenset(
    {"us-patent-grant", "us-patent-application", "patent-application-publication", "PATDOC"}
)
_DESCRIPTIONS = ("description", "subdoc-description", "SDODE")
_HEADINGS = frozenset({"heading", "H", "STEXT"})
_PARAGRAPHS = frozenset({"p", "paragraph", "PARA"})
_BEGINS = re.compile(r"\b(?:background|field|prior art|related art|related technology)\b", re.I)
_BACKGROUND = re.compile(r"\b(?:background|prior art|related art|related technology)\b", re.I)
_ENDS = re.compile(
    r"\b(?:summary|brief|drawings?|figures|detailed|disclosure|description of (?:the|an?|preferred|"
    r"embodiments?|several|various)|embodiments?|examples?|best mode|objects?|advantages|claims?|"
    r"means for solving|technical problem|solution to problem)\b",
    re.I,
)
_CROSS_REFERENCE = re.compile(
    r"\b(?:cross.?reference|priority|government|federally|related app)", re.I
)
_GONE = frozenset({"maths", "math", "tables", "table", "img", "chemistry", "CWU", "number"})
_BIBLIOGRAPHIES = ("publication-reference", "subdoc-bibliographic-information", "B100")


def is_patent(kind: str) -> bool:
    """Whether a root element of this name is a patent (and no sequence listing)."""
    return kind in _ROOTS


def background(root: _xml.Element) -> str:
    """Headings and paragraphs of the section, two line ends apart; empty where there is none."""
    kept: list[str] = []
    inside = named = False
    for is_heading, text in _blocks(root):
        if is_heading and _is_end(text):
            if inside and named:
                break
            inside, kept = False, []
        elif is_heading and _BEGINS.search(text) and not _CROSS_REFERENCE.search(text):
            inside = True
        elif is_heading and _CROSS_REFERENCE.search(text) and not named:
            inside = False
        named = named or (inside and is_heading and bool(_BACKGROUND.search(text)))
        if inside:
            kept.append(text)
    has_text = named and any(len(block.split()) > 12 for block in kept)
    return "\n\n".join(kept) + "\n" if has_text else ""


def _is_end(heading: str) -> bool:
    """Another section's heading; `Description of the Related Art` is part of the background."""
    return bool(_ENDS.search(heading)) and not _BACKGROUND.search(heading)


def _blocks(root: _xml.Element) -> Iterator[tuple[bool, str]]:
    for part in root.iter():
        if _xml.local_name(part) not in _DESCRIPTIONS:
            continue
        for element in part.iter():
            name = _xml.local_name(element)
            if name in _HEADINGS and not _is_nested(element, _HEADINGS):
                yield True, _xml.text_of(element)
            elif name in _PARAGRAPHS and not _is_nested(element, _PARAGRAPHS | _HEADINGS):
                yield False, _text(element)
        return


def _is_nested(element: _xml.Element, names: frozenset[str]) -> bool:
    return any(_xml.local_name(above) in names for above in element.iterancestors())


def _text(element: _xml.Element) -> str:
    parts: list[str] = []
    gone = 0
    for event, node in _xml.walk(element):
        hidden = _xml.local_name(node) in _GONE
        gone += hidden and event == "start"
        if event == "start" and not gone:
            parts.append(_xml.own_text(node))
        gone -= hidden and event == "end"
        if event == "end" and not gone and node is not element:
            parts.append(node.tail or "")
    return " ".join("".join(parts).split())


def meta(root: _xml.Element) -> dict[str, object]:
    """number, kind, title, date and year, as far as the document tells them."""
    place = _first(root, *_BIBLIOGRAPHIES)
    found: dict[str, object] = {}
    if place is not None:
        found["number"] = _told(place, "doc-number", "B110")
        found["kind"] = _told(place, "kind", "B130", "kind-code")
        found["date"] = _told(place, "date", "B140", "document-date")
    found["title"] = _xml.text_of(_first(root, "invention-title", "title-of-invention", "B540"))
    if str(found.get("date", ""))[:4].isdigit():
        found["year"] = int(str(found["date"])[:4])
    return {name: value for name, value in found.items() if value}


def _first(root: _xml.Element, *names: str) -> _xml.Element | None:
    for name in names:
        if (element := next(_xml.find_all(root, name), None)) is not None:
            return element
    return None


def _told(place: _xml.Element, *names: str) -> str:
    return _xml.text_of(_first(place, *names))
