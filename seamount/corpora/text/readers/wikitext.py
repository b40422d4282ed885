"""MediaWiki dumps (`pages-articles.xml`, .bz2 too): title, two line ends and the text of each page.

Redirects, other namespaces than articles and other content than wikitext are passed over. Wikitext
becomes text through mwparserfromhell: links and styles give their words; templates, tables, files,
references and categories go, and so do headings with nothing left below them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _files, _streams, _xml

COMPONENT = "Wikipedia (en)"
# Wikitext lets pages be 2 MB; a longer one is no page and would take the parser minutes.
_MOST_PAGE_CHARACTERS = 4_000_000
_GONE_TAGS = frozenset({"ref", "table", "gallery", "timeline", "imagemap", "score", "graph"})
# `[[File:...]]` in the languages of the larger Wikipedias; other prefixes are told by the dump.
_FILES = ("file", "image", "media", "category")
_INTERLANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z-]+)?$")
_HEADING = re.compile(r"^(=+) *(.+?) *=+$", re.MULTILINE)
_BLANKS = re.compile(r"\n{3,}")
_DUMP = re.compile(r"\.xml(?:-p\d+p\d+[^/.]*)?(?:\.(?:gz|bz2|xz|zst))?$", re.IGNORECASE)
# mwparserfromhell takes time as unclosed brackets times length: a minute for 200 kB of `{{a|`.
_KINDS = {"{{": "{", "}}": "{", "[[": "[[", "]]": "[[", "[": "[", "]": "["}
_MOST_WORK = 50_000_000
_BRACKETS = re.compile(r"(\{\{|\[\[|\[(?=\w+:)|<\w[^<>]*(?<!/)>)|(\}\}|\]\]|\]|</\w+)")
_REDIRECT = re.compile(r"\s*#REDIRECT\b", re.IGNORECASE)


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .xml or, as parts of a dump are, .xml-p1p41242, compressed or not."""
    return _files.items(url, limit_bytes, lambda name: _DUMP.search(name) is not None)


def read(
    item: Item, component: str, *, namespaces: tuple[int, ...] = (0,)
) -> Iterator[Document | Quarantined | Skipped]:
    """One document a page of `namespaces`; its id is the file's name and the page's number."""
    wanted = {str(n) for n in namespaces}
    gone = set(_FILES)
    with _streams.opened(item.location) as stream:
        for element in _xml.records(stream, item.location, "siteinfo", "page"):
            if _xml.local_name(element) == "siteinfo":
                gone |= _file_prefixes(element)
            else:
                yield _page(element, item, component, wanted, gone)


def _file_prefixes(site: _xml.Element) -> set[str]:
    """What this wiki calls its namespaces 6 (files) and 14 (categories)."""
    names = _xml.find(site, "namespaces")
    found = [] if names is None else [n for n in names if n.get("key") in ("6", "14")]
    return {_xml.text_of(n).lower() for n in found} - {""}


def _page(
    page: _xml.Element, item: Item, component: str, wanted: set[str], gone: set[str]
) -> Document | Quarantined | Skipped:
    number = _xml.text_of(_xml.find(page, "id"))
    title = _xml.text_of(_xml.find(page, "title"))
    source = f"{item.location}:{number or title}"
    namespace = _xml.text_of(_xml.find(page, "ns")) or "0"
    revision = _last_revision(page)
    body = None if revision is None else _xml.find(revision, "text")
    source_text = "" if body is None else _xml.raw_text(body)
    model = "" if revision is None else _xml.text_of(_xml.find(revision, "model"))
    reason = "" if revision is not None else "no revision"
    reason = reason or _passed_over(page, namespace, model, source_text, wanted)
    if reason:
        return Skipped(source, reason, len(source_text.encode()))
    if _unclosed(source_text) * len(source_text) > _MOST_WORK:
        size = len(source_text.encode())
        return Quarantined(source, 1, "too many brackets that are never closed", size)
    try:
        text = to_text(source_text, frozenset(gone))
    except Exception as error:  # a parser's fault on one odd page must not end a dump
        reason = f"wikitext not readable: {type(error).__name__}: {error}"
        return Quarantined(source, 1, reason[:300], len(source_text.encode()))
    meta = {"title": title, "revision": _xml.text_of(_xml.find(revision, "id"))}
    return Document(f"{title}\n\n{text}", component, f"{item.name}:{number or title}", source, meta)


def _last_revision(page: _xml.Element) -> _xml.Element | None:
    """The newest revision, which dumps of whole histories put last."""
    return next((e for e in reversed(page) if _xml.local_name(e) == "revision"), None)


def _passed_over(
    page: _xml.Element, namespace: str, model: str, text: str, wanted: set[str]
) -> str:
    if namespace not in wanted:
        return f"namespace {namespace}" if namespace.lstrip("-").isdigit() else "namespace unknown"
    if _xml.find(page, "redirect") is not None or _REDIRECT.match(text):
        return "redirect"
    if model not in ("", "wikitext"):
        return "not wikitext"
    if len(text) > _MOST_PAGE_CHARACTERS:
        return f"longer than {_MOST_PAGE_CHARACTERS} characters"
    return ""


def _unclosed(text: str) -> int:
    """How many brackets and tags stand open at the end; one closed before it opens counts not."""
    depth: dict[str, int] = {}
    for opened, closed in _BRACKETS.findall(text):
        kind = _KINDS.get(opened or closed, "<")
        depth[kind] = depth.get(kind, 0) + 1 if opened else max(0, depth.get(kind, 0) - 1)
    return sum(depth.values())


def to_text(wikitext: str, gone: frozenset[str] = frozenset(_FILES)) -> str:
    """Plain text of a page; `gone` are lower-case prefixes of links that are no words."""
    import mwparserfromhell

    code = mwparserfromhell.parse(wikitext, skip_style_tags=False)
    text = "".join(_words(code, gone))
    lines = (line.strip() for line in text.split("\n"))
    return _without_empty_headings(_BLANKS.sub("\n\n", "\n".join(lines)).strip())


def _words(code: Any, gone: frozenset[str]) -> Iterator[str]:
    from mwparserfromhell import nodes

    for node in code.nodes:
        if isinstance(node, nodes.Wikilink):
            yield from _link(node, gone)
        elif isinstance(node, nodes.Tag):
            yield from _tag(node, gone)
        elif isinstance(node, nodes.Heading):
            words = "".join(_words(node.title, gone)).strip()
            yield f"{'=' * node.level} {words} {'=' * node.level}"
        elif isinstance(node, nodes.ExternalLink):
            yield from (
                _words(node.title, gone) if node.title else () if node.brackets else [str(node.url)]
            )
        elif isinstance(node, nodes.HTMLEntity):
            yield _letter(node)
        elif isinstance(node, nodes.Text):
            yield str(node.value)


def _letter(entity: Any) -> str:
    letter = str(entity.normalize())
    return "\ufffd" if "\ud800" <= letter <= "\udfff" else letter


def _link(link: Any, gone: frozenset[str]) -> Iterator[str]:
    target = str(link.title).strip()
    prefix = target.partition(":")[0].strip().lower() if ":" in target else ""
    if not target.startswith(":") and (prefix in gone or _INTERLANGUAGE.match(prefix)):
        return
    yield from _words(link.text, gone) if link.text is not None else [target.removeprefix(":")]


def _tag(tag: Any, gone: frozenset[str]) -> Iterator[str]:
    name = str(tag.tag).strip().lower()
    if name in _GONE_TAGS or not tag.contents:
        yield "\n" if name in ("br", "hr") else ""
    elif name in ("math", "chem", "nowiki", "pre", "source", "syntaxhighlight"):
        yield str(tag.contents)
    else:
        yield from _words(tag.contents, gone)


def _without_empty_headings(text: str) -> str:
    """Headings lose their signs; those with nothing before the next of their level or above go."""
    kept: list[str] = []
    below = 1  # level of the heading that stands next below, 0 for text; the end is as a title
    for line in reversed(text.split("\n")):
        found = _HEADING.match(line)
        level = len(found[1]) if found else 0
        if found and 0 < below <= level:
            continue
        kept.append(found[2] if found else line)
        below = level if line else below
    return _BLANKS.sub("\n\n", "\n".join(reversed(kept))).strip()
