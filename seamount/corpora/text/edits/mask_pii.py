"""Masks what points at a person: e-mail addresses and public IP addresses.

Chosen for precision: a mask in the wrong place damages code and mathematics. So an address must be
one that can be routed, and a dotted quad must not look like a version or a section number. Phone
numbers are left alone: no pattern tells them from other numbers well enough.
"""

from __future__ import annotations

import ipaddress
import re
import string

_LOCAL = frozenset(string.ascii_letters + string.digits + "._%+-")
_LONGEST_LOCAL = 64  # RFC 5321
_DOMAIN = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}([A-Za-z]{2,24})(?![A-Za-z0-9_@-])"
)
# Names that only look like domains: files (image@2x.png), and what a remote of git is called.
_NO_TOP_LEVEL = frozenset(
    ("bmp", "c", "cfg", "conf", "cpp", "css", "csv", "gif", "gz", "h", "html", "ini", "jar", "java",
     "jpeg", "jpg", "js", "json", "lock", "log", "md", "mjs", "pdf", "php", "png", "py", "rb", "rs",
     "service", "sh", "so", "svg", "tar", "tgz", "toml", "ts", "tsx", "txt", "webp", "xml", "yaml",
     "yml", "zip")
)  # fmt: skip
_NO_PERSON = frozenset(("git", "hg", "svn"))
# What stands around an address is looked at afterwards: a pattern that begins with a look behind is
# tried at every letter.
_QUAD = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}")
_COLONS = re.compile(r"[23][0-9A-Fa-f]{3}:[0-9A-Fa-f:]{2,34}")
_LONGER = {
    ".": (re.compile(r"[\w.+-]\Z"), re.compile(r"[\w+-]|\.\w")),
    ":": (re.compile(r"[\w.:]\Z"), re.compile(r"\w")),
}
# Versions, sections, and enzymes (EC 3.4.21.62).
_NO_ADDRESS = re.compile(
    r"(?:\bv|\bversion|\brelease|[=<>~^]=|§|\bsection|\bchapter|\bEC|\bEC[ _]number)[ :=]*\Z", re.I
)
_BEFORE = 16
# Below, the four numbers are far more often a version or a section than an address.
_LEAST_NUMBER = 32
_LEAST_GROUPS = 3  # x[2000::3] is a slice


def edit(text: str, *, email: str = "<EMAIL>", ip: str = "<IP_ADDRESS>") -> str:
    """Put `email` and `ip` where addresses stand; an empty one leaves that kind alone."""
    if email and "@" in text:
        text = _mask_emails(text, email)
    if ip:
        text = _QUAD.sub(lambda found: ip if _is_address(found) else found[0], text)
        text = _COLONS.sub(lambda found: ip if _is_address(found) else found[0], text)
    return text


def _mask_emails(text: str, mask: str) -> str:
    """From one @ to the next, since a pattern that begins with the name is slow on long words."""
    parts: list[str] = []
    done, at = 0, text.find("@")
    while at >= 0:
        start = at
        least = max(done, at - _LONGEST_LOCAL - 1)
        while start > least and text[start - 1] in _LOCAL:
            start -= 1
        while start < at and text[start] in ".-+%":  # a list's dash, an ellipsis
            start += 1
        domain = _DOMAIN.match(text, at + 1)
        if domain and _is_name(text[start:at]) and domain[1].lower() not in _NO_TOP_LEVEL:
            parts += text[done:start], mask
            done = domain.end()
        at = text.find("@", at + 1)
    return "".join([*parts, text[done:]])


def _is_name(local: str) -> bool:
    possible = 0 < len(local) <= _LONGEST_LOCAL and local[-1] != "."
    return possible and local.lower() not in _NO_PERSON


def _is_address(found: re.Match[str]) -> bool:
    text, start, end = found.string, found.start(), found.end()
    separator = ":" if ":" in found[0] else "."
    before, after = _LONGER[separator]
    if before.search(text, max(0, start - 1), start) or after.match(text, end):
        return False
    if separator == ":" and len(list(filter(None, found[0].split(":")))) < _LEAST_GROUPS:
        return False
    if separator == ".":
        numbers = [int(part) for part in found[0].split(".")]
        if max(numbers) < _LEAST_NUMBER:
            return False
        if _NO_ADDRESS.search(text, max(0, start - _BEFORE), start):
            return False
    return _is_public(found[0])


def _is_public(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return parsed.is_global and not parsed.is_multicast
