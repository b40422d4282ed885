"""Parts of a token file: the ids and index rows of one shard, and how parts become a split.

A part is `ids.bin`, `rows.arrow` (start counted within the part) and, last of all, result.json. A
split is its parts in the order of the shards, whoever wrote them. Memory: one batch of documents.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any

from seamount.core import storage
from seamount.core.records import Document
from seamount.corpora.text.stages import stage
from seamount.corpora.text.tokenizer import Tokenizer
from seamount.corpora.text.tokenizer_source import encoded_by

if TYPE_CHECKING:
    import pyarrow as pa

_IDS, _ROWS = "ids.bin", "rows.arrow"
_BATCH_DOCUMENTS = 256
_BATCH_BYTES = 4 << 20
_INDEX_ROWS = 1 << 14
_COUNTS = ("documents", "tokens", "size_bytes")
_COLUMNS = {"start": "int64", "id": "string", "component": "string", "size_bytes": "int64"}


def dtype_of(tokenizer: Tokenizer) -> str:
    """numpy's name of the type of the ids in a file: two bytes where they suffice."""
    return "<u2" if tokenizer.vocab_size <= 1 << 16 else "<u4"


def write_part(documents: Iterable[Document], tokenizer: Tokenizer, folder: str) -> dict[str, Any]:
    """Encode `documents` into the part `folder`; its result, for `stage.run` to store."""
    with ExitStack() as stack:
        ids, rows = (
            stack.enter_context(storage.atomic_write(storage.join(folder, name)))
            for name in (_IDS, _ROWS)
        )
        writer = _PartWriter(tokenizer, ids, rows)
        for batch in _batches(documents):
            writer.add(batch)
        writer.close()
    return writer.result()


def join(parts: Sequence[str], tokenizer: Tokenizer, base_url: str) -> dict[str, Any]:
    """Write BASE_URL.bin and .idx from finished parts; the entry of the split in tokens.json."""
    results = [stage.result_of(part) for part in parts]
    components = _added_up(results)
    with storage.atomic_write(f"{base_url}.bin") as stream:
        for part in parts:
            with storage.open_read(storage.join(part, _IDS)) as source:
                shutil.copyfileobj(source, stream, 1 << 20)
    with storage.atomic_write(f"{base_url}.idx") as stream:
        _join_rows(parts, results, list(components), stream)
    urls = {kind: f"{base_url}.{kind}" for kind in ("bin", "idx")}
    return {
        **{key: sum(counts[key] for counts in components.values()) for key in _COUNTS},
        "dtype": dtype_of(tokenizer),
        "vocab_size": tokenizer.vocab_size,
        "components": components,
        "prefix_id": tokenizer.prefix_id,
        "encoding": {
            **encoded_by(tokenizer),
            "documents_by_library": sum(r["documents_by_library"] for r in results),
        },
        "sha256": {kind: storage.sha256(url) for kind, url in urls.items()},
    }


class _PartWriter:
    """Streams ids and index rows out, and counts them."""

    def __init__(self, tokenizer: Tokenizer, ids: IO[bytes], rows: IO[bytes]) -> None:
        import pyarrow as pa

        self.tokenizer = tokenizer
        self.ids = ids
        self.dtype = dtype_of(tokenizer)
        self.schema = pa.schema(list(_COLUMNS.items()))
        self.index = pa.ipc.new_stream(rows, self.schema)
        self.rows: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self.components: dict[str, dict[str, int]] = {}
        self.tokens = self.by_library = 0

    def add(self, batch: list[Document]) -> None:
        import numpy as np

        arrays, by_library = self.tokenizer.encode_counted([d.text for d in batch])
        self.by_library += by_library
        prefix = np.array([self.tokenizer.prefix_id], self.dtype).tobytes()
        for document, ids in zip(batch, arrays, strict=True):
            self.ids.write(prefix)
            self.ids.write(ids.astype(self.dtype).tobytes())
            self._note(document, len(document.text.encode()), 1 + len(ids))

    def _note(self, document: Document, size_bytes: int, tokens: int) -> None:
        row = (self.tokens, document.id, document.component, size_bytes)
        for column, value in zip(self.rows.values(), row, strict=True):
            column.append(value)
        counts = self.components.setdefault(document.component, dict.fromkeys(_COUNTS, 0))
        for key, count in zip(_COUNTS, (1, tokens, size_bytes), strict=True):
            counts[key] += count
        self.tokens += tokens
        if len(self.rows["id"]) >= _INDEX_ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        self.index.write_batch(pa.record_batch(list(self.rows.values()), schema=self.schema))
        self.rows = {name: [] for name in _COLUMNS}

    def close(self) -> None:
        if self.rows["id"]:
            self._flush()
        self.index.close()

    def result(self) -> dict[str, Any]:
        sums = {key: sum(c[key] for c in self.components.values()) for key in _COUNTS}
        return {
            **sums,
            "bytes": sums["size_bytes"],
            "components": self.components,
            "documents_by_library": self.by_library,
        }


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Batches bounded by count and by size, so that memory is bounded too."""
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _added_up(results: Sequence[dict[str, Any]]) -> dict[str, dict[str, int]]:
    names = sorted({name for result in results for name in result["components"]})
    found = {name: [r["components"].get(name, {}) for r in results] for name in names}
    return {
        name: {key: sum(part.get(key, 0) for part in counts) for key in _COUNTS}
        for name, counts in found.items()
    }


def _join_rows(
    parts: Sequence[str], results: Sequence[dict[str, Any]], names: list[str], stream: IO[bytes]
) -> None:
    """One Arrow file; all batches share the dictionary of components, which the format wants."""
    import pyarrow as pa

    kinds = _COLUMNS | {"component": pa.dictionary(pa.int32(), pa.string())}
    schema = pa.schema(list(kinds.items()))
    start = 0
    with pa.ipc.new_file(stream, schema) as writer:
        for part, result in zip(parts, results, strict=True):
            with storage.open_read(storage.join(part, _ROWS)) as source:
                for batch in pa.ipc.open_stream(source):
                    writer.write_batch(_moved(batch, start, names, schema))
            start += result["tokens"]


def _moved(batch: pa.RecordBatch, start: int, names: list[str], schema: pa.Schema) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    values = pa.array(names, pa.string())
    numbers = compute.index_in(batch["component"], values)
    columns = {
        "start": compute.add(batch["start"], pa.scalar(start, pa.int64())),
        "component": pa.DictionaryArray.from_arrays(numbers, values),
    }
    return pa.record_batch([columns.get(name, batch[name]) for name in schema.names], schema=schema)
