"""Subtitles (SubRip .srt, WebVTT .vtt): the cues' text, one document a file.

Numbers, times, settings, tags (`<i>`, `{\\an8}`), voice spans and speaker labels (`JOHN:`, `>> `,
leading dashes) are taken away; a line that repeats the one before it, as rolling captions do,
stands once. Sounds in brackets stay: they are part of what is told.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _encodings, _files

COMPONENT = "OpenSubtitles"
_WANTED = _files.with_suffix(".srt", ".vtt")
# Times are not checked further: a cue with a mistyped one still says something.
_CUE = re.compile(r"^\s*\d[\d:.,;]*\s*-->\s*\d")
_TAG = re.compile(r"</?[a-zA-Z0-9][^<>\n]*>|\{\\[^{}\n]*\}")
_SPEAKER = re.compile(r"^(?:>>+\s*)?(?:[-–—]\s*)?(?:[A-Z][A-Z0-9 .'’#&-]{1,30}:\s+)?(?=\S)|^>>+\s*")
_NOT_CUES = ("NOTE", "STYLE", "REGION")
_BLANK_LINES = re.compile(r"\n[ \t]*\n+")


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .srt or .vtt, compressed or not, and archives of them."""
    return _files.items(url, limit_bytes, lambda n: _WANTED(n) or _archives.is_archive(n))


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a file; a file without any cue is quarantined."""
    for file in _archives.files(item, _WANTED):
        if not isinstance(file, _archives.File):
            yield file
            continue
        found = _encodings.text_of(file)
        if isinstance(found, Skipped):
            yield found
            continue
        cues = _cues(found[0])
        if not cues:
            yield _encodings.quarantined(file, "no cue with a time line")
            continue
        meta = {**found[1], "cues": len(cues)}
        yield Document("\n".join(_spoken(cues)) + "\n", component, file.id, file.source, meta)


def _cues(text: str) -> list[list[str]]:
    """The text lines of each cue: what stands between its time line and the next blank line."""
    cues: list[list[str]] = []
    open_cue: list[str] | None = None
    for line in text.splitlines():
        if _CUE.match(line):
            open_cue = []
            cues.append(open_cue)
        elif not line.strip():
            open_cue = None
        elif open_cue is not None:
            open_cue.append(line.strip())
    return cues


def _spoken(cues: list[list[str]]) -> Iterator[str]:
    before = ""
    for cue in cues:
        for line in cue:
            shown = _SPEAKER.sub("", html.unescape(_TAG.sub("", line)).strip()).strip()
            if shown and shown != before:
                yield shown
            before = shown or before
