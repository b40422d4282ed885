"""Files over http and https: ranges, conditions, redirects and delays (RFC 9110)."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from seamount import __version__
from seamount.corpora.text.download.addresses import redirect_refusal
from seamount.corpora.text.download.mirrors import Changed, Transient, Unusable
from seamount.corpora.text.download.sources import Opened

_REDIRECTS = 5
_MAY_PASS = (408, 425, 429, 500, 502, 503, 504)
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
# The bytes of the file itself are wanted, not a compression made for the way.
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": f"seamount/{__version__}"}


class HttpSource:
    """One client with a pool of connections, for all threads of a download."""

    def __init__(self, timeout_s: float, jobs: int) -> None:
        self._timeout_s, self._jobs = timeout_s, jobs
        self._made: Any = None
        self._guard = threading.Lock()

    def _client(self) -> Any:
        """Made when it is needed: reading the certificates takes a while."""
        import httpx

        with self._guard:
            if self._made is None:
                self._made = httpx.Client(
                    headers=_HEADERS,
                    timeout=httpx.Timeout(self._timeout_s, pool=None),
                    limits=httpx.Limits(max_connections=self._jobs),
                )
            return self._made

    def close(self) -> None:
        """Close the connections."""
        if self._made is not None:
            self._made.close()

    def size_bytes(self, url: str) -> int | None:
        """Content-Length of a HEAD request."""
        try:
            with self._answer("HEAD", url, {}) as response:
                return _content_length(response) if response.status_code == 200 else None
        except (Transient, Unusable):
            return None

    @contextmanager
    def open(self, url: str, offset: int, validator: str | None) -> Iterator[Opened]:
        """The file from `offset` on; If-Range asks for the whole where it changed since."""
        asked = {"Range": f"bytes={offset}-"} if offset else {}
        if offset and validator:
            asked["If-Range"] = validator
        with self._answer("GET", url, asked) as response:
            yield _opened(response, offset, validator)

    @contextmanager
    def _answer(self, method: str, url: str, headers: dict[str, str]) -> Iterator[Any]:
        import httpx

        try:
            response = self._follow(self._client().build_request(method, url, headers=headers))
            try:
                yield response
            finally:
                response.close()
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise Unusable(f"cannot be asked ({error})") from error
        except httpx.TimeoutException as error:
            raise Transient("stays silent") from error
        except httpx.TransportError as error:
            raise _explained(error) from error

    def _follow(self, request: Any) -> Any:
        for _ in range(_REDIRECTS + 1):
            response = self._client().send(request, stream=True)
            if response.next_request is None:
                return response
            response.close()
            refused = redirect_refusal(str(request.url), str(response.next_request.url))
            if refused:
                raise Unusable(refused)
            request = response.next_request
        raise Unusable(f"redirects more than {_REDIRECTS} times")


def _explained(error: Exception) -> Transient | Unusable:
    text = " ".join(str(error).split()) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return Unusable(f"cannot prove who it is ({text[:200]})")
    return Transient(f"breaks the connection ({text[:200]})")


def _opened(response: Any, offset: int, validator: str | None) -> Opened:
    status, now = response.status_code, _validator(response)
    if status == 200:
        media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        coding = response.headers.get("Content-Encoding", "").strip().lower()
        length = _content_length(response)
        return Opened(0, length, now, response.iter_raw(), media_type, coding)
    if status == 206 and offset:
        start, total = _content_range(response)
        if start != offset:
            raise Unusable(f"answers bytes from {start} on where {offset} was asked for")
        if validator and now and now != validator:  # If-Range was not heeded
            raise Changed("has another state of the file by now")
        return Opened(offset, total, now, response.iter_raw())
    if status == 416 and offset:
        if _content_range(response)[1] == offset:  # all of it is here already
            return Opened(offset, offset, validator, iter(()))
        raise Changed(f"has no byte {offset} of the file")
    if status in _MAY_PASS:
        wait_s = retry_after_s(response.headers.get("Retry-After", "").strip())
        raise Transient(f"answers {status} {response.reason_phrase}", wait_s)
    raise Unusable(f"answers {status} {response.reason_phrase}")


def _content_length(response: Any) -> int | None:
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() and length.isascii() else None


def _content_range(response: Any) -> tuple[int | None, int | None]:
    """First byte and whole size as Content-Range states them."""
    found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if not found:
        return None, None
    start, _, total = found.groups()
    return int(start) if start else None, int(total) if total != "*" else None


def _validator(response: Any) -> str | None:
    """The strong entity tag, else the time of the last change; a weak tag tells nothing here."""
    tag: str = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified")


def retry_after_s(text: str) -> float:
    """Seconds that a Retry-After header asks for: a number, or a date; 0 where it says nothing."""
    if text.isdecimal() and text.isascii():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
