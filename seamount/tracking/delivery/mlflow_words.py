"""What our names, numbers and states become where a stock MLflow server takes them.

Names there: letters, digits and `_-. :/`, at most 250, a normalised relative path (MLflow 3.17,
utils/validation.py). Steps are whole and times in milliseconds. NaN and infinities travel as
texts, as protobuf's JSON has them; the server's SQL tables keep infinities as the largest double.
"""

from __future__ import annotations

import hashlib
import json
import math
import posixpath
import re
from collections.abc import Iterator
from typing import Any

from seamount.tracking.endings import COMPLETED, FAILED, INTERRUPTED, KILLED, RUNNING

MAX_KEY_CHARS, MAX_PARAM_CHARS, MAX_TAG_CHARS = 250, 6000, 8000
MAX_STEP = 2**63 - 1
MOST = {"metrics": 1000, "params": 100, "tags": 100}
MAX_BATCH_BYTES = 900_000  # the limit is 1,000,000 for the whole request

STATUS = {  # the plugin's table, whose module imports MLflow
    RUNNING: "RUNNING",
    COMPLETED: "FINISHED",
    FAILED: "FAILED",
    INTERRUPTED: "KILLED",
    KILLED: "KILLED",
    "Scheduled": "SCHEDULED",
}

_BAD = re.compile(r"[^/\w.\- :]")
_OF_RANK = re.compile(r".*\.rank\d+")


def key(name: str) -> str:
    """`name` where MLflow takes it; else a spelling that ends in its hash, so that none collide."""
    if _fits(name):
        return name
    plain = re.sub(r"/+", "/", _BAD.sub("_", name)).strip("/. ")
    parts = [p for p in plain.split("/") if p not in ("", ".", "..")]
    return "/".join(parts)[:220] + "-" + hashlib.sha256(name.encode()).hexdigest()[:8]


def _fits(name: str) -> bool:
    normal = posixpath.normpath(name)
    outside = normal == "." or normal.startswith(("..", "/"))
    return not _BAD.search(name) and len(name) <= MAX_KEY_CHARS and normal == name and not outside


def metric_key(name: str, rank: int) -> str:
    """The key of a metric of `rank`: `name` of rank 0, else `name.rankN` (`@` is not taken)."""
    if rank == 0 and not _OF_RANK.fullmatch(name):
        return key(name)
    return key(f"{name}.rank{rank}" if rank else f"{name}@0")


def metric(name: str, value: float, time_us: int, step: float) -> dict[str, Any]:
    """One point as log-batch takes it; `name` is a key already."""
    number: float | str = value
    if not math.isfinite(value):
        number = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    whole = max(-MAX_STEP, min(MAX_STEP, math.floor(step)))
    return {"key": name, "value": number, "timestamp": time_us // 1000, "step": whole}


def pair(name: str, value: str, limit_chars: int) -> dict[str, str]:
    """A tag or param; `name` is a key already."""
    return {"key": name, "value": value[:limit_chars]}


def batches(kind: str, items: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """`items` in order, in pieces that a log-batch request may hold."""
    batch: list[dict[str, Any]] = []
    size = 0
    for item in items:
        item_bytes = len(json.dumps(item)) + 2
        if batch and (len(batch) >= MOST[kind] or size + item_bytes > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += item_bytes
    if batch:
        yield batch
