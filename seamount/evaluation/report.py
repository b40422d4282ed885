"""The report of a run: one self-contained HTML page with every figure, plot and command.

`gather` reads what the stations left in the run's folder, `write_report` draws it. A station that
left nothing leaves out its section. All text is escaped; the page names no outside host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seamount import __version__
from seamount.core import lineage, storage
from seamount.evaluation import report_charts

_TEMPLATE = "report.html.j2"
_SAMPLE_CHARACTERS = 4000


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


def write_report(report: Report, path: str) -> str:
    """Write the page to `path`, atomically; returns `path`."""
    storage.write_bytes(path, render(report).encode())
    return path


def render(report: Report) -> str:
    """The page as HTML text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("seamount.evaluation", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": lambda n: f"{n:,}",
        "size": _size,
        "bpb": lambda x: "" if x is None else f"{x:.4f}",
        "delta": lambda x: "" if x is None else f"{x:+.5f}",
        "percent": lambda x: f"{x:.1%}",
        "short": lambda digest: str(digest)[:12],
    }
    charts = {name: Markup(svg) for name, svg in report_charts.draw(report).items()}
    return environment.get_template(_TEMPLATE).render(
        report=report,
        charts=charts,
        ledger=ledger_rows(report.manifest),
        sample=_trimmed(report.sample),
        version=__version__,
        best=_beaten(report),
    )


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


def _beaten(report: Report) -> list[tuple[str, float, float]]:
    """(baseline, its weighted figure, the model's lead over it; negative where it trails)."""
    if not report.scores:
        return []
    own = report.scores["weighted"]
    found = [(name, r["weighted"], r["weighted"] - own) for name, r in report.baselines.items()]
    return sorted(found, key=lambda row: row[1])


def _trimmed(sample: tuple[str, str] | None) -> tuple[str, str] | None:
    return sample and (sample[0][:_SAMPLE_CHARACTERS], sample[1][:_SAMPLE_CHARACTERS])


def _size(size_bytes: float) -> str:
    amount, unit = float(size_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.3g} {unit}"


def _json(out: str, *parts: str) -> Any:
    url = storage.join(out, *parts)
    return storage.read_json(url) if storage.exists(url) else None


def _lineage(out: str) -> dict[str, Any] | None:
    """From the last artefact of the road that is there."""
    for folder in (storage.join(out, name) for name in ("export", "model", "corpus")):
        if storage.exists(storage.join(folder, lineage.FILE_NAME)):
            return lineage.tree(folder)
    return None
