"""Read YAML strictly: every fault, a key given twice included, becomes one sentence on one line."""

from __future__ import annotations

import re
from typing import Any

import yaml

from seamount.core import storage
from seamount.core.errors import UserError


class _Loader(yaml.SafeLoader):
    """The safe loader, which otherwise takes the last of two equal keys without a word."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        """One mapping; checked here, since later on merge keys (`<<`) repeat keys rightly."""
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            mark = (key.tag, str(key.value))
            if mark in seen:
                problem = f"the key {key.value!r} stands twice: keep one of them"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(mark)
        return node


def read(path: str, what: str) -> Any:
    """The content of the YAML file at `path`; `what` names it in errors.

    Raises UserError where it is no valid YAML or holds nothing.
    """
    try:
        text = storage.read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{what} is not valid YAML: no UTF-8 at byte {error.start}") from error
    content = parse(text, what)
    if content is None:
        raise UserError(f"{what} is empty: write keys with values into it, or name another file")
    return content


def parse(text: str, what: str) -> Any:
    """The value that a YAML text stands for; raises UserError with `what` in front."""
    try:
        return yaml.load(text, _Loader)
    except RecursionError as error:
        raise UserError(f"{what} is not valid YAML: it is nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: such as the date 2026-13-45
        raise UserError(f"{what} is not valid YAML: {_sentence(error)}") from error


def _sentence(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    problem = re.sub(r'\s*in "<unicode string>",', " at", problem)
    return " ".join(f"{problem}{where}".split())
