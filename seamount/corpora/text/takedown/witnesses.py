"""What was made from a corpus before documents were excluded: by the lineage files of artefacts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from seamount.core import lineage, storage
from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text import manifest
from seamount.corpora.text.tokens import TokenFile

_DEPTH = 6
# (folder of a checkpoint, where its tokens lie now, ids that went from train) -> (state, why)
Judge = Callable[[str, str | None, set[str]], tuple[str, str] | None]
_ENDS = ("saw", "clean", "unknown")


@dataclass(frozen=True)
class Artefact:
    """A folder with a lineage file."""

    path: str
    record: lineage.Lineage


@dataclass(frozen=True)
class Witness:
    """An artefact that may have seen removed documents.

    `state` is "saw", or "unknown" where an input that would tell is gone. `documents` and `tokens`
    (by split) say how much of a token folder is removed text.
    """

    path: str
    kind: str
    digest: str
    state: str
    says: str
    documents: int = 0
    tokens: dict[str, int] = field(default_factory=dict)


def artefacts_below(folders: Sequence[str]) -> list[Artefact]:
    """Every artefact in these folders, six levels deep, hidden folders aside, sorted by path."""
    found: dict[str, Artefact] = {}
    for folder in folders:
        if not storage.exists(folder):
            raise UserError(f"nothing stands at {folder!r}: check the path")
        for path in _lineage_files(folder):
            where = path.removesuffix(f"/{lineage.FILE_NAME}")
            key = str(storage.local_path(where).resolve()) if storage.is_local(where) else where
            try:
                found.setdefault(key, Artefact(key, lineage.read(where)))
            except (CorruptData, UserError, TypeError, AttributeError):
                continue  # another program's file of that name
    return [found[key] for key in sorted(found)]


def _lineage_files(folder: str) -> Iterator[str]:
    if not storage.is_local(folder):
        yield from storage.list_files(folder, (f"/{lineage.FILE_NAME}",))
        return
    top = storage.local_path(folder)
    for where, folders, files in os.walk(top):
        depth = len(os.path.relpath(where, top).split(os.sep)) if where != str(top) else 0
        folders[:] = sorted(f for f in folders if not f.startswith(".") and depth < _DEPTH)
        if lineage.FILE_NAME in files:
            yield f"{where}/{lineage.FILE_NAME}"


def places_around(url: str) -> list[str]:
    """Where to look by default: the folder that the corpus lies in."""
    if storage.is_local(url):
        return [str(storage.local_path(url).resolve().parent)]
    return [url.rstrip("/").rpartition("/")[0]]


def witnesses(
    artefacts: Sequence[Artefact],
    states: set[str],
    removed: dict[str, list[str]],
    judge: Judge | None = None,
) -> list[Witness]:
    """Which `artefacts` were made from a corpus of one of the digests `states` and, as far as
    their own files tell, hold one of the `removed` ids (by split).

    `judge` says of a checkpoint whose tokens hold some whether its steps came to them.
    """
    ids = {split: set(names) for split, names in removed.items()}
    search = _Search(artefacts, states, ids, judge)
    found = (search.look(one) for one in artefacts if one.record.digest not in states)
    return [one for one in found if one.state != "clean"]


class _Search:
    def __init__(
        self,
        artefacts: Sequence[Artefact],
        states: set[str],
        removed: dict[str, set[str]],
        judge: Judge | None,
    ) -> None:
        self.states, self.removed, self.judge = states, removed, judge
        self.by_digest = {one.record.digest: one for one in artefacts}
        self.known: dict[str, Witness] = {}

    def look(self, one: Artefact) -> Witness:
        if one.path not in self.known:
            self.known[one.path] = _as("clean", one, "")  # a lineage that leads back to itself
            self.known[one.path] = self._judge(one)
        return self.known[one.path]

    def _judge(self, one: Artefact) -> Witness:
        inputs = one.record.inputs
        if one.record.kind == "tokens" and _corpus_digest(one) in self.states:
            return self._tokens(one)
        if one.record.kind == "tokenizer" and _corpus_digest(one) in self.states:
            # Its vocabulary is learnt from the train split alone.
            says = (
                "learnt from the train split as it was before" if self.removed.get("train") else ""
            )
            return _as("saw" if says else "clean", one, says)
        verdicts = [self._input(role, ref) for role, ref in sorted(inputs.items())]
        for state in _ENDS:
            reasons = [says for found, says in verdicts if found == state]
            if reasons and state != "clean":
                if state == "saw" and (known := self._known_better(one)) is not None:
                    return _as(known[0], one, f"{known[1]}; {'; '.join(reasons)}")
                return _as(state, one, "; ".join(reasons))
        return _as("clean", one, "")

    def _known_better(self, one: Artefact) -> tuple[str, str] | None:
        if one.record.kind != "checkpoint" or self.judge is None:
            return None
        tokens = self.by_digest.get(one.record.inputs.get("tokens", {}).get("digest", ""))
        return self.judge(
            one.path, tokens.path if tokens else None, self.removed.get("train", set())
        )

    def _input(self, role: str, ref: Any) -> tuple[str, str]:
        if not isinstance(ref, dict) or "digest" not in ref or role == "tokenizer":
            return "clean", ""  # a vocabulary holds no document: what it encodes tells
        path, digest = str(ref.get("path", "")), ref["digest"]
        if digest in self.states:
            return "saw", f"made from the corpus as it was before ({role})"
        found = self.by_digest.get(digest) or _standing(path, digest)
        if found is None:
            return ("unknown", f"its {role} {path} is not there any more") if role in (
                "tokens", "corpus", "checkpoint") else ("clean", "")  # fmt: skip
        below = self.look(found)
        return below.state, f"made from {below.path} ({role})" if below.state != "clean" else ""

    def _tokens(self, one: Artefact) -> Witness:
        """Count the removed documents in the token files themselves."""
        counts: dict[str, int] = {}
        documents = 0
        try:
            for split in sorted(one.record.parameters.get("splits", ())):
                ranges = token_ranges(one.path, split, self.removed.get(split, set()))
                documents += len(ranges)
                counts[split] = sum(r["end"] - r["start"] for r in ranges)
        except (CorruptData, UserError, OSError) as error:
            return _as("unknown", one, f"its token files cannot be read: {error}")
        if not documents:
            return _as("clean", one, "")
        told = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
        says = f"holds {documents:,} of the removed documents (tokens: {told})"
        return Witness(one.path, "tokens", one.record.digest, "saw", says, documents, counts)


def _as(state: str, one: Artefact, says: str) -> Witness:
    return Witness(one.path, one.record.kind, one.record.digest, state, says)


def _corpus_digest(one: Artefact) -> str:
    ref = one.record.inputs.get("corpus")
    return str(ref.get("digest", "")) if isinstance(ref, dict) else ""


def _standing(path: str, digest: str) -> Artefact | None:
    """The artefact at `path`, if it is still the one of that digest."""
    if not path or not storage.exists(storage.join(path, lineage.FILE_NAME)):
        return None
    try:
        record = lineage.read(path)
    except (CorruptData, UserError):
        return None
    return Artefact(path, record) if record.digest == digest else None


def token_ranges(folder: str, split: str, names: set[str]) -> list[dict[str, Any]]:
    """[{id, split, start, end}] of documents in a token file: their ids are tokens[start:end]."""
    file = TokenFile(folder, split)
    if not names:
        return []
    starts = file.starts
    return [
        {"id": name, "split": split, "start": int(starts[n]), "end": int(starts[n + 1])}
        for n, name in enumerate(file.document_ids)
        if name in names
    ]


def witnesses_of_exclusion(
    url: str,
    exclusion: dict[str, Any] | None,
    removed: dict[str, list[str]],
    folders: Sequence[str] = (),
    judge: Judge | None = None,
) -> list[Witness]:
    """What below `folders` (default: around the corpus) saw what an exclusion took, or would take.

    `exclusion` is its entry in the history of the corpus in `url`, `removed` the ids by split,
    `judge` as in `witnesses`.
    """
    if exclusion is None:
        return []
    history = manifest.load_manifest(url).get("exclusions", [])
    states = {one["digest_before"] for one in history if one["number"] <= exclusion["number"]}
    artefacts = artefacts_below(folders or places_around(url))
    return witnesses(artefacts, states | {exclusion["digest_before"]}, removed, judge)
