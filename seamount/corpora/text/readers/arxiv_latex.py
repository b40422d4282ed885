r"""arXiv e-prints as their authors' LaTeX: one document a paper.

A paper is a .tex file, a gzipped one, a gzipped tar, or a member of arXiv's monthly tars. The main
file is found, `\input`, `\include`, `\subfile` and `\import` are filled in from inside the archive,
comments go, and so does all that stands before `\begin{document}` and from `\end{document}` on.
The LaTeX is kept, where the Pile ran a pandoc of 2016 over it: mathematics is written that way by
those who write it, and no paper is lost to a converter. Papers that come as PDF or PostScript are
passed over. `meta` keeps title, author and main file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from seamount.core.errors import CorruptData
from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _encodings, _files, _latex, _streams

COMPONENT = "ArXiv"
_ENDINGS = (".tex", ".tex.gz", ".gz", ".tar", ".tar.gz", ".tgz")
_PAPERS = (".gz", ".tgz", ".pdf", ".ps")
_SOURCES = (".tex", ".ltx", ".latex", ".bbl", ".txt", "")
_OTHER_FORMS = ((b"%PDF", "PDF"), (b"%!PS", "PostScript"), (b"PK\x03\x04", "Word or zip"))
_NUMBER = re.compile(r"(?:[a-z-]+(?:\.[A-Z]{2})?/?)?\d{7}|\d{4}\.\d{4,5}(?:v\d+)?")


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .tex, .gz, .tar.gz, .tgz (a paper each) or .tar (arXiv's bundles of papers)."""
    return _files.items(url, limit_bytes, lambda name: name.lower().endswith(_ENDINGS))


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a paper; its id is the item's name, with the member's name in a bundle."""
    if item.location.lower().endswith(".tar"):
        yield from _bundle(item, component)
        return
    try:
        with _streams.opened(item.location) as stream:
            data = _streams.whole(stream)
    except CorruptData as error:
        yield Quarantined(item.location, 1, str(error), item.size_bytes)
    except _streams.TooLarge:
        yield Skipped(item.location, f"larger than {_streams.MOST_BYTES} bytes", item.size_bytes)
    else:
        yield _paper(_archives.File(item.name, item.location, data), component)


def _bundle(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """A tar whose members are papers, or (a paper tarred but not compressed) a paper's files."""
    loose: dict[str, bytes] = {}
    for file in _archives.files(item, _is_paper_or_part):
        if not isinstance(file, _archives.File):
            yield file
        elif file.source.lower().endswith(_PAPERS):
            yield _paper(file, component)
        else:
            loose[file.id.removeprefix(f"{item.name}/")] = file.data
    if loose:
        size = sum(map(len, loose.values()))
        yield _document(loose, component, item.name, item.location, size)


def _is_paper_or_part(name: str) -> bool:
    return name.lower().endswith(_PAPERS) or PurePosixPath(name).suffix.lower() in _SOURCES


def _paper(file: _archives.File, component: str) -> Document | Quarantined | Skipped:
    for start, form in _OTHER_FORMS:
        if file.data.startswith(start):
            return Skipped(file.source, f"{form}, not LaTeX", len(file.data))
    try:
        sources = _sources(file)
    except _streams.TooLarge:
        return Skipped(file.source, "larger than the bound when unpacked", len(file.data))
    except CorruptData as error:
        return _encodings.quarantined(file, str(error))
    return _document(sources, component, file.id, file.source, len(file.data))


def _sources(file: _archives.File) -> dict[str, bytes]:
    """Path -> bytes of what may be LaTeX, from a tar or from the single file that it is."""
    if file.data[257:262] != b"ustar" and not _is_old_tar(file.data):
        return {"main.tex": file.data}
    sources: dict[str, bytes] = {}
    total = 0
    for name, _, read in _archives.tar_members(io.BytesIO(file.data), file.source):
        path = PurePosixPath(*_archives.parts(name))
        if path.suffix.lower() in _SOURCES or path.name.upper().startswith("00README"):
            sources[str(path)] = _streams.whole(read(), _streams.MOST_BYTES - total)
            total += len(sources[str(path)])
    return sources


def _is_old_tar(data: bytes) -> bool:
    """Whether data begins with a header of tar as it was before POSIX, by its checksum."""
    head = data[:512]
    try:
        told = int(head[148:156].strip(b"\0 ") or b"x", 8)
    except ValueError:
        return False
    return len(head) == 512 and told == sum(head[:148]) + 8 * 32 + sum(head[156:])


def _document(
    sources: dict[str, bytes], component: str, own_id: str, source: str, size: int
) -> Document | Quarantined | Skipped:
    texts = {
        name: _encodings.decode(data)[0].replace("\r\n", "\n").replace("\r", "\n")
        for name, data in sources.items()
        if not _encodings.is_binary(data)
    }
    main = _latex.main_file(texts)
    if main is None:
        return Skipped(source, "no LaTeX file among its files", size)
    try:
        paper = _latex.flatten(main, texts)
    except _latex.TooLarge as error:
        return Quarantined(source, 1, str(error), size)
    text, meta = _latex.body(paper), {**_latex.told(paper), "main": main}
    if number := _NUMBER.search(own_id.rpartition("/")[2]):
        meta["arxiv"] = number[0]
    return Document(text, component, own_id, source, meta)
