"""What a list of files may not ask for: lists come from outside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from seamount.core.errors import UserError
from seamount.corpora.text.download.addresses import refusal
from seamount.corpora.text.download.request import DownloadRequest, RemoteFile

_MAX_NAME_BYTES = 200  # room for what is appended to a part's name


def refuse_bad_request(request: DownloadRequest) -> None:
    """Raise UserError for no files, bad ones, or figures that cannot work."""
    if not request.files:
        raise UserError("no file to download: give a URL, a list, or --base-url")
    if request.jobs < 1 or request.mark_bytes < 1 or request.retry.timeout_s <= 0:
        raise UserError("jobs, mark_bytes and timeout_s of a download must be above 0")
    refuse_bad_files(request.files)


def refuse_bad_files(files: Sequence[RemoteFile]) -> None:
    """Raise UserError naming a path that leads elsewhere, two of one name, or a wrong address."""
    for file in files:
        _refuse_bad_path(file.path)
        if not file.urls:
            raise UserError(f"no source is given for {file.path}: add a URL")
        for url in file.urls:
            if refused := refusal(url):
                raise UserError(f"a source of {file.path} is not taken: {refused}")
    _refuse_clashes([file.path for file in files])


def _refuse_bad_path(path: str) -> None:
    """Paths stay below the output folder, in plain sight, and apart from what is hidden there."""
    parts = path.split("/")
    bad = (
        "\\" in path
        or not path.isprintable()
        or any(part == "" or part.startswith(".") for part in parts)
        or any(len(part.encode()) > _MAX_NAME_BYTES for part in parts)
    )
    if bad:
        raise UserError(
            f"the path {path!r} is not taken: it must lead below the output folder, by names that "
            f"are visible, printable and at most {_MAX_NAME_BYTES} bytes long"
        )


def _refuse_clashes(paths: list[str]) -> None:
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            raise UserError(f"two files are called {path!r}: give them different paths in a list")
        seen.add(path)
    for path in paths:
        above = [str(folder) for folder in PurePosixPath(path).parents]
        if clash := seen.intersection(above):
            raise UserError(f"{clash.pop()!r} is a file and the folder of {path!r}: rename one")
