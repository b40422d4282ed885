"""What stands below the charts of a picture: the lines' names, and what a reader must know."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seamount.core.wording import one_line
from seamount.tracking.dashboard.charts.chart import Chart, Straggler
from seamount.tracking.dashboard.plot.style import FONT_SIZE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEGEND_ROW, NOTE_ROW = 20.5, 16.0  # pixels
_CELL, _HANDLE = 7.6, 62  # pixels of a letter, and of a line's sample with the gaps around it
_MAX_COLUMNS = 6
_HEAD, _TAIL = 26, 16  # letters of a long name that are shown; ids stand at the end


@dataclass(frozen=True)
class Legend:
    """How each line is drawn, with its label; `left_out` have no room."""

    entries: list[Mapping[str, Any]]
    columns: int
    left_out: int
    height: float


def short_name(name: str) -> str:
    """A name on one line; of a long one the beginning and the end."""
    shown = one_line(name)
    return shown if len(shown) <= _HEAD + _TAIL else f"{shown[:_HEAD]}…{shown[-_TAIL + 1 :]}"


def legend_of(styles: Mapping[str, Mapping[str, Any]], width: int, room: float) -> Legend:
    """As many names as have room, in columns, below a figure so many pixels wide."""
    entries = list(styles.values())
    if not entries:
        return Legend([], 1, 0, 0.0)
    columns = _columns([each["label"] for each in entries], width)
    rows = max(1, int(room / LEGEND_ROW))
    left_out = 0
    if len(entries) > rows * columns:
        kept = max(1, rows * columns - 1)
        left_out, entries = len(entries) - kept, entries[:kept]
    height = math.ceil((len(entries) + bool(left_out)) / columns) * LEGEND_ROW + 8
    return Legend(entries, columns, left_out, height)


def _columns(labels: list[str], width: int) -> int:
    """The most columns that fit side by side, filled one after the other as matplotlib does."""
    from rich.cells import cell_len

    sizes = [cell_len(label) * _CELL + _HANDLE for label in labels]
    for columns in range(min(len(sizes), _MAX_COLUMNS), 1, -1):
        rows, longer = divmod(len(sizes), columns)
        heights = [rows + (place < longer) for place in range(columns)]
        starts = [sum(heights[:place]) for place in range(columns)]
        if sum(max(sizes[s : s + h]) for s, h in zip(starts, heights, strict=True)) <= width:
            return columns
    return 1


def draw_legend(figure: Figure, legend: Legend, bottom: float) -> None:
    """Put it to the left, `bottom` (a share of the figure's height) above its lower edge."""
    from matplotlib.lines import Line2D

    handles: list[Any] = [Line2D([], [], **how) for how in legend.entries]
    if legend.left_out:
        handles.append(Line2D([], [], linestyle="none", label=f"and {legend.left_out} more"))
    if handles:
        figure.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(0, bottom), ncols=legend.columns,
            handlelength=2.6, columnspacing=1.8, labelspacing=0.45, fontsize=FONT_SIZE - 0.5,
        ).set_in_layout(False)  # fmt: skip


def notes_in_lines(charts: Sequence[Chart], more: int, width: int) -> list[str]:
    """The notes of all charts as lines that fit; `more` charts are not drawn."""
    notes = notes_of(charts)
    if more:
        notes.append(f"{more} more charts are not drawn")
    return textwrap.wrap("; ".join(notes), max(20, int(width / 6.2)), max_lines=6)


def notes_of(charts: Sequence[Chart]) -> list[str]:
    """How lines were made, and what is left out: what a reader of the picture must know."""
    notes: dict[str, None] = {}
    for chart in charts:
        spec, how = chart.spec, chart.spec.smoothing
        amount = {
            "ema": f"exponential mean, weight {how.weight:g}",
            "time_ema": f"exponential mean by time, half-life {how.half_life:g} s",
            "mean": f"mean of {how.window} points",
            "median": f"median of {how.window} points",
        }
        if how.kind in amount:
            notes[f"smoothed: {amount[how.kind]}"] = None
        if any(line.low is not None for line in chart.lines):
            words = {"minmax": "lowest to highest", "std": "mean ± standard deviation"}
            notes[f"band: {words[spec.band]}"] = None
        notes |= dict.fromkeys(map(_slow, [s for s in chart.stragglers if s.rank is not None][:3]))
        notes |= dict.fromkeys(chart.notes)
    return list(notes)


def _slow(found: Straggler) -> str:
    if found.behind:
        return f"{short_name(found.metric)}: rank {found.rank} is {found.behind:g} steps behind"
    return (
        f"{short_name(found.metric)}: rank {found.rank} logs last, {found.late_s:.3g} s after "
        "the middle one"
    )
