"""How much of a corpus stands in benchmarks, by word n-grams; nothing is dropped.

Method: a document is touched where one of its runs of n words (lower case, letters and digits) is
in a benchmark item (GPT-3, arXiv 2005.14165 C.1, and the Pile, C.10, use n = 13). Neighbouring
matches are one passage; a character that lies in passages of several benchmarks counts once.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from seamount.core.errors import UserError
from seamount.corpora.text.located import Located, located_documents
from seamount.corpora.text.quality.ngram_index import NGRAM, Match, build_index

_PASSAGE = 300
_PASSAGES = 3


def contamination(
    url: str, benchmarks: Sequence[str], n: int = NGRAM, worst: int = 10
) -> dict[str, Any]:
    """Overlap of the corpus (or files) at `url` with benchmark files (.jsonl, .json, .txt).

    Result: n, documents, bytes, touched {documents, bytes, passage_bytes}, components {name: the
    same three and documents_of, bytes_of: all there are}, benchmarks {file: {documents, passages,
    too_short: items of fewer than n words, which cannot be found}}, worst [{id, component, shard,
    line, bytes, passage_bytes, passages [{benchmark, text}]}] by passage bytes. Raises UserError
    where no benchmark item has n words.
    """
    if n < 1 or worst < 0:
        raise UserError(f"n is {n} and worst is {worst}: give numbers from 1 and from 0 on")
    index = build_index(benchmarks, n)
    names = {name: Counter(documents=0, passages=0) for name in index.too_short}
    components: dict[str, Counter[str]] = {}
    heap: list[tuple[int, int, dict[str, Any]]] = []
    for number, one in enumerate(located_documents(url)):
        matches = index.find(one.document.text)
        part = components.setdefault(one.document.component, _nothing())
        size = len(one.document.text.encode())
        part.update(documents_of=1, bytes_of=size)
        if not matches:
            continue
        covered = _covered(one.document.text, matches)
        part.update(documents=1, bytes=size, passage_bytes=covered)
        for match in matches:
            names[match.benchmark]["passages"] += 1
        for name in {match.benchmark for match in matches}:
            names[name]["documents"] += 1
        # of equals the first stays, whatever their ids
        heapq.heappush(heap, (covered, -number, _described(one, size, covered, matches)))
        if len(heap) > worst:
            heapq.heappop(heap)
    return {
        "n": n,
        **_totals(components.values()),
        "components": {name: dict(part) for name, part in sorted(components.items())},
        "benchmarks": {
            name: {**part, "too_short": index.too_short[name]} for name, part in names.items()
        },
        "worst": [entry[-1] for entry in sorted(heap, key=lambda e: (-e[0], -e[1]))],
    }


def _nothing() -> Counter[str]:
    keys = ("documents", "bytes", "passage_bytes", "documents_of", "bytes_of")
    return Counter(dict.fromkeys(keys, 0))


def _totals(components: Iterable[Counter[str]]) -> dict[str, Any]:
    total = _nothing()
    for part in components:
        total.update(part)
    return {
        "documents": total["documents_of"],
        "bytes": total["bytes_of"],
        "touched": {key: total[key] for key in ("documents", "bytes", "passage_bytes")},
    }


def _covered(text: str, matches: list[Match]) -> int:
    """Bytes of `text` in at least one passage."""
    size, end = 0, 0
    for match in sorted(matches):
        start = max(match.start, end)
        if match.end > start:
            size += len(text[start : match.end].encode())
            end = match.end
    return size


def _described(one: Located, size: int, covered: int, matches: list[Match]) -> dict[str, Any]:
    document = one.document
    longest = sorted(matches, key=lambda match: (match.start - match.end, match.start))
    return {
        "id": document.id,
        "component": document.component,
        "shard": one.shard,
        "line": one.line,
        "bytes": size,
        "passage_bytes": covered,
        "passages": [
            {
                "benchmark": match.benchmark,
                "text": document.text[match.start : match.end][:_PASSAGE],
            }
            for match in longest[:_PASSAGES]
        ],
    }
