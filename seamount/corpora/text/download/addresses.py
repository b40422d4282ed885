"""Which addresses a download follows, and how an address is shown."""

from __future__ import annotations

from urllib.parse import urlsplit

SCHEMES = ("http", "https", "s3")


def scheme(url: str) -> str:
    """The scheme of `url` in lower case, "" where it has none."""
    return url.partition("://")[0].lower() if "://" in url else ""


def shown(url: str) -> str:
    """`url` as it may stand in logs and files: without user, password, query and fragment.

    A query may carry a signature that gives access.
    """
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def refusal(url: str) -> str | None:
    """Why an address in a list is not followed, None if it is."""
    try:
        parts = urlsplit(url)
        if scheme(url) not in SCHEMES:
            return f"{shown(url)!r} is not an address of {', '.join(SCHEMES)}"
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as error:
        return f"an address of {scheme(url)} is no URL ({error})"
    if not parts.hostname or not port_is_fine:
        return f"{shown(url)!r} names no host"
    return None


def redirect_refusal(before: str, after: str) -> str | None:
    """Why a redirect is not followed, None if it is.

    A server must not lead to this machine's own files, nor from https to an open line.
    """
    if scheme(after) not in ("http", "https"):
        return f"redirects to {shown(after)!r}, which is not http or https"
    if scheme(before) == "https" and scheme(after) == "http":
        return f"redirects from https to the open line {shown(after)!r}"
    return None
