"""What a foreign name, text, step or time becomes where ours has bounds; every change is told."""

from __future__ import annotations

import math
import re
from hashlib import sha256

from seamount.core.errors import UserError
from seamount.tracking.importing.records import Report
from seamount.tracking.names import MAX_ARTIFACT_PATH_BYTES, MAX_NAME_BYTES, check_artifact_path
from seamount.tracking.steps import FIRST_US, LAST_US

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}")
_INT64 = 1 << 63


def name(text: str, report: Report, what: str, limit_bytes: int = MAX_NAME_BYTES) -> str:
    """`text` as a name: valid Unicode, no control characters, bounded, not empty.

    A name that had to be changed ends in a hash of the original one, so no two become one.
    """
    plain = _CONTROL.sub("_", text.encode("utf-8", "replace").decode())
    if plain == text and 0 < len(text.encode()) <= limit_bytes:
        return text
    report.add(f"{what} that had to be changed (control character, empty or too long)", text)
    return _cut(plain, limit_bytes - 10) + "~" + _hash(text)


def path(text: str, report: Report) -> str:
    """`text` as an artifact path that stays inside the run's folder."""
    try:
        return check_artifact_path(text)
    except UserError:
        report.add("file names that had to be changed (not a plain relative path)", text)
    plain = _CONTROL.sub("_", text.encode("utf-8", "replace").decode()).replace("\\", "_")
    parts = [_cut(part, 200) for part in plain.split("/") if part not in ("", ".", "..")]
    kept = "/".join(parts) or "file"
    return _cut(kept, MAX_ARTIFACT_PATH_BYTES - 100).rstrip("/") + "~" + _hash(text)


def suffix(text: str) -> str:
    """`text` if it is a plain file suffix such as `.png`, else nothing."""
    return text if _SUFFIX.fullmatch(text) else ""


def step(value: int | float, report: Report) -> int | float | None:
    """A step as a record holds it (64-bit whole, or finite double), None where it is neither."""
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return value
    as_float = float(value)
    if not math.isfinite(as_float):
        report.add("points whose step is not finite (left out)", value)
        return None
    return as_float


def time_us(value: int, otherwise: int, report: Report) -> int:
    """A time as a record holds it; `otherwise` where it is outside the years 1 to 9999."""
    if FIRST_US <= value <= LAST_US:
        return value
    report.add("times out of range (the run's start stands instead)", value)
    return otherwise


def _cut(text: str, limit_bytes: int) -> str:
    return text.encode()[:limit_bytes].decode("utf-8", "ignore")


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
