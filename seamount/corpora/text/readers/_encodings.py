"""Bytes to text where the encoding is not told, or told wrongly."""

from __future__ import annotations

import codecs

from seamount.core.records import Quarantined, Skipped
from seamount.corpora.text.readers._archives import File

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 65_536
# Fewer bytes beyond ASCII than this tell a detector nothing; most such files are Western.
_LEAST_EVIDENCE = 64
_WESTERN = "cp1252"
# Codecs of Python that are no charset of any text.
_NO_CHARSETS = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"})
_SEVEN_BIT = ("iso2022", "utf-7", "hz")
_PROBE = 8_000  # git looks for a NUL in as many bytes


def is_binary(data: bytes) -> bool:
    """Whether the first bytes hold a NUL, as git asks, and are not UTF-16 or UTF-32 with a mark."""
    return b"\0" in data[:_PROBE] and not data.startswith(tuple(bom for bom, _ in _BOMS))


def decode(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """The text of `data` and the name of its encoding.

    Tried in order: byte-order mark, UTF-8, what is `declared`, detection (charset-normalizer) where
    there is enough to go by, Windows-1252. What the last one cannot decode becomes U+FFFD.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data.decode(encoding, "replace"), encoding.removesuffix("-sig")
    for encoding in _candidates(declared):
        text = _strictly(data, encoding)
        if text is not None:
            return text, encoding
    encoding = _detected(data) or _WESTERN
    return data.decode(encoding, "replace"), encoding


def _candidates(declared: str | None) -> list[str]:
    """UTF-8 and the declared encoding; that one first where its bytes would pass for ASCII."""
    try:
        codec = codecs.lookup(declared or "utf-8")
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        return ["utf-8"]
    if codec.name in _NO_CHARSETS or not codec._is_text_encoding:  # type: ignore[attr-defined]
        return ["utf-8"]
    both = ["utf-8", codec.name] if codec.name != "utf-8" else ["utf-8"]
    return both[::-1] if codec.name.startswith(_SEVEN_BIT) else both


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
        text.encode()  # UTF-7 can give half a surrogate pair, which is no letter
    except UnicodeError:
        return None
    return text


def _detected(data: bytes) -> str | None:
    if len(data.translate(None, bytes(range(128)))) < _LEAST_EVIDENCE:
        return None
    import charset_normalizer

    best = charset_normalizer.from_bytes(data[:_SAMPLE]).best()
    if best is None or _strictly(data, best.encoding) is None:
        return None
    return best.encoding


def text_of(file: File, declared: str | None = None) -> tuple[str, dict[str, str]] | Skipped:
    """The file's text and `{"encoding": ...}` where it is not UTF-8; Skipped where it is binary."""
    if is_binary(file.data):
        return Skipped(file.source, "binary", len(file.data))
    text, encoding = decode(file.data, declared)
    return text, {} if encoding in ("utf-8", "ascii") else {"encoding": encoding}


def quarantined(file: File, reason: str) -> Quarantined:
    """The whole file set aside for `reason`."""
    return Quarantined(file.source, 1, reason, len(file.data))
