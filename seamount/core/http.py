"""Who may ask a server of ours: addresses of this machine, and tokens."""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress


def is_loopback(host: str) -> bool:
    """Whether `host` (a name or address, with or without a port) means this machine alone."""
    bare = host.strip()
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return bare.lower() == "localhost"


def token_matches(authorization: str | None, token: str) -> bool:
    """Whether an Authorization header holds `token`: as Bearer, or as the password of Basic.

    Basic is what a browser asks a person for. The comparison takes the same time for all tokens of
    one length.
    """
    scheme, _, given = (authorization or "").partition(" ")
    if scheme.lower() == "basic":
        try:
            given = base64.b64decode(given, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(given.strip().encode("utf-8", "replace"), token.encode())
