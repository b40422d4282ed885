"""The one door to files and fsspec URLs: open, list, digest, atomic write.

A plain path and a URL (`s3://...`, `memory://...`, `file://...`) are taken alike.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from seamount.core.errors import CorruptData, SeamountError, UserError, explain_os_error

_CHUNK = 1 << 20


def filesystem(url: str) -> tuple[Any, str]:
    """The fsspec file system that serves `url`, and the path in it."""
    if is_local(url):  # fsspec would take `::` in a name for a chain of file systems
        local = fsspec.filesystem("file")
        return local, local._strip_protocol(url)
    try:
        return fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise UserError(f"cannot open {url!r}: {_what_to_install(url, error)}") from error
    except ValueError as error:
        raise UserError(f"cannot open {url!r}: {error}") from error


# What fsspec's own file systems import, under the name a package index knows.
_PACKAGES = {"http": "requests aiohttp", "sftp": "paramiko", "smb": "smbprotocol"}


def _what_to_install(url: str, error: ImportError) -> str:
    from fsspec.registry import known_implementations

    protocol = url.partition("://")[0]
    class_path = str(known_implementations.get(protocol, {}).get("class", ""))
    package = class_path.partition(".")[0].replace("_", "-")
    if package == "fsspec":
        package = _PACKAGES.get(class_path.split(".")[-2], "")
    if not package:
        return str(error)
    return f"{protocol}:// needs a package that is not here; run `pip install {package}`"


def is_local(url: str) -> bool:
    """Whether `url` is on this machine's own file system."""
    return "://" not in url or url.startswith("file://")


def local_path(url: str) -> Path:
    """The local path behind `url`; raises UserError for a remote one."""
    if not is_local(url):
        raise UserError(f"{url!r} is remote, but this step needs a local folder: copy it first")
    return Path(url.removeprefix("file://"))


def join(url: str, *parts: str) -> str:
    """`url` with `parts` appended."""
    return "/".join([url.rstrip("/") or "/", *parts]) if url != "/" else "/" + "/".join(parts)


def exists(url: str) -> bool:
    """Whether a file or folder stands at `url`; raises SeamountError where nobody answers."""
    fs, path = filesystem(url)
    with _reaching(url):
        return bool(fs.exists(path))


@contextmanager
def _reaching(url: str) -> Iterator[None]:
    """What a remote store's own library raises (no network, no access) as one sentence."""
    try:
        yield
    except Exception as error:
        if is_local(url):
            raise
        text = " ".join(str(error).split()) or type(error).__name__
        kind = UserError if isinstance(error, ValueError) else SeamountError
        raise kind(
            f"cannot reach {url!r}: {text[:300]}; check address, network and access"
        ) from error


def is_folder(url: str) -> bool:
    """Whether `url` is a folder."""
    fs, path = filesystem(url)
    return bool(fs.isdir(path))


def is_inside(url: str, folder: str) -> bool:
    """Whether `url` is `folder` or lies below it."""
    return f"{_plain(url)}/".startswith(f"{_plain(folder)}/")


def _plain(url: str) -> str:
    return os.path.realpath(local_path(url)) if is_local(url) else url.rstrip("/")


def size_bytes(url: str) -> int:
    """Size of a file."""
    fs, path = filesystem(url)
    try:
        return int(fs.size(path))
    except OSError as error:
        raise explain_os_error(error, f"reading {url}") from error


def list_files(url: str, suffixes: tuple[str, ...] = ()) -> list[str]:
    """Every file below `url` (or `url` itself if a file) with one of `suffixes`, sorted.

    Hidden files and folders are passed over. Raises UserError where nothing stands at `url`.
    """
    fs, path = filesystem(url)
    base = path.rstrip("/")
    with _reaching(url):
        if fs.isfile(path):
            return [url]
        there = fs.find(path) if fs.exists(path) else None
    if there is None:
        raise UserError(f"nothing stands at {url!r}: check the path")
    names = (found[len(base) :].lstrip("/") for found in there)
    visible = (n for n in names if not any(part.startswith(".") for part in n.split("/")))
    return [join(url, n) for n in sorted(visible) if not suffixes or n.endswith(suffixes)]


@contextmanager
def open_read(url: str) -> Iterator[IO[bytes]]:
    """Open `url` for reading bytes; operating-system errors come out as one clear sentence."""
    fs, path = filesystem(url)
    try:
        with fs.open(path, "rb") as stream:
            yield stream
    except Exception as error:
        # fsspec takes every refusal of a server for "not found"; the cause knows better
        refused = error.__cause__ if isinstance(error, FileNotFoundError) else error
        absent = refused is not error and getattr(refused, "status", None) == 404
        if not absent and type(refused).__module__.partition(".")[0] in _CLIENTS:
            text = " ".join(str(refused).split())[:300]
            raise SeamountError(f"cannot read {url!r}: {text}; check address and access") from error
        if isinstance(error, OSError):
            raise explain_os_error(error, f"reading {url}") from error
        raise


# Packages with errors of their own for reading from a remote store.
_CLIENTS = {"aiohttp", "botocore", "fsspec", "gcsfs", "adlfs", "requests"}


@contextmanager
def atomic_write(url: str) -> Iterator[IO[bytes]]:
    """Write bytes under a temporary name; `url` appears whole at the end or not at all."""
    fs, path = filesystem(url)
    temporary = f"{path}.partial-{uuid.uuid4().hex[:12]}"
    try:
        fs.makedirs(fs._parent(path), exist_ok=True)
        with fs.open(temporary, "wb") as stream:
            yield stream
            if is_local(url):
                stream.flush()
                os.fsync(stream.fileno())
        _rename(fs, temporary, path)
    except OSError as error:
        _discard(fs, temporary)
        raise explain_os_error(error, f"writing {url}") from error
    except BaseException:
        _discard(fs, temporary)
        raise


def _rename(fs: Any, source: str, target: str) -> None:
    if isinstance(fs, LocalFileSystem):
        os.replace(source, target)
    elif type(fs).mv is not fsspec.AbstractFileSystem.mv:
        fs.mv(source, target)
    else:  # an object store; fsspec's own mv deletes by a list, see remove_tree
        fs.cp_file(source, target)
        fs.rm_file(source)


def _discard(fs: Any, path: str) -> None:
    try:
        if fs.exists(path):
            fs.rm_file(path)
    except OSError:
        pass  # the first error is the one to tell; a leftover *.partial-* name is never read


def write_bytes(url: str, content: bytes) -> None:
    """Write a whole file atomically."""
    with atomic_write(url) as stream:
        stream.write(content)


def write_json(url: str, value: Any) -> None:
    """Write `value` as sorted, indented JSON, atomically; a lone surrogate as JSON's escape."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    write_bytes(url, text.encode("utf-8", "backslashreplace"))


def read_bytes(url: str) -> bytes:
    """The whole content of a file."""
    with open_read(url) as stream:
        return stream.read()


def read_json(url: str) -> Any:
    """Parsed JSON of a file; raises CorruptData naming it where it is not JSON."""
    try:
        return json.loads(read_bytes(url))
    except ValueError as error:
        raise CorruptData(f"{url} is not valid JSON ({error}): remove it and run again") from error


def sha256(url: str) -> str:
    """Hex SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with open_read(url) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def digest_of(value: Any) -> str:
    """Hex SHA-256 of a JSON-able value in canonical form."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def remove_tree(url: str) -> None:
    """Remove a folder and all below it, if it exists."""
    fs, path = filesystem(url)
    if not fs.exists(path):
        return
    try:
        fs.rm(path, recursive=True)
    except OSError:
        if is_local(url):
            raise
        # Some stores (OpenStack Swift) take no list of what to delete without Content-MD5, which
        # AWS's library does not send any more.
        for name in fs.find(path):
            fs.rm_file(name)


def make_folder(url: str) -> None:
    """Create a folder (and those above it), or say in one sentence why it cannot be."""
    fs, path = filesystem(url)
    try:
        fs.makedirs(path, exist_ok=True)
    except OSError as error:
        raise explain_os_error(error, f"creating the folder {url}") from error


def move(source: str, target: str) -> None:
    """Give a file another name on the same file system; a file of that name is replaced."""
    fs, path = filesystem(target)
    from_path = filesystem(source)[1]
    try:
        fs.makedirs(fs._parent(path), exist_ok=True)
        _rename(fs, from_path, path)
    except OSError as error:
        raise explain_os_error(error, f"moving {source} to {target}") from error


def free_bytes(url: str) -> int | None:
    """Free space of the local device that holds `url`, None for remote URLs."""
    if not is_local(url):
        return None
    folder = local_path(url).absolute()
    while not folder.exists():
        folder = folder.parent
    try:
        stats = os.statvfs(folder)
    except OSError as error:
        raise SeamountError(f"cannot read the free space of {folder}: {error}") from error
    return stats.f_bavail * stats.f_frsize
