"""The main text of a web page by resiliparse, whose time is bounded on whatever comes.

Its parser takes time in the square of a page's different attribute names, options and open
formatting tags, and its extraction in the square of the depth (minutes for 200 kB). So a page with
too many tags, names or levels is refused by counting, and on large pages formatting tags become
`span` and options `br`, which changes no main text. Nothing here depends on a clock: the same page
always gives the same text.
"""

from __future__ import annotations

import re
from typing import Any

from seamount.corpora.text.readers import _encodings

MOST_BYTES = 8 << 20
_MOST_TAGS = 100_000
_MOST_NAMES = 2_000
_MOST_LEVELS = 512  # what Chromium builds of a page
# Below these counts of tags the square costs less than the look at it.
_FEW_TAGS, _FEW_LEVELS = 1_000, 4_000
_OPENING = re.compile("<[a-zA-Z]")
_TAG = re.compile(r"""<[a-zA-Z](?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+""")
_VALUE = re.compile(r"""=\s*(?:"[^"\0]*"|'[^'\0]*'|[^\s>\0]*)""")
_NAME = re.compile(r"[^\s/\0]+")
# Formatting elements of HTML (13.2.4.3) but for `a`, of which only one is open at a time.
_FORMATTING = re.compile(
    r"<(/?)(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/>])", re.I
)
_OPTION = re.compile(r"<(/?)(?:option|optgroup)(?=[\s/>])", re.I)
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
    html = html.replace("\0", "")
    if _attribute_names(html) > _MOST_NAMES:
        return "", f"more than {_MOST_NAMES} attribute names"
    return _of_html(html, tags)


def _attribute_names(html: str) -> int:
    """How many different names the attributes of a page have, counting those of tags too."""
    tags = "\0".join(_TAG.findall(html))
    return len(set(_NAME.findall(_VALUE.sub(" ", tags))))


def _of_html(html: str, tags: int) -> tuple[str, str]:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    if tags > _FEW_TAGS:
        html = _OPTION.sub(r"<\1br", _FORMATTING.sub(r"<\1span", html))
    tree = HTMLTree.parse(html)
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
