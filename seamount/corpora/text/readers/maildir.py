"""Mail: maildir folders, mbox files, and folders of single messages as in the Enron release.

One document a message: its subject, an empty line, its text. Text parts are decoded by their
charset, or by detection where that is wrong; of alternatives the plain one is taken, HTML becomes
text, attachments are left out. `meta` keeps subject, date and message_id, not the people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

from seamount.core.errors import CorruptData
from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _files, _mail_message, _streams

COMPONENT = "Enron Emails"
_MOST_MESSAGE_BYTES = 64 << 20
_FROM = re.compile(rb"From \S.*\d{4}|From [^\r\n]*@")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Every file but those in a maildir's `tmp`, which are not delivered yet, and its indexes."""
    found = [i for i in _files.everything(url, hidden=True) if _is_mail(i.name)]
    return _files.named(_files.take(found, limit_bytes), url)


def _is_mail(name: str) -> bool:
    *folders, file = name.split("/")
    return not file.startswith((".", "dovecot")) and folders[-1:] != ["tmp"]


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a message; its id is the file's name, with the number in an mbox or archive."""
    if _archives.is_archive(item.location):
        for file in _archives.files(item, _is_mail, _MOST_MESSAGE_BYTES):
            if isinstance(file, _archives.File):
                yield _mail_message.document(file.data, component, file.id, file.source)
            else:
                yield file
        return
    try:
        with _streams.opened(item.location) as stream:
            yield from _messages(stream, item, component)
    except CorruptData as error:
        yield Quarantined(item.location, 1, str(error), item.size_bytes)


def _messages(
    stream: IO[bytes], item: Item, component: str
) -> Iterator[Document | Quarantined | Skipped]:
    first = stream.readline(_MOST_MESSAGE_BYTES)
    if not _FROM.match(first):
        data = first + stream.read(_MOST_MESSAGE_BYTES)
        if len(data) > _MOST_MESSAGE_BYTES:
            yield Skipped(
                item.location, f"larger than {_MOST_MESSAGE_BYTES} bytes", item.size_bytes
            )
        else:
            yield _mail_message.document(data, component, item.name, item.location)
        return
    for number, (mail, size) in enumerate(_of_mbox(stream), 1):
        source = f"{item.location}:{number}"
        if mail is None:
            yield Skipped(source, f"larger than {_MOST_MESSAGE_BYTES} bytes", size)
        else:
            yield _mail_message.document(mail, component, f"{item.name}:{number}", source)


def _of_mbox(stream: IO[bytes]) -> Iterator[tuple[bytes | None, int]]:
    """Each message after the first `From ` line and its size; None for one beyond the bound.

    A message ends before a `From ` line that follows an empty line; `>From ` is unquoted.
    """
    kept: list[bytes] = []
    size = 0
    after_blank = False
    while line := stream.readline(1 << 20):
        if after_blank and _FROM.match(line):
            yield _joined(kept, size), size
            kept, size = [], 0
            continue
        size += len(line)
        if size <= _MOST_MESSAGE_BYTES:
            kept.append(line)
        after_blank = line in (b"\n", b"\r\n")
    yield _joined(kept, size), size


def _joined(lines: list[bytes], size: int) -> bytes | None:
    if size > _MOST_MESSAGE_BYTES:
        return None
    return _QUOTED_FROM.sub(rb"\1", b"".join(lines))
