"""Hacker News items as JSON: one document a thread, the story and all comments below it.

The layout is the Pile's: title and poster, address, `======`, then for each comment its writer and
text; `------` stands between threads of comments, `~~~` before a reply. Items come in the API's
form, an object a line in any number of files and in any order (all files at the URL are one item,
since a thread may span them; rows are joined in a scratch SQLite file on disk), or as whole threads
with `children` (the search service's form).
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from seamount.core.errors import CorruptData
from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _files, _html, _json

COMPONENT = "HackerNews"
_WANTED = _files.with_suffix(".json", ".jsonl", ".ndjson")
_SCHEMA = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
CREATE TABLE item (
  id INTEGER PRIMARY KEY, parent INTEGER, by TEXT, title TEXT, url TEXT, text TEXT, time TEXT,
  score INTEGER
);
CREATE TABLE told (id INTEGER PRIMARY KEY);
"""
_TOP, _POSTED = 0, ("story", "job", "poll")


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """All files called .json, .jsonl or .ndjson, compressed or not, as one item."""
    found = _files.items(url, limit_bytes, lambda n: _WANTED(n) or _archives.is_archive(n))
    return [_files.group(found[0].name.partition("/")[0], found)]


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a story that has comments or text; its id is `TOP:` and the story's number."""
    with _scratch() as table:
        damage = None
        for location in _files.locations(item):
            try:
                yield from _fill(table, Item(item.name, location, 0, ""))
            except CorruptData as error:
                damage = damage or error
        yield from _threads(table, item, component)
        if damage:
            raise damage


@contextmanager
def _scratch() -> Iterator[sqlite3.Connection]:
    with (
        tempfile.TemporaryDirectory(prefix="seamount-threads-") as folder,
        closing(sqlite3.connect(Path(folder) / "items.sqlite", isolation_level=None)) as table,
    ):
        table.executescript(_SCHEMA)
        table.execute("BEGIN")
        yield table


def _fill(table: sqlite3.Connection, file: Item) -> Iterator[Quarantined | Skipped]:
    for record in _json.records(file, _WANTED):
        if not isinstance(record, _json.Record):
            yield record
            continue
        for value, parent in _unfolded(record.value):
            size = len(str(value.get("text") or value.get("title") or "").encode())
            if value.get("deleted") or value.get("dead"):
                yield Skipped(record.source, "deleted or dead", size)
                # Its replies still belong to the thread above it.
                value = {k: value.get(k) for k in ("id", "type")}
                gone = True
            else:
                gone = False
            if problem := _insert(table, value, parent, gone):
                yield Quarantined(record.source, record.number, problem, size)


def _unfolded(value: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """The object and, where it has `children`, all below it, each with its parent's number."""
    todo = [(value, value.get("parent", value.get("parent_id")))]
    while todo:
        one, parent = todo.pop()
        yield one, parent
        children = one.get("children")
        if isinstance(children, list):
            todo += [(c, one.get("id")) for c in children if isinstance(c, dict)]


def _insert(table: sqlite3.Connection, value: dict[str, Any], parent: Any, gone: bool) -> str:
    """Put an item into the table; why it cannot be, or nothing. One that is `gone` is told of."""
    text = {k: v if isinstance(v, str) else "" for k, v in value.items()}
    by = text.get("by") or text.get("author") or ""
    row = (
        value.get("id"),
        _TOP if text.get("type") in _POSTED or parent is None else parent,
        by,
        text.get("title", ""),
        text.get("url", ""),
        text.get("text", ""),
        str(value.get("time") or value.get("created_at") or ""),
        value.get("score") or value.get("points") or 0,
    )
    if not all(type(n) is int and 0 <= n < 1 << 63 for n in row[:2]):
        return "id or parent is no number"
    try:
        table.execute("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        if gone:
            _tell(table, row[0])
    except sqlite3.IntegrityError:
        return "an id that stood before"
    except (sqlite3.Error, OverflowError) as error:
        return f"a field that no item has: {error}"
    return ""


def _tell(table: sqlite3.Connection, own: Any) -> None:
    table.execute("INSERT OR IGNORE INTO told VALUES (?)", (own,))


def _threads(table: sqlite3.Connection, item: Item, component: str) -> Iterator[Document | Skipped]:
    table.execute("CREATE INDEX by_parent ON item (parent)")
    stories = (
        "SELECT id, by, title, url, text, time, score, id IN (SELECT id FROM told) FROM item "
        "WHERE parent = 0 ORDER BY id"
    )
    for own, by, title, url, text, time, score, gone in table.execute(stories):
        source = f"{item.name}:{own}"
        body = _html.to_text(text)
        comments, count = _comments(table, own)
        _tell(table, own)
        if not (body or comments):
            if not gone:
                yield Skipped(source, "story without comment or text", len(title.encode()))
            continue
        head = [f"{title} - {by}" if title and by else title, url, body]
        blocks = ["\n".join(part for part in head if part), "\n".join(comments)]
        meta = {"title": title, "url": url, "time": time, "score": score, "comments": count}
        shown = "\n======\n".join(b for b in blocks if b) + "\n"
        yield Document(shown, component, source, source, {k: v for k, v in meta.items() if v})
    rest = "SELECT id, text FROM item WHERE id NOT IN (SELECT id FROM told) ORDER BY id"
    for own, text in table.execute(rest):
        yield Skipped(f"{item.name}:{own}", "comment without its story", len(text.encode()))


def _comments(table: sqlite3.Connection, story: int) -> tuple[list[str], int]:
    """The comments below a story, depth first, oldest first, as lines with their dividers."""
    below = "SELECT id, by, text FROM item WHERE parent = ? ORDER BY id DESC"
    lines: list[str] = []
    todo = [(0, *row) for row in table.execute(below, (story,))]
    count = 0
    while todo:
        depth, own, by, text = todo.pop()
        _tell(table, own)
        todo += [(depth + 1, *row) for row in table.execute(below, (own,))]
        if shown := _html.to_text(text):
            count += 1
            divider = [] if not lines else ["", "~~~" if depth else "------"]
            lines += [*divider, by, shown] if by else [*divider, shown]
    return lines, count
