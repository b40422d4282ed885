"""The text of a JATS element as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from seamount.corpora.text.readers import _xml

_GONE = frozenset(
    "ref-list fn-group graphic inline-graphic media supplementary-material "  # noqa: SIM905
    "object-id label contrib-group aff author-notes permissions kwd-group index-term".split()
)
_BLOCKS = frozenset(
    "abstract body sec p list list-item def-list def-item fig fig-group "  # noqa: SIM905
    "table-wrap caption boxed-text disp-quote disp-formula disp-formula-group statement "
    "verse-group verse-line speech title table-wrap-foot preformat term def attrib tr sig-block "
    "ack".split()
)
_MARKS = {"sup": "^", "sub": "~"}
_TEX = re.compile(r"\\begin\{document\}(.*?)\\end\{document\}", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]+")


def markdown(element: _xml.Element | None, level: int = 1) -> str:
    """Paragraphs, headings below `level`, list lines and table rows; empty for None."""
    if element is None:
        return ""
    writer = _Writer(level)
    for event, node in _xml.walk(element):
        if event == "start":
            writer.start(node)
        else:
            writer.end(node, node is element)
    return "\n\n".join(writer.blocks())


class _Writer:
    """Collects lines; text below an element that goes is left out, its tail is not."""

    def __init__(self, level: int) -> None:
        self._blocks: list[str] = []
        self._line: list[str] = []
        self._level = level
        self._gone = 0
        self._in_row = False

    def start(self, node: _xml.Element) -> None:
        """Before an element's own text."""
        name = _xml.local_name(node)
        if self._gone or name in _GONE or self._is_second_form(node, name):
            self._gone += 1
            return
        self._level += name == "sec"
        if name in _BLOCKS:
            self._close()
        if name == "list-item":
            self._line.append("- ")
        elif name == "title" and _xml.local_name(node.getparent()) == "sec":
            self._line.append("#" * min(6, self._level) + " ")
        elif name in ("td", "th"):
            self._line.append(" | " if self._in_row else "")
            self._in_row = True
        self._line.append(_MARKS.get(name, "") + self._own(node, name))

    def end(self, node: _xml.Element, last: bool) -> None:
        """After an element; its tail belongs to what is around it."""
        name = _xml.local_name(node)
        if self._gone:
            self._gone -= 1
        else:
            self._line.append(_MARKS.get(name, ""))
            self._level -= name == "sec"
            if name in _BLOCKS:
                self._close()
        if not self._gone and not last:
            self._line.append(node.tail or "")

    def _is_second_form(self, node: _xml.Element, name: str) -> bool:
        """Whether a formula stands here once more, as MathML beside its TeX."""
        if name != "math":
            return False
        parent = node.getparent()
        return parent is not None and any(_xml.local_name(s) == "tex-math" for s in parent)

    def _own(self, node: _xml.Element, name: str) -> str:
        text = _xml.own_text(node)
        if name == "tex-math" and (found := _TEX.search(text)):
            return found[1].strip()
        return text

    def _close(self) -> None:
        text = _SPACE.sub(" ", "".join(self._line)).strip()
        if text == "-":  # a list item's paragraph follows
            self._line = ["- "]
            return
        self._line, self._in_row = [], False
        if text.strip("#- "):
            self._blocks.append(text)

    def blocks(self) -> Iterator[str]:
        """The paragraphs, in order."""
        self._close()
        return iter(self._blocks)
