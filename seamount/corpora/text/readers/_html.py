"""HTML to plain text: blocks on their own lines, `pre` as it stands, no script or style."""

from __future__ import annotations

import re

_PARAGRAPHS = frozenset(
    "address article aside blockquote body center details dl fieldset figure "  # noqa: SIM905
    "footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table ul".split()
)
_LINES = frozenset(
    "caption dd div dt figcaption legend li option summary tbody thead tr".split()  # noqa: SIM905
)
_HIDDEN = frozenset(
    "head noscript object script style svg template textarea title".split()  # noqa: SIM905
)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_TRAILING = re.compile(r"[ \t]+\n")


def to_text(html: str) -> str:
    """The visible text of an HTML document or fragment, however badly formed.

    libxml2's parser is used as a stream of events: it builds no tree, so depth costs nothing, and
    takes linear time on whatever it is given (the standard library's takes minutes on some 100 kB).
    """
    from lxml import etree

    renderer = _Renderer()
    parser = etree.HTMLParser(
        target=renderer, no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        parser.feed(html.replace("\0", "").encode("utf-8", "replace").decode())
        parser.close()
    except etree.XMLSyntaxError:
        pass  # nothing but space or comments
    return renderer.text()


class _Renderer:
    """Collects text; `_breaks` is how many line ends must stand before the next letter."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._breaks = self._hidden = self._pre = 0

    def text(self) -> str:
        """What was collected."""
        return _TRAILING.sub("\n", "".join(self._parts)).strip(" \n")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin a block, or hide what follows."""
        self._hidden += tag in _HIDDEN
        self._pre += tag == "pre"
        self._break(tag)
        if tag == "li":
            self._write("- ")
        elif tag == "br":
            self._write("\n")
        elif tag in ("td", "th") and not self._at_line_start():
            self._write("\t")

    def end(self, tag: str) -> None:
        """End a block."""
        self._hidden -= tag in _HIDDEN
        self._pre -= tag == "pre"
        self._break(tag)

    def data(self, data: str) -> None:
        """Text between tags; spaces outside `pre` are one space."""
        if self._pre:
            self._write(data)
            return
        data = _SPACE.sub(" ", data)
        if self._at_line_start():
            data = data.lstrip(" ")
        elif self._parts[-1].endswith((" ", "\t")):
            data = data.removeprefix(" ")
        self._write(data)

    def close(self) -> None:
        """The end of the document."""

    def _at_line_start(self) -> bool:
        return bool(self._breaks) or not self._parts or self._parts[-1].endswith("\n")

    def _break(self, tag: str) -> None:
        wanted = 2 if tag in _PARAGRAPHS else 1 if tag in _LINES else 0
        if wanted and self._parts and self._parts[-1] != "- ":
            self._breaks = max(self._breaks, wanted)

    def _write(self, data: str) -> None:
        if not data or self._hidden:
            return
        if self._breaks:
            ends = len(self._parts[-1]) - len(self._parts[-1].rstrip("\n"))
            self._parts.append("\n" * max(0, self._breaks - ends))
            self._breaks = 0
        self._parts.append(data)
