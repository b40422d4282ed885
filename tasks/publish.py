"""Prefect artifacts under stable keys, so that the versions of one key line up in the pages."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact

_DIGITS = 4


def table(key: str, rows: Sequence[Mapping[str, Any]], description: str) -> None:
    """Publish rows as a table."""
    shown = [{name: _short(value) for name, value in row.items()} for row in rows]
    create_table_artifact(shown, key=key, description=description)


def markdown(key: str, text: str, description: str) -> None:
    """Publish Markdown."""
    create_markdown_artifact(text, key=key, description=description)


def picture(key: str, svg: str, caption: str) -> None:
    """Publish a picture inside Markdown, so that no file server is needed."""
    encoded = base64.b64encode(svg.encode()).decode()
    markdown(key, f"![{caption}](data:image/svg+xml;base64,{encoded})\n\n{caption}", caption)


def place(key: str, path: str, description: str) -> None:
    """Publish where a file is, as a link a browser on the same machine opens."""
    target = Path(path).absolute().as_uri() if "://" not in path else path
    markdown(key, f"[{path}]({target})\n\n{description}", description)


def _short(value: Any) -> Any:
    return round(value, _DIGITS) if isinstance(value, float) else value
