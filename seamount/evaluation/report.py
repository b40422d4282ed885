"""What the report of a run tells: `gather` reads what the stations left in the run's folder.

A station that left nothing leaves out its section. `report_page` draws it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seamount.core import lineage, storage


@dataclass(frozen=True)
class Report:
    """What the page tells; every part but the title may be absent.

    `manifest` is the corpus's, `tokens` the content of tokens.json, `scores` and `baselines`
    bits-per-byte results (`BpbResult.to_dict`), `export` an `ExportRef.to_dict`, `curves` named
    lists of (step, value), `sample` (prompt, continuation), `commands` (what, command) pairs,
    `facts` (name, value) pairs for the head.
    """

    title: str
    manifest: Mapping[str, Any] | None = None
    tokens: Mapping[str, Any] | None = None
    scores: Mapping[str, Any] | None = None
    baselines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    export: Mapping[str, Any] | None = None
    curves: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    model: Mapping[str, Any] | None = None
    lineage: Mapping[str, Any] | None = None
    sample: tuple[str, str] | None = None
    facts: Sequence[tuple[str, str]] = ()
    commands: Sequence[tuple[str, str]] = ()


def gather(out: str, title: str | None = None, **more: Any) -> Report:
    """The report of the run in folder `out`; `more` fills what is not in its files."""
    parts = {
        "manifest": _json(out, "corpus", "manifest.json"),
        "tokens": _json(out, "tokens", "tokens.json"),
        "scores": _json(out, "scores", "model.json"),
        "baselines": _json(out, "scores", "baselines.json") or {},
        "export": _json(out, "scores", "export.json"),
        "model": _json(out, "model", "config.json"),
        "lineage": _lineage(out),
        "commands": commands(out),
    }
    name = title or out.rstrip("/").rsplit("/", 1)[-1]
    return Report(title=name, **{**parts, **more})


def commands(out: str) -> list[tuple[str, str]]:
    """How to go on from the run in `out`: (what, command)."""
    return [
        ("Write with the model", f'seamount generate --model {out}/model "def main"'),
        ("Write with the exported file", f'seamount generate --model {out}/export "def main"'),
        (
            "Score it again, another way",
            f"seamount eval bpb {out}/export/model.onnx --data {out}/corpus --protocol sliding",
        ),
        ("See where all came from", f"seamount lineage {out}/export"),
        ("Look into the tracked run", "seamount track ui"),
    ]


def ledger_rows(manifest: Mapping[str, Any] | None) -> list[tuple[str, int, int]]:
    """(what became of them, documents, bytes): every input document of the corpus, by fate."""
    if not manifest or "ledger" not in manifest:
        return []
    total = manifest["ledger"]["total"]
    rows = [("read", total["in"]), ("kept", total["kept"])]
    rows += [(f"dropped: {reason}", tally) for reason, tally in total["dropped"].items()]
    rows += [(f"copy, {kind}", tally) for kind, tally in total["duplicates"].items()]
    rows.append(("quarantined", total["quarantined"]))
    return [(name, tally["documents"], tally["bytes"]) for name, tally in rows]


def _json(out: str, *parts: str) -> Any:
    url = storage.join(out, *parts)
    return storage.read_json(url) if storage.exists(url) else None


def _lineage(out: str) -> dict[str, Any] | None:
    """From the last artefact of the road that is there."""
    for folder in (storage.join(out, name) for name in ("export", "model", "corpus")):
        if storage.exists(storage.join(folder, lineage.FILE_NAME)):
            return lineage.tree(folder)
    return None
