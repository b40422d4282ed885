"""The main text of a web page by resiliparse, whose time is bounded on whatever comes.

Its parser takes time in the square of the attributes of a tag and of open formatting tags, and its
extraction in the square of the depth (measured: minutes for 200 kB). So a page with too many tags,
attributes or levels is refused by counting, and on large pages formatting tags become `span`, which
changes no text. Nothing here depends on a clock: the same page always gives the same text.
"""

from __future__ import annotations

import re
from typing import Any

from seamount.corpora.text.readers import _encodings

MOST_BYTES = 8 << 20
_MOST_TAGS = 100_000
_MOST_ATTRIBUTES = 2_000
_MOST_LEVELS = 512  # what Chromium builds of a page
# Below these counts of tags the square costs less than the look at it.
_FEW_TAGS, _FEW_LEVELS = 1_000, 4_000
_LEAST_LONG_TAG = 2 * _MOST_ATTRIBUTES
_OPENING = re.compile("<[a-zA-Z]")
_TAG = re.compile(r"""<[a-zA-Z](?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+""")
_VALUE = re.compile(r"""=\s*(?:"[^"]*"|'[^']*'|[^\s>]*)""")
_ATTRIBUTE = re.compile(r"[^\s/]+")
# Formatting elements of HTML (13.2.4.3) but for `a`, of which only one is open at a time; and
# `option`, on which the parser takes square time too.
_FORMATTING = re.compile(
    r"<(/?)(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u|option|optgroup)(?=[\s/>])", re.I
)
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([a-zA-Z0-9_.:-]{1,40})""", re.I)
_HEAD_BYTES = 1024  # where HTML wants the charset to stand


def extract(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """(main text, why there is none) of a page, one of them empty; `declared` is its charset."""
    if len(data) > MOST_BYTES:
        return "", f"larger than {MOST_BYTES} bytes"
    if _encodings.is_binary(data):
        return "", "binary"
    named = _CHARSET.search(data[:_HEAD_BYTES])
    html, _ = _encodings.decode(data, declared or (named[1].decode() if named else None))
    tags = sum(1 for _ in _OPENING.finditer(html))
    if tags > _MOST_TAGS:
        return "", f"more than {_MOST_TAGS} tags"
    if any(_attributes(m[0]) > _MOST_ATTRIBUTES for m in _TAG.finditer(html)):
        return "", f"more than {_MOST_ATTRIBUTES} attributes in a tag"
    return _of_html(html.replace("\0", ""), tags)


def _attributes(tag: str) -> int:
    if len(tag) < _LEAST_LONG_TAG:
        return 0
    return sum(1 for _ in _ATTRIBUTE.finditer(_VALUE.sub(" ", tag))) - 1


def _of_html(html: str, tags: int) -> tuple[str, str]:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse(_FORMATTING.sub(r"<\1span", html) if tags > _FEW_TAGS else html)
    if tags > _FEW_LEVELS and _is_deeper(tree.document, _MOST_LEVELS):
        return "", f"more than {_MOST_LEVELS} levels"
    text = extract_plain_text(tree, main_content=True, alt_texts=False, comments=False)
    return (text, "") if text.strip() else ("", "no main text")


def _is_deeper(root: Any, most: int) -> bool:
    """Whether a node of the tree has more than `most` above it."""
    node, depth = root, 0
    while depth <= most:
        if (below := node.first_child) is not None:
            node, depth = below, depth + 1
            continue
        while depth and node.next is None:
            node, depth = node.parent, depth - 1
        if not depth:
            return False
        node = node.next
    return True
