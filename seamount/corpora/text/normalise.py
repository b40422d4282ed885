"""The one normalisation of every text; it only removes bytes and changes no letter."""

from __future__ import annotations

import re

# Control characters that no text needs: all of C0 but tab, line feed and form feed, and DEL.
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")


def normalise(text: str) -> str:
    """`text` with line feeds as the only line ends, and without control characters and the
    byte-order mark at the start.
    """
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", text) if _CONTROL.search(text) else text
