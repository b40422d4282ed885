"""The report of a run as one self-contained HTML page with every figure, plot and command.

All text is escaped; the page names no outside host.
"""

from __future__ import annotations

from seamount import __version__
from seamount.core import storage
from seamount.evaluation import report_charts
from seamount.evaluation.report import Report, ledger_rows

_TEMPLATE = "report.html.j2"
_SAMPLE_CHARACTERS = 4000


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
