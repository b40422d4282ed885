"""The address of a server that runs are delivered to."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from seamount.core.errors import UserError

MLFLOW, SEAMOUNT = "mlflow", "seamount"


@dataclass(frozen=True)
class Address:
    """`kind` is MLFLOW or SEAMOUNT where the address says so (`mlflow+http://`), else None."""

    secure: bool
    host: str
    port: int
    prefix: str
    kind: str | None

    @property
    def url(self) -> str:
        """The address as http:// or https://, without a trailing slash."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.secure else ''}://{host}:{self.port}{self.prefix}"

    @property
    def folder_name(self) -> str:
        """Name under which a store remembers this server."""
        plain = re.sub(r"[^A-Za-z0-9.-]", "_", self.host)[:60]
        return f"{plain}-{self.port}-{hashlib.sha256(self.url.encode()).hexdigest()[:8]}"


def parse(text: str) -> Address:
    """The address in `text`; raises UserError, which never repeats what may be a password."""
    kind, plus, rest = text.strip().partition("+")
    if not plus:
        kind, rest = "", text.strip()
    parts = _split(rest)
    shown = f"{parts.scheme}://{parts.hostname or ''}" if parts else "the address given"
    if parts is None or kind not in ("", MLFLOW, SEAMOUNT) or not parts.hostname:
        raise UserError(f"cannot deliver to {shown!r}: write http://host:port or https://host")
    if parts.username or parts.password:
        raise UserError(
            f"the address of {shown} holds a password: put a token into SEAMOUNT_TRACKING_TOKEN, "
            "or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, and leave it out here"
        )
    if parts.query or parts.fragment:
        raise UserError(f"the address of {shown} must end with its path: leave out ? and #")
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    return Address(secure, parts.hostname, port, parts.path.rstrip("/"), kind or None)


def _split(text: str) -> SplitResult | None:
    """The parts of an http or https address, None for anything else."""
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018  (raises where it is no number)
    except ValueError:
        return None
    plain = text.isascii() and not re.search(r"[\s\x00-\x1f\x7f]", text)
    return parts if plain and parts.scheme in ("http", "https") else None
