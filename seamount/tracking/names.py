"""What a name may be: store addresses, run ids, attribute names, artifact paths; all bounded.

Limits follow Neptune's (attribute path 1,024 bytes, file destination 800 bytes) and MLflow's run id
(a letter or digit, then letters, digits, `_`, `-`); see docs/tracking.md.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seamount.core.errors import UserError

SCHEME = "seamount://"
MAX_NAME_BYTES = 1024
MAX_ARTIFACT_PATH_BYTES = 800
MAX_TAG_BYTES = 8000
MAX_TEXT_CHARS = 1 << 20

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def store_folder(uri: str | Path) -> Path:
    """Folder of the store at `uri`: `seamount:///absolute/folder`, or a plain path."""
    text = str(uri)
    if text and ":/" not in text:
        return Path(text).expanduser().absolute()
    path = text.removeprefix(SCHEME)
    if not text.startswith(SCHEME) or not path.startswith("/") or "\x00" in path:
        raise UserError(
            f"{text!r} is not a tracking store: write seamount:///absolute/folder (three slashes)"
        )
    return Path(path)


def store_uri(folder: Path) -> str:
    """The address of the store in `folder`."""
    return f"{SCHEME}{folder}"


def is_run_id(name: str) -> bool:
    """Whether `name` may name a run."""
    return _RUN_ID.fullmatch(name) is not None


def check_run_id(run_id: str) -> str:
    """`run_id` if it may name a run (and so a folder); raises UserError otherwise."""
    if not isinstance(run_id, str) or not _RUN_ID.fullmatch(run_id):
        raise UserError(
            f"run_id {str(run_id)[:150]!r} must begin with a letter or digit and hold only "
            "letters, digits, '_' and '-', at most 128"
        )
    return run_id


def check_name(name: object, what: str = "metric name") -> str:
    """`name` if it is text of 1 to 1,024 bytes without control characters."""
    if not isinstance(name, str):
        raise UserError(f"a {what} must be text, not {type(name).__name__} ({str(name)[:80]!r})")
    return check_text(name, what, MAX_NAME_BYTES, empty=False)


def check_text(text: str, what: str, limit_bytes: int, *, empty: bool = True) -> str:
    """`text` if it is valid Unicode, within `limit_bytes` and free of control characters."""
    if not text and not empty:
        raise UserError(f"a {what} must not be empty")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise UserError(f"{what} {text[:80]!r} is not valid Unicode: {error.reason}") from error
    if size > limit_bytes:
        raise UserError(f"{what} {text[:80]!r}... has {size} bytes; at most {limit_bytes} are kept")
    if _CONTROL.search(text):
        raise UserError(f"{what} {text[:80]!r} holds a control character: remove it")
    return text


def unicode_text(text: str) -> str:
    """`text` with lone surrogates written out (`\\udcff`): no table and no file takes them."""
    return text.encode("utf-8", "backslashreplace").decode()


def check_tag_value(value: object) -> str:
    """A tag's value as text of at most 8,000 bytes (line breaks and tabs allowed)."""
    text = str(value)
    check_text(re.sub(r"[\n\r\t]", " ", text), "tag value", MAX_TAG_BYTES)
    return text


def check_artifact_path(path: str) -> str:
    """`path` if it stays inside a run's artifact folder: relative, no `..`, plain parts."""
    check_text(str(path), "artifact path", MAX_ARTIFACT_PATH_BYTES, empty=False)
    parts = str(path).split("/")
    if "\\" in path or any(part in ("", ".", "..") or len(part.encode()) > 255 for part in parts):
        raise UserError(
            f"artifact path {path!r} must be relative, with '/' between parts of at most 255 bytes "
            "and without '..', '.' or '\\'"
        )
    return path


def bad_metrics(data: Mapping[str, Any], step: float) -> UserError:
    """The error that names the value which is not a number."""
    for name, value in data.items():
        try:
            struct.pack("<d", value)
        except (struct.error, OverflowError, TypeError, ValueError):
            return UserError(
                f"metric {str(name)[:200]!r} is {str(value)[:80]!r} ({type(value).__name__}), "
                "not a number that fits a double: convert it, or use log_string_series"
            )
    return UserError(f"step {step!r} does not fit 64 bits")
