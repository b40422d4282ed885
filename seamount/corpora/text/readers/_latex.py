r"""LaTeX sources: which file is the paper, its parts filled in, comments and preamble off."""

from __future__ import annotations

import posixpath
import re

_CLASS = re.compile(r"^[^%\n]*\\document(?:class|style)\b", re.MULTILINE)
_BEGIN = re.compile(r"\\begin\s*\{document\}")
_END = re.compile(r"\\end\s*\{document\}")
_TEX_SIGNS = re.compile(r"\\(?:bye|end|input|magnification|def|section|begin|hsize|baselineskip)\b")
_INPUT = re.compile(
    r"\\(?:input|include|subfile|subfileinclude)\s*\{\s*([^{}\n]+?)\s*\}"
    r"|\\(?:sub)?import\*?\s*\{\s*([^{}\n]*?)\s*\}\s*\{\s*([^{}\n]+?)\s*\}"
    r"|\\input[ \t]+([^\s{}\\%]+)"
)
# What a percent sign may stand behind or within, tried in this order at each place.
_TOKEN = re.compile(
    r"\\begin\{(?P<environment>verbatim\*?|lstlisting|Verbatim|minted|alltt|comment)\}"
    r"|\\verb\*?(?P<mark>[^\sa-zA-Z*])[^\n]*?(?P=mark)|\\."
    r"|(?P<line>^[ \t]*%[^\n]*(?:\n|\Z))|(?P<rest>%[^\n]*)",
    re.MULTILINE | re.DOTALL,
)
_BLANKS = re.compile(r"\n{3,}")
_PLAIN_NAMES = ("main", "ms", "paper", "article", "manuscript")
MOST_CHARACTERS = 64_000_000
_MOST_DEPTH = 32


class TooLarge(ValueError):
    """The files include one another so often that the paper would have no end."""


def main_file(texts: dict[str, str]) -> str | None:
    r"""The paper's own file: what 00README names as toplevelfile, else of the files with a
    document class the one that no other takes in, that has `\begin{document}`, that lies highest,
    that has a usual name, that is longest. Without a document class the longest TeX file.
    """
    told = _told_main(texts)
    if told:
        return told
    candidates = [n for n, text in texts.items() if _CLASS.search(text)]
    if not candidates:
        candidates = [n for n, t in texts.items() if _is_tex(n) and _TEX_SIGNS.search(t)]
    taken = {path for n, text in texts.items() for path in _included(n, text, texts)}
    return min(candidates, key=lambda n: _rank(n, texts[n], n in taken), default=None)


def _told_main(texts: dict[str, str]) -> str | None:
    for name, text in texts.items():
        if posixpath.basename(name).upper().startswith("00README"):
            for line in text.splitlines():
                words = line.split()
                if len(words) == 2 and words[1] == "toplevelfile" and words[0] in texts:
                    return words[0]
    return None


def _is_tex(name: str) -> bool:
    return not name.lower().endswith((".bbl", ".txt"))


def _rank(name: str, text: str, taken: bool) -> tuple[object, ...]:
    stem = posixpath.basename(name).rpartition(".")[0].lower()
    usual = _PLAIN_NAMES.index(stem) if stem in _PLAIN_NAMES else len(_PLAIN_NAMES)
    return (taken, _BEGIN.search(text) is None, name.count("/"), usual, -len(text), name)


def _included(name: str, text: str, texts: dict[str, str]) -> list[str]:
    found = (_target(mark, posixpath.dirname(name), texts) for mark in _INPUT.finditer(text))
    return [path for path in found if path is not None and path != name]


def _target(mark: re.Match[str], folder: str, texts: dict[str, str]) -> str | None:
    """The file a mark takes in: from the paper's top, as LaTeX does, or from the file's folder."""
    wanted = mark[1] or mark[4] or f"{mark[2]}/{mark[3]}"
    for base in ("", folder):
        path = posixpath.normpath(posixpath.join(base, wanted.strip('"')))
        for name in (path, f"{path}.tex", f"{path}.ltx"):
            if name in texts:
                return name
    return None


def flatten(main: str, texts: dict[str, str]) -> str:
    """The main file without comments and with every file that it takes in, to any depth.

    What is not in the archive, or would take itself in, stays as it is written. Raises TooLarge.
    """
    clean: dict[str, str] = {}
    used = 0

    def expanded(name: str, above: tuple[str, ...]) -> str:
        nonlocal used
        if name not in clean:
            clean[name] = without_comments(texts[name])
        used += len(clean[name]) + 1
        if used > MOST_CHARACTERS:
            raise TooLarge(f"beyond {MOST_CHARACTERS} characters when \\input is filled in")

        def filled(mark: re.Match[str]) -> str:
            path = _target(mark, posixpath.dirname(name), texts)
            if path is None or path in above or path == name or len(above) > _MOST_DEPTH:
                return mark[0]
            inner = expanded(path, (*above, name))
            return body(inner) if _BEGIN.search(inner) else inner

        return _INPUT.sub(filled, clean[name])

    return expanded(main, ())


def without_comments(text: str) -> str:
    r"""`text` without what follows a `%`, but where it is escaped or verbatim.

    A line that is only a comment goes whole, and so does a `comment` environment.
    """
    kept: list[str] = []
    endless: set[str] = set()  # environments that never end; looked for once, not for each begin
    at = 0
    while found := _TOKEN.search(text, at):
        kept.append(text[at : found.start()])
        at = found.end()
        if found["line"] is not None or found["rest"] is not None:
            continue
        name = found["environment"]
        if name is None or name in endless:
            kept.append(found[0])
            continue
        at = _end_of(text, name, found.end())
        if at < 0:
            endless.add(name)
            at = found.end()
        if name != "comment" or name in endless:
            kept.append(text[found.start() : at])
    return "".join([*kept, text[at:]])


def _end_of(text: str, environment: str, start: int) -> int:
    """Where an environment is over, -1 for nowhere."""
    end = rf"\end{{{environment}}}"
    at = text.find(end, start)
    return at if at < 0 else at + len(end)


def body(text: str) -> str:
    r"""What stands between `\begin{document}` and `\end{document}`; all where there is none."""
    begin = _BEGIN.search(text)
    start = begin.end() if begin else 0
    end = _END.search(text, start)
    inner = text[start : end.start() if end else len(text)]
    return _BLANKS.sub("\n\n", inner).strip() + "\n"


def told(text: str) -> dict[str, str]:
    r"""Title and author as `\title{...}` and `\author{...}` give them, LaTeX and all."""
    found = {}
    for name in ("title", "author"):
        mark = re.search(rf"\\{name}\s*(?:\[[^\]]*\]\s*)?\{{", text)
        value = " ".join(_braced(text, mark.end()).split()) if mark else ""
        if value:
            found[name] = value[:500]
    return found


def _braced(text: str, start: int) -> str:
    depth = 1
    for mark in re.finditer(r"\\.|[{}]", text[start : start + 5_000], re.DOTALL):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth == 0:
            return text[start : start + mark.start()]
    return ""
