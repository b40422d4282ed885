"""One line of a channel's log: the day it tells, and what someone said in it."""

from __future__ import annotations

import re
from datetime import date

_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?: ?[AaPp][Mm])?"
_ZONE = r"(?:Z|[+-]\d{2}:?\d{2})?"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*"
# "[12:34:56] ", "12:34 ", "2020-01-31 12:34:56\t", "[2020-01-31T12:34:56Z] ", "Jan 31 12:34:56 "
_TIME = re.compile(
    rf"^\s*(?:\[(?:\d{{4}}-\d\d-\d\d[T ])?{_CLOCK}{_ZONE}\]"
    rf"|\[\d{{1,2}} {_MONTH} {_CLOCK}\]"
    rf"|(?:\d{{4}}-\d\d-\d\d[T ])?{_CLOCK}{_ZONE}|{_MONTH} +\d{{1,2}} {_CLOCK})(?:[ \t]+|$)",
    re.IGNORECASE,
)
# dircproxy writes the whole address, and a sign of the server's before the text.
_SAID = re.compile(r"^<[ @+%&~!]?([^<>!\s]{1,64})(?:>[ \t]?|![^<>\s]*>[ \t][+-]?)(.*)$")
_SAID_TABS = re.compile(r"^[ @+%&~!]?([^\s<>*\-=!|][^\s<>]{0,63})\t(.*)$")
_ACTION = re.compile(r"^(?:\*[ \t]+|Action: )([^\s*]{1,64})[ \t]+(.*)$")
# HexChat and others write the system's messages as actions of nobody; these are its verbs.
_SYSTEM = re.compile(
    r"^(?:\(\S+@\S+\) )?(?:has (?:joined|left) [#&]|has quit(?: \(|$)|has (?:been )?kicked "
    r"|is now known as \S+$|sets modes? |(?:gives|removes) (?:voice|channel)"
    r"|has changed the topic to|talking (?:on|in) |topic (?:for|is) )"
)
_ISO_DAY = re.compile(r"^\s*\[?(\d{4})-(\d\d)-(\d\d)[T ]")
_MONTH_DAY = re.compile(rf"^({'|'.join(_MONTHS)}) +(\d{{1,2}}) \d{{1,2}}:\d\d", re.IGNORECASE)
_DAY_LINE = re.compile(
    r"^(?:---|\*{2,4}|\[)\s*(?:Day changed|Log (?:opened|closed)|(?:BEGIN|ENDING) LOGGING AT"
    r"|Session (?:Start|Time):?)"
    rf".*?\b(?:({_MONTH})\s+(\d{{1,2}})|(\d{{1,2}})\s+({_MONTH}))\b.*?\b(\d{{4}})\b",
    re.IGNORECASE,
)


def day_of(line: str, before: date | None = None) -> date | None:
    """The day that a line tells, by a full date before it or a line of the log about itself.

    A month and day alone belong to the year of the day `before`, or to the next after December.
    """
    if found := _ISO_DAY.match(line):
        return _date(int(found[1]), int(found[2]), int(found[3]))
    if before is not None and (found := _MONTH_DAY.match(line)):
        month = _MONTHS.index(found[1].lower()) + 1
        return _date(before.year + (before.month == 12 and month == 1), month, int(found[2]))
    if found := _DAY_LINE.match(line):
        name = (found[1] or found[4])[:3].lower()
        return _date(int(found[5]), _MONTHS.index(name) + 1, int(found[2] or found[3]))
    return None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def talk(line: str) -> str | None:
    """`<nick> text` or `* nick text` of a line without its time; None for the system's lines."""
    time = _TIME.match(line)
    rest = line[time.end() :] if time else line
    if said := _SAID.match(rest):
        return f"<{said[1]}> {said[2]}"
    if action := _ACTION.match(rest):
        return None if _SYSTEM.match(action[2]) else f"* {action[1]} {action[2]}"
    if time and (said := _SAID_TABS.match(rest)):
        return f"<{said[1]}> {said[2]}"
    return None
