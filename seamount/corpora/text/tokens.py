"""Token files: a split as one flat, memory-mapped array of ids with document boundaries.

`<split>.bin` is little-endian uint16 (uint32 above 65,536 ids); every document is the prefix
token and then its own tokens. `<split>.idx` is an Arrow IPC file with one row a document: start
(position in the array), id, component, size_bytes. `tokens.json` names tokenizer and corpus by
digest and counts what the splits hold; a split it lists under the same digests is reused.

A special token's spelling inside a text is letters and never the special token, so that no document
can pretend to end; added tokens that are not special are found as the library finds them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from seamount.core import lineage, progress, storage
from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document
from seamount.corpora.text import token_parts
from seamount.corpora.text.stages import stage
from seamount.corpora.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np

FORMAT = 1
_INFO = "tokens.json"


@dataclass(frozen=True)
class TokensRef:
    """Where a tokenised split is and what it holds; `reused` where nothing was written.

    `encoding` says which way the ids were made, `shards` how many were encoded now and how many an
    earlier, stopped run had finished.
    """

    folder: str
    split: str
    digest: str
    documents: int
    tokens: int
    size_bytes: int
    components: dict[str, dict[str, int]]
    reused: bool
    duration_s: float = 0.0
    encoding: dict[str, Any] = field(default_factory=dict)
    shards: dict[str, int] = field(default_factory=dict)

    @property
    def megabytes_per_s(self) -> float:
        """Speed of tokenising, in 1e6 bytes of text a second (0 where reused)."""
        return self.size_bytes / 1e6 / self.duration_s if self.duration_s else 0.0


def tokenize_split(
    corpus_url: str, split: str, tokenizer_folder: str, out_folder: str
) -> TokensRef:
    """Encode one split of a corpus folder into `out_folder`, or reuse what is there."""
    from seamount.corpora.text.tokenizing import TokenizeRequest, tokenize_corpus

    request = TokenizeRequest(corpus_url, tokenizer_folder, out_folder, (split,))
    return tokenize_corpus(request)[0]


def corpus_reference(corpus_url: str) -> dict[str, str]:
    """The {"path", "digest"} of a corpus folder: by its lineage, else by its manifest's bytes."""
    if storage.exists(storage.join(corpus_url, lineage.FILE_NAME)):
        return lineage.reference(corpus_url)
    manifest = storage.join(corpus_url, "manifest.json")
    if not storage.exists(manifest):
        raise UserError(f"{corpus_url} has no manifest.json: build a corpus there first")
    return {"path": corpus_url, "digest": storage.sha256(manifest)}


def write_tokens(
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    out_folder: str,
    split: str,
    inputs: dict[str, dict[str, str]],
) -> TokensRef:
    """Encode `documents` into `<split>.bin` and `<split>.idx`; `inputs` as in lineage.json."""
    require_prefix(tokenizer)
    storage.local_path(out_folder)  # memory maps need a local folder
    start_s = time.monotonic()
    part = storage.join(out_folder, stage.WORK, f"{split}-documents")
    try:
        with progress.bar(f"tokenise {split}") as bar:
            told = _telling(documents, bar)
            stage.run(part, lambda folder: token_parts.write_part(told, tokenizer, folder))
        entry = publish([part], tokenizer, out_folder, split, inputs)
    finally:
        storage.remove_tree(storage.join(out_folder, stage.WORK))
    return reference_to(out_folder, split, entry, duration_s=time.monotonic() - start_s)


def _telling(documents: Iterable[Document], bar: progress.Bar) -> Iterator[Document]:
    for document in documents:
        yield document
        bar.advance()


def require_prefix(tokenizer: Tokenizer) -> None:
    """Raise UserError where a tokenizer names no token to open a document with."""
    if tokenizer.prefix_id is None:
        raise UserError(
            f"the tokenizer in {tokenizer.folder} has no token to open a document with (no BOS, no "
            "EOS, no <|endoftext|>): name one with --prefix-token"
        )


@dataclass(frozen=True)
class TokenFile:
    """A tokenised split, memory-mapped; raises CorruptData where sizes do not agree.

    `tokens` uint16 or uint32 [tokens]; `starts` int64 [documents + 1], the last being the number
    of tokens; `document_ids` and `components`, one name a document.
    """

    folder: str
    split: str

    @cached_property
    def info(self) -> dict[str, Any]:
        """The content of tokens.json."""
        info = storage.read_json(storage.join(self.folder, _INFO))
        if self.split not in info["splits"]:
            raise UserError(
                f"{self.folder} holds no split {self.split!r}: {sorted(info['splits'])}"
            )
        return dict(info)

    @cached_property
    def tokens(self) -> np.ndarray:
        """Ids of all documents in a row."""
        import numpy as np

        entry = self.info["splits"][self.split]
        dtype = np.dtype(entry["dtype"])
        path = storage.local_path(storage.join(self.folder, f"{self.split}.bin"))
        if not path.is_file() or path.stat().st_size != entry["tokens"] * dtype.itemsize:
            raise CorruptData(f"{path} is not the file tokens.json describes: tokenise again")
        if not entry["tokens"]:
            return np.empty(0, dtype=dtype)
        return np.memmap(path, dtype=dtype, mode="r")

    @cached_property
    def _index(self) -> Any:
        import pyarrow as pa

        path = storage.local_path(storage.join(self.folder, f"{self.split}.idx"))
        try:
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        except (pa.ArrowInvalid, OSError) as error:
            raise CorruptData(f"{path} is not a token index ({error}): tokenise again") from error
        if table.num_rows != self.info["splits"][self.split]["documents"]:
            raise CorruptData(f"{path} is not the file tokens.json describes: tokenise again")
        return table

    @cached_property
    def starts(self) -> np.ndarray:
        """int64 [documents + 1]: where each document begins, and the end of the last."""
        import numpy as np

        return np.append(self._index["start"].to_numpy(), np.int64(len(self.tokens)))

    @cached_property
    def document_ids(self) -> list[str]:
        """Id of each document."""
        return list(self._index["id"].to_pylist())

    @cached_property
    def components(self) -> list[str]:
        """Component of each document."""
        return list(self._index["component"].to_pylist())

    @property
    def tokenizer_digest(self) -> str:
        """SHA-256 of the tokenizer.json that made the ids."""
        return str(self.info["inputs"]["tokenizer"]["digest"])

    @property
    def vocab_size(self) -> int:
        """Number of ids of that tokenizer."""
        return int(self.info["splits"][self.split]["vocab_size"])


def publish(
    parts: Sequence[str],
    tokenizer: Tokenizer,
    folder: str,
    split: str,
    inputs: dict[str, dict[str, str]],
) -> dict[str, Any]:
    """Put a split together from finished parts; its entry in tokens.json, which is written last.

    What tokens.json says of this split, or of other inputs, is withdrawn first, so that it never
    lists what is not there.
    """
    withdraw(folder, split, inputs)
    entry = token_parts.join(parts, tokenizer, storage.join(folder, stage.WORK, split))
    for kind in entry["sha256"]:
        _put(folder, f"{split}.{kind}")
    _write_info(folder, inputs, {**_splits(folder, inputs), split: entry})
    seal(folder)
    return entry


def seal(folder: str) -> None:
    """Write the lineage of what tokens.json lists, unless it stands (a stop may come between)."""
    info = storage.read_json(storage.join(folder, _INFO))
    splits = info["splits"]
    digest = storage.digest_of({name: s["sha256"] for name, s in splits.items()})
    record = lineage.Lineage("tokens", digest, info["inputs"], {"splits": sorted(splits)})
    there = storage.exists(storage.join(folder, lineage.FILE_NAME))
    if not there or lineage.read(folder).digest != digest:
        lineage.write(storage.join(folder, stage.WORK), record)
        _put(folder, lineage.FILE_NAME)


def _write_info(folder: str, inputs: dict[str, dict[str, str]], splits: dict[str, Any]) -> None:
    info = {"format": FORMAT, "inputs": inputs, "splits": splits}
    storage.write_json(storage.join(folder, stage.WORK, _INFO), info)
    _put(folder, _INFO)


def _put(folder: str, name: str) -> None:
    """Move a finished file out of the work folder, where a kill may leave halves, to its place."""
    storage.move(storage.join(folder, stage.WORK, name), storage.join(folder, name))


def withdraw(folder: str, split: str | None, inputs: dict[str, dict[str, str]]) -> None:
    """Take a split, and every split of other inputs, out of tokens.json."""
    url = storage.join(folder, _INFO)
    if not storage.exists(url):
        return
    kept = {name: s for name, s in _splits(folder, inputs).items() if name != split}
    if kept == storage.read_json(url).get("splits"):
        return
    _write_info(folder, inputs, kept)
    seal(folder)


def _splits(folder: str, inputs: dict[str, dict[str, str]]) -> dict[str, Any]:
    """The splits that tokens.json lists under the digests of `inputs`."""
    url = storage.join(folder, _INFO)
    info = storage.read_json(url) if storage.exists(url) else {}
    same = info.get("format") == FORMAT and _digests(info["inputs"]) == _digests(inputs)
    return dict(info["splits"]) if same else {}


def _digests(inputs: dict[str, Any]) -> dict[str, str]:
    return {role: ref["digest"] for role, ref in inputs.items()}


def reusable(
    folder: str, split: str, inputs: dict[str, dict[str, str]], tokenizer: Tokenizer
) -> TokensRef | None:
    """The split in `folder` where it was made from these inputs and its files are whole."""
    entry = _splits(folder, inputs).get(split)
    if entry is None or entry.get("prefix_id", tokenizer.prefix_id) != tokenizer.prefix_id:
        return None
    files = {kind: storage.join(folder, f"{split}.{kind}") for kind in entry["sha256"]}
    whole = all(
        storage.exists(path) and storage.sha256(path) == entry["sha256"][kind]
        for kind, path in files.items()
    )
    return reference_to(folder, split, entry, reused=True) if whole else None


def reference_to(
    folder: str, split: str, entry: dict[str, Any], reused: bool = False, duration_s: float = 0.0
) -> TokensRef:
    """The reference to a split by its entry in tokens.json."""
    return TokensRef(
        folder=folder,
        split=split,
        digest=storage.digest_of(entry["sha256"]),
        **{key: entry[key] for key in ("documents", "tokens", "size_bytes", "components")},
        reused=reused,
        duration_s=duration_s,
        encoding=entry.get("encoding", {}),
    )
