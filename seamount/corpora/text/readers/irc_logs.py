"""Logs of IRC channels: one document a channel and ISO week.

As the Pile did it: joins, parts, mode changes and other messages of the system are left out (their
number stands in `meta.system_lines`), actions (/me) are kept, times are taken away, and each day
that has a line begins with its date. Understood are irssi, weechat, ZNC, XChat/HexChat, eggdrop,
Ubuntu's archive and others that write `[time] <nick> text`.

A file belongs to the week that its path dates (`2004/07/05/#ubuntu.txt`, `#c_20200101.log`,
`2020-01-01.log`); in one without, lines of the log itself (`--- Day changed`, full dates) do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from seamount.core.errors import CorruptData
from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _encodings, _files, _irc_lines, _streams

COMPONENT = "Ubuntu IRC"
_WANTED = _files.with_suffix(".log", ".txt", ".weechatlog")
_DATE = re.compile(r"(?<!\d)(\d{4})([-_./]?)(\d{2})\2(\d{2})(?!\d)")
_ENDS = re.compile(r"\.(?:log|txt|weechatlog|gz|bz2|xz|zst)$", re.IGNORECASE)
_WEEK = re.compile(r"/\d{4}-W\d\d$")
_UNDATED = "undated"


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """One item a channel and week of the files whose path has a date, and one each other file.

    Files are those called .log, .txt or .weechatlog, compressed or not.
    """
    found = [item for item in _files.everything(url) if _WANTED(item.name)]
    return _files.named(_files.take(_files.grouped(found, _week_of), limit_bytes), url)


def _week_of(item: Item) -> str:
    day = _date_in(item.name)
    channel = _channel(item.name)
    return f"{channel}/{_week(day)}" if day else channel


def _date_in(name: str) -> date | None:
    """The last date in a path."""
    return next((day for _, day in _dates(name)), None)


def _dates(name: str) -> Iterator[tuple[re.Match[str], date]]:
    for found in reversed(list(_DATE.finditer(name))):
        try:
            yield found, date(int(found[1]), int(found[3]), int(found[4]))
        except ValueError:
            continue


def _channel(name: str) -> str:
    """The path without its date and ending: `irc/2004/07/05/#ubuntu.txt` gives `irc/#ubuntu`."""
    while _ENDS.search(name):
        name = _ENDS.sub("", name)
    for found, _ in _dates(name):
        name = name[: found.start()] + name[found.end() :]
    parts = (part.strip("_-. ") for part in name.split("/"))
    return "/".join(part for part in parts if part)


def _week(day: date | None) -> str:
    if day is None:
        return _UNDATED
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a week that has a line of talk; its id is the channel and the week."""
    dated = _WEEK.search(item.name) is not None
    weeks = _Weeks(item.name.rpartition("/")[0] if dated else item.name, component)
    for location in _files.locations(item):
        weeks.day = _date_in(location) if dated else None
        try:
            with _streams.opened(location) as stream:
                for line in _streams.lines(stream, 1 << 20):
                    yield from weeks.take(_encodings.decode(line.rstrip(b"\r\n"))[0], location)
        except CorruptData as error:
            yield Quarantined(location, 1, str(error), item.size_bytes)
    yield from weeks.finish()


class _Weeks:
    """Collects the lines of one channel and gives a document when a week is over."""

    def __init__(self, channel: str, component: str) -> None:
        self.channel, self.component = channel, component
        self.day: date | None = None
        self._written: date | None = None
        self._week = self._source = ""
        self._seen: dict[str, int] = {}
        self._lines: list[str] = []
        self._system = self._system_bytes = 0

    def take(self, line: str, source: str) -> Iterator[Document | Skipped]:
        """One line of a log; a document where it begins another week."""
        self.day = _irc_lines.day_of(line, self.day) or self.day
        if _week(self.day) != self._week:
            yield from self.finish()
            self._week, self._source = _week(self.day), source
        talk = _irc_lines.talk(line)
        if talk is None:
            self._system += bool(line.strip())
            self._system_bytes += len(line.encode())
            return
        if self.day is not None and self.day != self._written:
            self._lines.append(self.day.isoformat())
            self._written = self.day
        self._lines.append(talk)

    def finish(self) -> Iterator[Document | Skipped]:
        """The document of the week at hand; Skipped where only the system spoke."""
        name = f"{self.channel}/{self._week}"
        again = self._seen.get(name, 0)
        if self._lines:
            self._seen[name] = again + 1
            own = f"{name}~{again + 1}" if again else name  # a log that goes back in time
            meta = {"channel": self.channel.rpartition("/")[2], "system_lines": self._system}
            text = "\n".join(self._lines) + "\n"
            yield Document(text, self.component, own, self._source, meta)
        elif self._system:
            yield Skipped(self._source, "a week without talk", self._system_bytes)
        self._lines, self._written = [], None
        self._system = self._system_bytes = 0
