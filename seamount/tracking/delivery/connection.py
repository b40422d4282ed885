"""One HTTP connection that is kept open, with its time limits and its two kinds of failure.

The standard library's client: the base installation has no other, and the watcher stays small.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import socket
import ssl
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import urlencode

from seamount import __version__
from seamount.core import settings
from seamount.core.errors import SeamountError
from seamount.tracking.delivery.address import Address

CONNECT_S, ANSWER_S = 10.0, 60.0
MAX_ANSWER_BYTES = 1 << 26
_LATER = {408, 423, 425, 429, 500, 502, 503, 504, 507}


class Unreachable(SeamountError):
    """Nobody answered, or not now: try again later; `after_s` if the server named a time."""

    after_s: float = 0.0


class Denied(Unreachable):
    """The server wants a token, or another one: trying again helps only once that has changed."""


class Refused(SeamountError):
    """The server understood and will not take this, now or later."""

    def __init__(self, status: int, text: str, detail: dict[str, Any]) -> None:
        super().__init__(text)
        self.status, self.detail = status, detail


@dataclass(frozen=True)
class Answer:
    """A status below 400 and the body that came with it."""

    status: int
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body as a JSON object; raises Unreachable where it is another thing."""
        try:
            value = json.loads(self.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise Unreachable(
                "the server's answer is no JSON object: another program answers there"
            )
        return value


class Connection:
    """Requests to one server, one at a time."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.sent_requests = 0
        self._open: http.client.HTTPConnection | None = None

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def request(
        self,
        method: str,
        path: str,
        body: bytes | IO[bytes] | None = None,
        *,
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        answer_s: float = ANSWER_S,
        once: bool = False,
    ) -> Answer:
        """Send one request and read the whole answer.

        On a kept connection that the server has closed meanwhile it is sent a second time, unless
        `once`. Raises Unreachable, Denied or Refused.
        """
        target = self.address.prefix + path + (f"?{urlencode(query)}" if query else "")
        sent = {"User-Agent": f"seamount/{__version__}", **_credentials(), **(headers or {})}
        # Neither a stream nor what would be done twice can be sent a second time.
        kept = self._open is not None and not hasattr(body, "read") and not once
        if not kept:
            self.close()
        try:
            try:
                answer = self._exchange(method, target, body, sent, answer_s)
            except (http.client.RemoteDisconnected, ConnectionError):
                if not kept:
                    raise
                answer = self._exchange(method, target, body, sent, answer_s)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            text = "no answer in time" if isinstance(error, TimeoutError) else str(error)
            raise Unreachable(f"{self.address.url} cannot be reached: {_line(text)}") from error
        return self._judged(*answer)

    def _exchange(
        self, method: str, target: str, body: Any, headers: dict[str, str], answer_s: float
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        self.sent_requests += 1
        connection = self._open or self._connect()
        self._open = None  # until the answer is read whole
        try:
            if connection.sock is not None:
                connection.sock.settimeout(answer_s)
            connection.request(method, target, body, headers)
            found = connection.getresponse()
            content = found.read(MAX_ANSWER_BYTES)
        except BaseException:
            connection.close()
            raise
        if not found.will_close and found.isclosed():
            self._open = connection
        else:
            connection.close()
        return found.status, content, found.headers

    def _connect(self) -> http.client.HTTPConnection:
        where = self.address
        if where.secure:
            context = ssl.create_default_context()
            opened: http.client.HTTPConnection = http.client.HTTPSConnection(
                where.host, where.port, timeout=CONNECT_S, context=context
            )
        else:
            opened = http.client.HTTPConnection(where.host, where.port, timeout=CONNECT_S)
        opened.connect()
        with contextlib.suppress(OSError):
            opened.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def _judged(self, status: int, body: bytes, headers: http.client.HTTPMessage) -> Answer:
        if status < 300:
            return Answer(status, body)
        detail = _detail(body)
        said = _line(
            str(detail.get("error") or detail.get("message") or body[:300].decode("latin-1"))
        )
        url = self.address.url
        if status in (401, 403):
            raise Denied(
                f"{url} wants another token ({status}: {said}): set SEAMOUNT_TRACKING_TOKEN"
            )
        if status in _LATER or status >= 500:
            later = Unreachable(f"{url} cannot take it now ({status}: {said})")
            with contextlib.suppress(ValueError):
                later.after_s = min(3600.0, max(0.0, float(headers.get("Retry-After", ""))))
            raise later
        if status < 400:
            raise Denied(f"{url} sends on to another address ({status}): give that one")
        raise Refused(status, f"{url} refuses it ({status}: {said})", detail)


def _credentials() -> dict[str, str]:
    """The Authorization header; read from the environment at each request and kept nowhere."""
    token = settings.tracking_token() or settings.mlflow_token()
    if token:
        return {"Authorization": f"Bearer {token}"}
    login = settings.mlflow_login()
    if login:
        pair = base64.b64encode(":".join(login).encode()).decode()
        return {"Authorization": f"Basic {pair}"}
    return {}


def _detail(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _line(text: str) -> str:
    return " ".join(text.split())[:300] or "no reason given"
