"""One RFC 5322 message as a document: subject and text parts, however damaged the charset."""

from __future__ import annotations

import email
import email.header
import email.message
import email.utils
import re
from collections.abc import Iterator

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.readers import _encodings, _html

_HEADER_LINE = re.compile(rb"[!-9;-~]+:")
_ALTERNATIVE = "multipart/alternative"


def document(
    data: bytes, component: str, own_id: str, source: str
) -> Document | Quarantined | Skipped:
    """The message in `data`; Skipped where there is no text, Quarantined where it is no message."""
    if not _HEADER_LINE.match(data.lstrip(b"\r\n")):
        return Quarantined(source, 1, "no message: it does not begin with a header", len(data))
    try:
        message = email.message_from_bytes(data.lstrip(b"\r\n"))
        body = "\n\n".join(part for part in _texts(message) if part.strip())
        subject = _header(message, "Subject")
    except RecursionError:
        return Quarantined(source, 1, "parts nested too deeply", len(data))
    except (ValueError, TypeError, AttributeError, IndexError, KeyError, LookupError) as error:
        # The standard library's parser has faults of these kinds on some broken headers.
        return Quarantined(source, 1, f"not readable as a message: {error}"[:300], len(data))
    if not body.strip():
        return Skipped(source, "no text part", len(data))
    text = f"Subject: {subject}\n\n{body}" if subject else body
    return Document(text, component, own_id, source, _meta(message, subject))


def _texts(message: email.message.Message) -> Iterator[str]:
    kind = message.get_content_type()
    if message.is_multipart():
        parts = [p for p in message.get_payload() if isinstance(p, email.message.Message)]
        for part in _best(parts) if kind == _ALTERNATIVE else parts:
            yield from _texts(part)
    elif message.get_content_disposition() == "attachment":
        return
    elif message.get_content_maintype() in ("text", "multipart"):
        yield _text(message, kind)  # a multipart without its boundary is text as it stands


def _best(parts: list[email.message.Message]) -> list[email.message.Message]:
    """Of alternatives the first plain one, else the last, which is the richest."""
    plain = [p for p in parts if p.get_content_type() == "text/plain"]
    return plain[:1] or parts[-1:]


def _text(part: email.message.Message, kind: str) -> str:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    declared = part.get_content_charset()
    text = _encodings.decode(data, declared)[0].replace("\r\n", "\n")
    return _html.to_text(text) if kind == "text/html" else text.strip("\n")


def _header(message: email.message.Message, name: str) -> str:
    value = message.get(name)
    if value is None:
        return ""
    pieces = []
    try:
        decoded = email.header.decode_header(value)
    except (email.errors.HeaderParseError, ValueError):
        decoded = [(str(value), None)]
    for piece, charset in decoded:
        if isinstance(piece, str):
            piece = piece.encode("ascii", "surrogateescape")
        pieces.append(_encodings.decode(piece, charset)[0])
    return " ".join("".join(pieces).split())


def _meta(message: email.message.Message, subject: str) -> dict[str, object]:
    meta: dict[str, object] = {"subject": subject} if subject else {}
    if own := _header(message, "Message-ID"):
        meta["message_id"] = own
    try:
        sent = email.utils.parsedate_to_datetime(_header(message, "Date"))
    except (ValueError, TypeError, IndexError, OverflowError):
        return meta
    return {**meta, "date": sent.isoformat(), "year": sent.year}
