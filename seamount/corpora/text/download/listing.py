"""What to fetch: mirror lists, plain URLs, and the released layout of a data set.

A mirror list is YAML or JSON:

    base_urls: [https://one.example/pile, s3://bucket/pile]   # optional
    files:
    - path: train/00.jsonl.zst
      size: 15182471112          # optional, bytes
      sha256: 0123...            # optional
      urls: [https://other.example/00.jsonl.zst]   # optional beside base_urls

Each file is had from its own `urls` first, then from each base URL followed by its path.
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Annotated, Any
from urllib.parse import quote, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from seamount.core import settings, storage, yaml_file
from seamount.core.errors import UserError
from seamount.corpora.text.download.addresses import scheme, shown
from seamount.corpora.text.download.digests import with_digests
from seamount.corpora.text.download.refusals import refuse_bad_files
from seamount.corpora.text.download.request import RemoteFile

_RELEASE = "release.yaml"
_LIST_SUFFIXES = (".yaml", ".yml", ".json")
_MAX_LIST_BYTES = 64 << 20
_Url = Annotated[str, Field(min_length=1, max_length=8192)]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: Annotated[str, Field(min_length=1, max_length=2000)]
    size: int | None = Field(None, ge=0, strict=True)
    sha256: str | None = Field(None, pattern=r"^[0-9a-fA-F]{64}$")
    urls: list[_Url] = []


class _List(BaseModel):
    model_config = ConfigDict(extra="forbid")

    base_urls: list[_Url] = []
    files: Annotated[list[_File], Field(min_length=1, max_length=1_000_000)]


def read_files(
    sources: list[str], base_urls: list[str] | None = None, sha256sums: str | None = None
) -> tuple[RemoteFile, ...]:
    """The files that `sources` name, each with all its mirrors.

    A source is a mirror list (a path or URL that ends in .yaml, .yml or .json), the name of a data
    set whose release is declared (`pile`), an s3:// folder, or the URL of one file. `base_urls` are
    mirrors of every file of the lists and releases; without a source they mean `pile`. `sha256sums`
    is the path or URL of digests as sha256sum writes them.

    Raises UserError naming the entry for a path that leads elsewhere, two files of one name, an
    address that is not followed, a file without a source or without a digest in `sha256sums`.
    """
    bases = list(base_urls or [])
    wanted = sources or (["pile"] if bases else [])
    files = [file for source in wanted for file in _of(source, bases)]
    refuse_bad_files(files)
    return tuple(files if sha256sums is None else with_digests(files, sha256sums))


def _of(source: str, bases: list[str]) -> list[RemoteFile]:
    name = urlsplit(source).path if scheme(source) else source
    if name.lower().endswith(_LIST_SUFFIXES):
        return _of_list(_read_list(source), bases, source)
    if not scheme(source):
        found = str(settings.find_declaration("datasets", source, _RELEASE))
        return _of_list(_read_list(found), bases, source)
    if scheme(source) == "s3" and storage.is_folder(source):
        return _of_folder(source)
    return [RemoteFile(unquote(PurePosixPath(name).name), (source,))]


def _of_list(content: _List, bases: list[str], source: str) -> list[RemoteFile]:
    bases = [*bases, *content.base_urls]
    if not bases and not all(file.urls for file in content.files):
        raise UserError(f"{shown(source)} has files without urls: give a base URL (--base-url)")
    return [
        RemoteFile(
            file.path,
            (*file.urls, *(_below(base, file.path) for base in bases)),
            file.size,
            file.sha256.lower() if file.sha256 else None,
        )
        for file in content.files
    ]


def _of_folder(source: str) -> list[RemoteFile]:
    urls = storage.list_files(source)
    if not urls:
        raise UserError(f"no object below {source!r}: check bucket and prefix")
    base = source.rstrip("/")
    return [RemoteFile(url[len(base) :].lstrip("/"), (url,)) for url in urls]


def _below(base: str, path: str) -> str:
    """`path` below `base`; a query of the base (an access signature) stays behind the path."""
    parts = urlsplit(base)
    below = path if scheme(base) == "s3" else quote(path)
    return parts._replace(path=f"{parts.path.rstrip('/')}/{below}").geturl()


def _read_list(source: str) -> _List:
    what = f"the list {shown(source) if scheme(source) else source!r}"
    with storage.open_read(source) as stream:
        content = stream.read(_MAX_LIST_BYTES + 1)
    if len(content) > _MAX_LIST_BYTES:
        raise UserError(f"{what} is larger than {_MAX_LIST_BYTES >> 20} MiB: split it")
    try:
        return _List.model_validate(_parsed(content, what, source))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the top"
        raise UserError(
            f"{what} is wrong at {where}: {first['msg']}, given {str(first['input'])[:80]!r}"
        ) from error


def _parsed(content: bytes, what: str, source: str) -> Any:
    try:
        text = content.decode("utf-8")
        if not urlsplit(source).path.lower().endswith(".json"):
            return yaml_file.parse(text, what)
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{what} is not valid JSON or YAML: {error}") from error
