"""Technical prose: the interpreter's documentation topics, and the docstrings of Python files."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import platform
import re
from collections.abc import Iterator

from seamount.core.records import Document, Quarantined
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _python_files

_TOPIC = "topic:"
# A string that follows a line which ends in a colon, as the docstring of a class or function does.
_DOCSTRING = re.compile(r'[:\]][ \t]*\n\s*[rRuU]{0,2}("""|\'\'\')(.*?)\1', re.DOTALL)
_MODULE_DOCSTRING = re.compile(r'\s*(?:#[^\n]*\n\s*)*[rRuU]{0,2}("""|\'\'\')(.*?)\1', re.DOTALL)
_NAME = re.compile(r"\b(?:def|class)\s+(\w+)")
_LOOK_BACK = 2_000  # characters before a docstring within which its name is looked for


def items(limit_bytes: int) -> list[Item]:
    """All topics, then one Python file in four."""
    topics = [
        Item(f"topics/{name}", _TOPIC + name, len(text.encode()), platform.python_version())
        for name, text in sorted(_topics().items())
    ]
    rest = limit_bytes - sum(t.size_bytes for t in topics)
    if rest <= 0:
        return topics[: max(1, len(topics) * limit_bytes // (limit_bytes - rest))]
    # About a fifth of a file is docstrings.
    return topics + _python_files.select(5 * rest, for_documentation=True)


def read(item: Item, component: str) -> Iterator[Document | Quarantined]:
    """One document: a topic, or all docstrings of one file under their names."""
    if item.location.startswith(_TOPIC):
        text: str | Quarantined = _topics()[item.location.removeprefix(_TOPIC)]
    else:
        text = _python_files.read_text(item)
    if isinstance(text, Quarantined):
        yield text
        return
    if not item.location.startswith(_TOPIC):
        text = _docstrings(text)
    if text:
        yield Document(text, component, item.name, item.name)


def _topics() -> dict[str, str]:
    """Documentation topics of the interpreter; none where it comes without them."""
    if importlib.util.find_spec("pydoc_data") is None:
        return {}
    return importlib.import_module("pydoc_data.topics").topics


def _docstrings(source: str) -> str:
    sections = []
    if first := _MODULE_DOCSTRING.match(source):
        sections.append(inspect.cleandoc(first[2]))
    for found in _DOCSTRING.finditer(source, first.end() if first else 0):
        names = _NAME.findall(source, max(0, found.start() - _LOOK_BACK), found.start())
        body = inspect.cleandoc(found[2])
        sections.append(f"{names[-1]}\n\n{body}" if names else body)
    return "\n\n".join(s for s in sections if s)
