"""Draw the pictures of the README and the docs (SVG) anew: `make docs`."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

FOLDER = Path(__file__).parent
STATIONS = [
    ("sources", "seamount/corpora/text/readers"),
    ("documents", "corpora/text/filters, dedupe"),
    ("shards", "corpora/text/mixture, split"),
    ("tokens", "corpora/text/tokens"),
    ("model x strategy", "models/, training/"),
    ("metrics", "evaluation/"),
    ("export", "export/, inference/"),
]
BOX_W, BOX_H, GAP, TOP = 138, 62, 18, 58


def road() -> str:
    """The road from sources to an export, with the folder of each station."""
    width = len(STATIONS) * (BOX_W + GAP) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 196" '
        'font-family="system-ui, sans-serif" role="img" aria-label="The road of Seamount">',
        "<style>.b{fill:#0b5c7d;stroke:#5fb3d4}.s{fill:#e9b44c;stroke:#8a6414}"
        ".t{fill:#fff;font-size:14px;font-weight:600;text-anchor:middle}"
        ".f{fill:#d7eef8;font-size:9.5px;text-anchor:middle}"
        ".l{fill:#4b2e05;font-size:13px;text-anchor:middle}"
        ".a{stroke:#5fb3d4;stroke-width:2.5;fill:none}</style>",
        f'<rect class="s" x="{GAP}" y="10" width="{width - 2 * GAP}" height="32" rx="8"/>',
        f'<text class="l" x="{width / 2}" y="31">flows/ say what, in tasks/: Prefect runs them '
        "by schedule, from its UI, from Python, from the shell</text>",
    ]
    for i, (name, folder) in enumerate(STATIONS):
        x = GAP + i * (BOX_W + GAP)
        middle = x + BOX_W / 2
        parts.append(
            f'<rect class="b" x="{x}" y="{TOP}" width="{BOX_W}" height="{BOX_H}" rx="10"/>'
        )
        parts.append(f'<text class="t" x="{middle}" y="{TOP + 27}">{escape(name)}</text>')
        parts.append(f'<text class="f" x="{middle}" y="{TOP + 46}">{escape(folder)}</text>')
        if i:
            y = TOP + BOX_H / 2
            parts.append(f'<path class="a" d="M{x - GAP + 2} {y}h{GAP - 6}m-5 -5l5 5l-5 5"/>')
    y = TOP + BOX_H + 20
    parts.append(
        f'<rect class="s" x="{GAP}" y="{y}" width="{width - 2 * GAP}" height="44" rx="8"/>'
    )
    parts.append(
        f'<text class="l" x="{width / 2}" y="{y + 19}">tracking/ keeps every logged point; '
        "core/lineage ties each artefact to the bytes it was made from</text>"
        f'<text class="l" x="{width / 2}" y="{y + 36}">every document accounted for, every '
        "interruption exact, every figure beside a peer</text>"
    )
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    """Write every picture beside this script."""
    (FOLDER / "road.svg").write_text(road())


if __name__ == "__main__":
    main()
