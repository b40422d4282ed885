"""The forms in which documents come, one file each, told by the end of a file's name.

A form has

    SUFFIXES: tuple[str, ...]
        Ends of the names of its files.
    SEES_ALL_BYTES: bool
        Whether `read` gives `on_bytes` every byte of the file, in order.
    read(url, name, on_bytes=None, start_line=1) -> Iterator[Document | Quarantined]
        Every record in order, numbered from 1; one without an id of its own gets `name:number`.
        CorruptData comes after the good records before the damage.
    count(url) -> int
        Its lines or rows.
    head(url, name, limit_bytes) -> tuple[list[Document], int]
        Its first documents, about `limit_bytes` of text, and the bytes of the file behind them.

docs/corpus/formats.md says what becomes of each kind of odd input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from types import ModuleType

from seamount.core import storage
from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import magic, manifest
from seamount.corpora.text.formats import jsonl_gz, jsonl_plain, jsonl_zst, parquet

FORMS: dict[str, ModuleType] = {
    "jsonl_zst": jsonl_zst,
    "jsonl_gz": jsonl_gz,
    "jsonl_plain": jsonl_plain,
    "parquet": parquet,
}
SUFFIXES: tuple[str, ...] = tuple(s for form in FORMS.values() for s in form.SUFFIXES)
SHOWN = ", ".join(f"*{suffix}" for suffix in SUFFIXES)


def form_name(url: str) -> str:
    """The name of a file's form; a file of another name is taken for zstd (see `list_inputs`)."""
    return next((n for n, form in FORMS.items() if url.endswith(form.SUFFIXES)), "jsonl_zst")


def stem(url: str) -> str:
    """File name without folder and the end that tells its form."""
    return without_suffix(PurePosixPath(url).name)


def without_suffix(name: str) -> str:
    """`name` without the end that tells its form."""
    return name.removesuffix(next((s for s in SUFFIXES if name.endswith(s)), ""))


def read(
    url: str,
    name: str | None = None,
    on_bytes: Callable[[bytes], None] | None = None,
    start_line: int = 1,
) -> Iterator[Document | Quarantined]:
    """Every record of a file of any form; `name` is its stem by default. See the package."""
    form = FORMS[form_name(url)]
    yield from form.read(url, stem(url) if name is None else name, on_bytes, start_line)


def count(url: str) -> int:
    """Lines or rows of a file."""
    return int(FORMS[form_name(url)].count(url))


def list_inputs(url: str) -> list[str]:
    """The files of any form at `url` (a file, or a folder searched through), sorted.

    Of a built corpus in it only the shards count, not its other files. Raises UserError where there
    is none, or where a file was given that is of no form by name or by its first bytes.
    """
    found = storage.list_files(url, (*SUFFIXES, manifest.FILE_NAME))
    if found == [url] and not url.endswith(SUFFIXES):
        _refuse_another_format(url)
        return _decodable(found)
    found = _without_accounts(found)
    if not found:
        raise UserError(f"no {SHOWN} file below {url!r}: give a file or a folder that holds some")
    return _decodable(found)


def _without_accounts(found: list[str]) -> list[str]:
    """`found` without manifests, and without what stands beside the shards of built corpora."""
    end = f"/{manifest.FILE_NAME}"
    folders = tuple(f.removesuffix(manifest.FILE_NAME) for f in found if f.endswith(end))
    files = [f for f in found if f.endswith(SUFFIXES)]
    beside = {f for f in files if f.startswith(folders) and not f.endswith(jsonl_zst.SUFFIXES)}
    if not beside:
        return files
    corpora = tuple(folder for folder in folders if _holds_corpus(folder))
    return [f for f in files if f not in beside or not f.startswith(corpora)]


def _holds_corpus(folder: str) -> bool:
    try:
        manifest.load_manifest(folder)
    except CorruptData:  # a file of that name that others wrote
        return False
    return True


def _refuse_another_format(url: str) -> None:
    """A file that neither its name nor its first bytes make one of a form was given by mistake."""
    with storage.open_read(url) as stream:
        if not magic.begins_zstd(stream.read(4)):
            raise UserError(
                f"{url!r} is no zstd file, nor called one of {SHOWN}: give such files, or a folder "
                "that holds some"
            )


def _decodable(urls: list[str]) -> list[str]:
    """`urls`; a name that is no UTF-8 can stand neither in a manifest nor in a document's id."""
    for url in urls:
        if any("\ud800" <= character <= "\udfff" for character in url):
            shown = url.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            raise UserError(f"the file name {shown} is not valid UTF-8: rename the file")
    return urls
