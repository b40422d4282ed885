"""Files of an object store (s3:// through s3fs), fetched as ranges of a few MB each.

Endpoint, region and keys come from the store's own settings (AWS_ENDPOINT_URL, ~/.aws, ...).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.corpora.text.download.mirrors import Changed, Transient, Unusable
from seamount.corpora.text.download.sources import Opened

_PIECE_BYTES = 8 << 20


class ObjectSource:
    """Any fsspec file system that reads ranges."""

    def close(self) -> None:
        """Fsspec keeps its connections for the process."""

    def size_bytes(self, url: str) -> int | None:
        """The object's size."""
        try:
            return _state(url)[0]
        except (Transient, Unusable):
            return None

    @contextmanager
    def open(self, url: str, offset: int, validator: str | None) -> Iterator[Opened]:
        """The object from `offset` on; Changed where its entity tag is no longer `validator`."""
        total, now = _state(url)
        if offset and (offset > total or (validator and now != validator)):
            raise Changed("has another state of the object by now")
        yield Opened(offset, total, now, _pieces(url, offset, total, now))


def _pieces(url: str, offset: int, total: int, validator: str | None) -> Iterator[bytes]:
    fs, path = storage.filesystem(url)
    while offset < total:
        end = min(total, offset + _PIECE_BYTES)
        with _failures():
            piece = fs.cat_file(path, start=offset, end=end)
        if len(piece) != end - offset:
            raise Transient(f"gives {len(piece)} bytes where {end - offset} were asked for")
        yield piece
        offset = end
    if _state(url) != (total, validator):  # the ranges may be of two states of the object
        raise Changed("changed the object while it was fetched")


def _state(url: str) -> tuple[int, str | None]:
    try:
        fs, path = storage.filesystem(url)
    except UserError as error:
        raise Unusable(str(error)) from error
    with _failures():
        info: dict[str, Any] = fs.info(path, refresh=True)
    if info.get("type") != "file" or info.get("size") is None:
        raise Unusable("is no object")
    return int(info["size"]), info.get("ETag")


@contextmanager
def _failures() -> Iterator[None]:
    """The store's own errors: what is missing or forbidden stays so, anything else may pass."""
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise Unusable(f"does not give the object ({_sentence(error)})") from error
    except Exception as error:
        if type(error).__name__ in ("NoCredentialsError", "ParamValidationError"):
            raise Unusable(_sentence(error)) from error
        raise Transient(f"fails ({_sentence(error)})") from error


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
