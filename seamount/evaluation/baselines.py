"""What a compressor and a byte histogram reach on the same bytes, as scorers.

A compressor's size is a code length: 8 * compressed bytes / bytes is its bits per byte. Frames
are as small as the library makes them: zstd level 19 with the content size and no checksum, xz
preset 9e with a dictionary no larger than needed and no check. One byte counts as one token.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Protocol

from seamount.core import progress
from seamount.core.errors import UserError
from seamount.core.records import Document, DocumentScore
from seamount.core.scoring import Scorer
from seamount.evaluation.bpb import BpbResult, bpb

if TYPE_CHECKING:
    import numpy as np

ZSTD_LEVEL = 19
NAMES = ("zstd", "xz", "zstd_whole", "xz_whole", "unigram")
_SPOOL_BYTES = 16 << 20
_CHUNK = 1 << 20
_SMALLEST_DICTIONARY = 1 << 12
_LARGEST_DICTIONARY = 1 << 26
_NATS_PER_BYTE = 8 * math.log(2)


class _Codec(Protocol):
    """Compressed size of a stream whose length is known."""

    @property
    def name(self) -> str: ...

    @property
    def setting(self) -> str: ...

    def compressed_bytes(self, stream: IO[bytes], size_bytes: int) -> int: ...


@dataclass(frozen=True)
class Zstd:
    """zstd at level 19, one frame."""

    name: str = "zstd"
    setting: str = f"level {ZSTD_LEVEL}"

    def compressed_bytes(self, stream: IO[bytes], size_bytes: int) -> int:
        """Bytes of the frame that holds the whole stream."""
        import zstandard

        context = zstandard.ZstdCompressor(level=ZSTD_LEVEL).compressobj(size=size_bytes)
        return sum(len(context.compress(part)) for part in _parts(stream)) + len(context.flush())


@dataclass(frozen=True)
class Xz:
    """xz at preset 9e, one stream without integrity check."""

    name: str = "xz"
    setting: str = "preset 9e"

    def compressed_bytes(self, stream: IO[bytes], size_bytes: int) -> int:
        """Bytes of the stream that holds the whole input."""
        import lzma

        needed = 1 << max(0, size_bytes - 1).bit_length()
        dictionary = min(max(needed, _SMALLEST_DICTIONARY), _LARGEST_DICTIONARY)
        preset = 9 | lzma.PRESET_EXTREME
        steps = [{"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": dictionary}]
        context = lzma.LZMACompressor(lzma.FORMAT_XZ, lzma.CHECK_NONE, filters=steps)
        return sum(len(context.compress(part)) for part in _parts(stream)) + len(context.flush())


@dataclass(frozen=True)
class CompressorScorer:
    """Each document compressed alone."""

    codec: _Codec

    @property
    def protocol(self) -> dict[str, Any]:
        """Name and setting of the compressor."""
        return {"name": self.codec.name, "unit": "document", "setting": self.codec.setting}

    def score(self, documents: Iterable[Document]) -> Iterator[DocumentScore]:
        """One score a document; an empty one costs nothing, since there is nothing to send."""
        import io

        for document in documents:
            raw = document.text.encode()
            size = self.codec.compressed_bytes(io.BytesIO(raw), len(raw)) if raw else 0
            yield DocumentScore(
                document.id, document.component, len(raw), len(raw), size * _NATS_PER_BYTE
            )


@dataclass(frozen=True)
class WholeScorer:
    """One frame a component over all its documents in order, so matches reach across documents.

    Yields one score a component (its id is the component's name), hence no interval.
    """

    codec: _Codec

    @property
    def protocol(self) -> dict[str, Any]:
        """Name and setting of the compressor."""
        name = f"{self.codec.name}_whole"
        return {"name": name, "unit": "component", "setting": self.codec.setting}

    def score(self, documents: Iterable[Document]) -> Iterator[DocumentScore]:
        """One score a component; large components wait on disk, not in memory."""
        with ExitStack() as opened:
            spools: dict[str, IO[bytes]] = {}
            for document in documents:
                if document.component not in spools:
                    spools[document.component] = opened.enter_context(_spool())
                spools[document.component].write(document.text.encode())
            for name, stream in sorted(spools.items()):
                size_bytes = stream.tell()
                stream.seek(0)
                size = self.codec.compressed_bytes(stream, size_bytes) if size_bytes else 0
                yield DocumentScore(name, name, size_bytes, size_bytes, size * _NATS_PER_BYTE)


@dataclass(frozen=True)
class UnigramScorer:
    """Each byte on its own, by the add-one-smoothed byte frequencies of the train split."""

    nats_per_byte: np.ndarray

    @classmethod
    def fit(cls, documents: Iterable[Document]) -> UnigramScorer:
        """Count bytes: p(b) = (count of b + 1) / (bytes + 256)."""
        import numpy as np

        counts = np.ones(256, dtype=np.int64)
        for document in documents:
            counts += _histogram(document.text)
        return cls(np.log(counts.sum()) - np.log(counts))

    @property
    def protocol(self) -> dict[str, Any]:
        """Name and smoothing."""
        return {"name": "unigram", "unit": "document", "setting": "bytes, add-one smoothing"}

    def score(self, documents: Iterable[Document]) -> Iterator[DocumentScore]:
        """One score a document."""
        for document in documents:
            counts = _histogram(document.text)
            size_bytes = int(counts.sum())
            nats = float(counts @ self.nats_per_byte)
            yield DocumentScore(document.id, document.component, size_bytes, size_bytes, nats)


def scorer(name: str, train: Callable[[], Iterable[Document]] | None = None) -> Scorer:
    """The baseline called `name` (one of NAMES); `train` gives the documents unigram counts."""
    codecs: dict[str, _Codec] = {"zstd": Zstd(), "xz": Xz()}
    if name in codecs:
        return CompressorScorer(codecs[name])
    if name.removesuffix("_whole") in codecs:
        return WholeScorer(codecs[name.removesuffix("_whole")])
    if name == "unigram" and train is not None:
        return UnigramScorer.fit(train())
    known = ", ".join(NAMES)
    raise UserError(f"unknown baseline {name!r} (or no train split for it): known are {known}")


def baselines(
    test: Callable[[], Iterable[Document]],
    train: Callable[[], Iterable[Document]],
    weights: Mapping[str, float] | Any = None,
    generated: tuple[str, ...] = (),
    names: Iterable[str] = NAMES,
) -> dict[str, BpbResult]:
    """Every baseline over the test documents, weighted like the model."""
    results = {}
    wanted = tuple(names)
    with progress.bar("baselines", total=len(wanted)) as bar:
        for name in wanted:
            found = scorer(name, train)
            results[name] = bpb(found.score(test()), weights, found.protocol, generated)
            bar.advance(note=f"{name} {results[name].weighted:.2f}")
    return results


def _parts(stream: IO[bytes]) -> Iterator[bytes]:
    while part := stream.read(_CHUNK):
        yield part


def _spool() -> Any:
    return tempfile.SpooledTemporaryFile(_SPOOL_BYTES)


def _histogram(text: str) -> np.ndarray:
    import numpy as np

    return np.bincount(np.frombuffer(text.encode(), dtype=np.uint8), minlength=256)
