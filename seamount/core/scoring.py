"""The contract between a model of any format and the evaluation that scores it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from seamount.core.records import Document, DocumentScore


class Scorer(Protocol):
    """Anything that assigns a probability to a text: a network, an ONNX file, a compressor."""

    @property
    def protocol(self) -> dict[str, Any]:
        """How documents are scored: name, context length, prefix token, precision."""
        ...

    def score(self, documents: Iterable[Document]) -> Iterator[DocumentScore]:
        """Yield one score a document, in the order given; every token is scored once."""
        ...
