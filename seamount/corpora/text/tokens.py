"""Token files: a split as one flat, memory-mapped array of ids with document boundaries.

`<split>.bin` is little-endian uint16 (uint32 above 65,536 ids); every document is the prefix
token and then its own tokens. `<split>.idx` is an Arrow IPC file with one row a document: start
(position in the array), id, component, size_bytes. `tokens.json` names tokenizer and corpus by
digest and counts what the splits hold; a split it lists under the same digests is reused.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

from seamount.core import lineage, progress, storage
from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document
from seamount.corpora.text.tokenizer import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    import numpy as np

FORMAT = 1
_INFO = "tokens.json"
_BATCH_DOCUMENTS = 256
_BATCH_BYTES = 4 << 20


@dataclass(frozen=True)
class TokensRef:
    """Where a tokenised split is and what it holds; `reused` where nothing was written."""

    folder: str
    split: str
    digest: str
    documents: int
    tokens: int
    size_bytes: int
    components: dict[str, dict[str, int]]
    reused: bool
    duration_s: float = 0.0

    @property
    def megabytes_per_s(self) -> float:
        """Speed of tokenising, in 1e6 bytes of text a second (0 where reused)."""
        return self.size_bytes / 1e6 / self.duration_s if self.duration_s else 0.0


def tokenize_split(
    corpus_url: str, split: str, tokenizer_folder: str, out_folder: str
) -> TokensRef:
    """Encode one split of a corpus folder into `out_folder`, or reuse what is there."""
    from seamount.corpora.text.split import read_split

    tokenizer = load_tokenizer(tokenizer_folder)
    inputs = {
        "corpus": corpus_reference(corpus_url),
        "tokenizer": {"path": tokenizer_folder, "digest": tokenizer.digest},
    }
    found = _reusable(out_folder, split, inputs)
    if found is not None:
        return found
    return write_tokens(read_split(corpus_url, split), tokenizer, out_folder, split, inputs)


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
    if tokenizer.prefix_id is None:
        raise UserError(f"the tokenizer in {tokenizer.folder} has no token to open a document with")
    storage.local_path(out_folder)  # memory maps need a local folder
    start_s = time.monotonic()
    writer = _Writer(tokenizer, storage.join(out_folder, split))
    with progress.bar(f"tokenise {split}") as bar, storage.atomic_write(writer.bin_url) as stream:
        for batch in _batches(documents):
            writer.add(batch, stream)
            bar.advance(len(batch), note=f"{writer.tokens:,} tokens")
    writer.write_index()
    entry = writer.entry()
    _publish(out_folder, split, entry, inputs)
    return _ref(out_folder, split, entry, reused=False, duration_s=time.monotonic() - start_s)


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


class _Writer:
    """Collects the index of one split while its ids are streamed out."""

    def __init__(self, tokenizer: Tokenizer, base_url: str) -> None:
        self.tokenizer = tokenizer
        self.bin_url = f"{base_url}.bin"
        self.index_url = f"{base_url}.idx"
        self.dtype = "<u2" if tokenizer.vocab_size <= 1 << 16 else "<u4"
        self.tokens = 0
        self.rows: dict[str, list[Any]] = {"start": [], "id": [], "component": [], "size_bytes": []}
        self.components: dict[str, dict[str, int]] = {}

    def add(self, batch: list[Document], stream: IO[bytes]) -> None:
        import numpy as np

        for document, ids in zip(
            batch, self.tokenizer.encode_arrays([d.text for d in batch]), strict=True
        ):
            stream.write(np.array([self.tokenizer.prefix_id], dtype=self.dtype).tobytes())
            stream.write(ids.astype(self.dtype).tobytes())
            self._note(document, len(document.text.encode()), 1 + len(ids))

    def _note(self, document: Document, size_bytes: int, tokens: int) -> None:
        row = (self.tokens, document.id, document.component, size_bytes)
        for column, value in zip(self.rows.values(), row, strict=True):
            column.append(value)
        counts = self.components.setdefault(
            document.component, {"documents": 0, "tokens": 0, "size_bytes": 0}
        )
        counts["documents"] += 1
        counts["tokens"] += tokens
        counts["size_bytes"] += size_bytes
        self.tokens += tokens

    def write_index(self) -> None:
        import pyarrow as pa

        table = pa.table(
            {
                "start": pa.array(self.rows["start"], pa.int64()),
                "id": pa.array(self.rows["id"], pa.string()),
                "component": pa.array(self.rows["component"], pa.string()).dictionary_encode(),
                "size_bytes": pa.array(self.rows["size_bytes"], pa.int64()),
            }
        )
        with (
            storage.atomic_write(self.index_url) as stream,
            pa.ipc.new_file(stream, table.schema) as writer,
        ):
            writer.write_table(table)

    def entry(self) -> dict[str, Any]:
        totals = {
            key: sum(c[key] for c in self.components.values())
            for key in ("documents", "tokens", "size_bytes")
        }
        return {
            **totals,
            "dtype": self.dtype,
            "vocab_size": self.tokenizer.vocab_size,
            "components": dict(sorted(self.components.items())),
            "sha256": {"bin": storage.sha256(self.bin_url), "idx": storage.sha256(self.index_url)},
        }


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Batches bounded by count and by size, so that memory is bounded too."""
    batch: list[Document] = []
    size_bytes = 0
    for document in documents:
        batch.append(document)
        size_bytes += len(document.text)
        if size_bytes >= _BATCH_BYTES or len(batch) >= _BATCH_DOCUMENTS:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch


def _publish(folder: str, split: str, entry: dict[str, Any], inputs: dict[str, Any]) -> None:
    """Write tokens.json last, so that it never lists what is not there."""
    url = storage.join(folder, _INFO)
    old = storage.read_json(url) if storage.exists(url) else {}
    same = old.get("format") == FORMAT and _digests(old.get("inputs", {})) == _digests(inputs)
    splits = {**(old["splits"] if same else {}), split: entry}
    storage.write_json(url, {"format": FORMAT, "inputs": inputs, "splits": splits})
    digest = storage.digest_of({name: s["sha256"] for name, s in splits.items()})
    lineage.write(folder, lineage.Lineage("tokens", digest, inputs, {"splits": sorted(splits)}))


def _digests(inputs: dict[str, Any]) -> dict[str, str]:
    return {role: ref["digest"] for role, ref in inputs.items()}


def _reusable(folder: str, split: str, inputs: dict[str, Any]) -> TokensRef | None:
    url = storage.join(folder, _INFO)
    if not storage.exists(url):
        return None
    info = storage.read_json(url)
    entry = info["splits"].get(split) if info.get("format") == FORMAT else None
    if entry is None:
        return None
    files = {kind: storage.join(folder, f"{split}.{kind}") for kind in entry["sha256"]}
    whole = all(
        storage.exists(path) and storage.sha256(path) == entry["sha256"][kind]
        for kind, path in files.items()
    )
    if not whole or _digests(info["inputs"]) != _digests(inputs):
        return None
    return _ref(folder, split, entry, reused=True)


def _ref(
    folder: str, split: str, entry: dict[str, Any], reused: bool, duration_s: float = 0.0
) -> TokensRef:
    return TokensRef(
        folder=folder,
        split=split,
        digest=storage.digest_of(entry["sha256"]),
        **{key: entry[key] for key in ("documents", "tokens", "size_bytes", "components")},
        reused=reused,
        duration_s=duration_s,
    )
