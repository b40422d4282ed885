"""StackExchange's Posts.xml: a question with its best answers, in the Pile's `Q:` / `A:` layout.

Up to `most_answers` answers of at least `least_votes` votes, best first, then by their number. A
question without such an answer is passed over, as in the Pile, and so is every row that ends in no
document. Answers may stand anywhere in the file: rows go to a scratch SQLite file on disk (about as
large as the dump; TMPDIR says where) and are joined from there, so memory does not grow with it.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from seamount.core.errors import CorruptData
from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _files, _html, _streams, _xml

COMPONENT = "StackExchange"
_QUESTION, _ANSWER = "1", "2"
_TAGS = re.compile(r"[<|]([^<>|]+)")
_SCHEMA = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
CREATE TABLE question (id INTEGER PRIMARY KEY, title TEXT, body TEXT, meta TEXT);
CREATE TABLE answer (id INTEGER PRIMARY KEY, parent INTEGER, score INTEGER, body TEXT);
"""
_BEST = """
SELECT id, body, score >= :votes AND rank <= :most FROM (
  SELECT id, body, score, row_number() OVER (ORDER BY score DESC, id) AS rank
  FROM answer WHERE parent = :question) ORDER BY rank
"""
_ORPHANS = """
SELECT id, body FROM answer WHERE parent NOT IN (SELECT id FROM question) ORDER BY id
"""


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called Posts.xml or ending in .Posts.xml or -Posts.xml, compressed or not."""
    return _files.items(url, limit_bytes, _files.with_suffix("posts.xml"))


def read(
    item: Item, component: str, *, least_votes: int = 3, most_answers: int = 3
) -> Iterator[Document | Quarantined | Skipped]:
    """One document a question that has an answer to show; its id is the file's name and its own.

    A dump that is cut short gives what it held, then CorruptData.
    """
    with _scratch() as table:
        damage = None
        try:
            yield from _fill(table, item)
        except CorruptData as error:
            damage = error
        yield from _joined(table, item, component, least_votes, most_answers)
        if damage:
            raise damage


@contextmanager
def _scratch() -> Iterator[sqlite3.Connection]:
    with (
        tempfile.TemporaryDirectory(prefix="seamount-posts-") as folder,
        closing(sqlite3.connect(Path(folder) / "posts.sqlite", isolation_level=None)) as table,
    ):
        table.executescript(_SCHEMA)
        table.execute("BEGIN")
        yield table


def _fill(table: sqlite3.Connection, item: Item) -> Iterator[Quarantined | Skipped]:
    with _streams.opened(item.location) as stream:
        for number, row in enumerate(_xml.records(stream, item.location, "row"), 1):
            kind, body = row.get("PostTypeId"), row.get("Body") or ""
            source = f"{item.location}:{row.get('Id', f'row {number}')}"
            size = len(body.encode())
            if kind not in (_QUESTION, _ANSWER):
                yield Skipped(source, "neither question nor answer", size)
                continue
            problem = _insert(table, row, kind, body)
            if problem:
                yield Quarantined(source, number, problem, size)


def _insert(table: sqlite3.Connection, row: _xml.Element, kind: str, body: str) -> str:
    """Put a row into its table; why it cannot be, or nothing."""
    try:
        own = int(row.get("Id", ""))
        if kind == _QUESTION:
            values: tuple[Any, ...] = (own, row.get("Title") or "", body, _meta(row))
            table.execute("INSERT INTO question VALUES (?, ?, ?, ?)", values)
        else:
            parent, score = int(row.get("ParentId", "")), int(row.get("Score") or 0)
            table.execute("INSERT INTO answer VALUES (?, ?, ?, ?)", (own, parent, score, body))
    except (ValueError, OverflowError):
        return "no number where one is needed in Id, ParentId or Score"
    except sqlite3.IntegrityError:
        return "an Id that stood before"
    return ""


def _meta(row: _xml.Element) -> str:
    import json

    meta: dict[str, Any] = {
        "title": row.get("Title"),
        "score": row.get("Score"),
        "date": row.get("CreationDate"),
        "licence": row.get("ContentLicense"),
        "tags": _TAGS.findall(row.get("Tags") or ""),
    }
    return json.dumps({k: v for k, v in meta.items() if v})


def _joined(
    table: sqlite3.Connection, item: Item, component: str, votes: int, most: int
) -> Iterator[Document | Skipped]:
    table.execute("CREATE INDEX by_parent ON answer (parent)")
    for own, title, body, meta in table.execute("SELECT * FROM question ORDER BY id"):
        source = f"{item.location}:{own}"
        best = {"votes": votes, "most": most, "question": own}
        chosen = []
        for answer, text, shown in table.execute(_BEST, best):
            if shown:
                chosen.append(text)
            else:
                size = len(text.encode())
                yield Skipped(f"{item.location}:{answer}", "answer not among the best", size)
        if not chosen:
            size = len(title.encode()) + len(body.encode())
            yield Skipped(source, f"no answer with {votes} votes", size)
            continue
        yield _document(own, title, [body, *chosen], meta, item, component)
    for own, body in table.execute(_ORPHANS):
        yield Skipped(f"{item.location}:{own}", "answer without its question", len(body.encode()))


def _document(
    own: int, title: str, bodies: list[str], meta: str, item: Item, component: str
) -> Document:
    import json

    question, *answers = [_html.to_text(body) for body in bodies]
    parts = ["Q:", title, question] if title else ["Q:", question]
    for answer in answers:
        parts += ["A:", answer]
    text = "\n\n".join(parts) + "\n"
    kept = {**json.loads(meta), "answers": len(answers)}
    return Document(text, component, f"{item.name}:{own}", f"{item.location}:{own}", kept)
