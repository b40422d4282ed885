"""Digests of many files in one, as `sha256sum` (GNU and BSD) writes them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import PurePosixPath

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.corpora.text.download.request import RemoteFile

_GNU = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
_BSD = re.compile(r"SHA256 \((.+)\) = ([0-9a-fA-F]{64})")
_MAX_BYTES = 64 << 20


def with_digests(files: list[RemoteFile], sha256sums: str) -> list[RemoteFile]:
    """Each file with its digest from the SHA256SUMS file at `sha256sums`.

    A file is found by its path, else by its name where only one of that name is in the sums and
    among the files. Raises UserError for a file without a digest, or with another one in its list.
    """
    sums = read_sums(sha256sums)
    names = Counter(PurePosixPath(path).name for path in sums)
    asked = Counter(PurePosixPath(file.path).name for file in files)
    by_name = {
        name: digest
        for path, digest in sums.items()
        if names[name := PurePosixPath(path).name] == asked[name] == 1
    }
    return [_with_digest(file, sums, by_name, sha256sums) for file in files]


def _with_digest(
    file: RemoteFile, sums: dict[str, str], by_name: dict[str, str], where: str
) -> RemoteFile:
    digest = sums.get(file.path) or by_name.get(PurePosixPath(file.path).name)
    if digest is None:
        raise UserError(f"{where} has no digest of {file.path}: add it, or leave --sha256sums out")
    if file.sha256 not in (None, digest):
        raise UserError(
            f"{file.path} has the digest {file.sha256} in its list and {digest} in {where}: "
            "find out which is right"
        )
    return replace(file, sha256=digest)


def read_sums(url: str) -> dict[str, str]:
    """Path -> lower-case hex SHA-256 of a SHA256SUMS file; blank lines and # lines are passed over.

    Raises UserError naming the first line that is none.
    """
    with storage.open_read(url) as stream:
        content = stream.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise UserError(f"{url} is larger than {_MAX_BYTES >> 20} MiB: it is no list of digests")
    sums: dict[str, str] = {}
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        path, digest = _parsed(line, url, number)
        if sums.setdefault(path, digest) != digest:
            raise UserError(f"{url} has two digests of {path}: keep the right one")
    return sums


def _parsed(line: str, url: str, number: int) -> tuple[str, str]:
    if found := _GNU.fullmatch(line.rstrip()):
        digest, path = found.groups()
    elif found := _BSD.fullmatch(line.rstrip()):
        path, digest = found.groups()
    else:
        raise UserError(f"line {number} of {url} is not `SHA-256  path`: {line[:80]!r}")
    return path.removeprefix("./"), digest.lower()
