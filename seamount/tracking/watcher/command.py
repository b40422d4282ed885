"""How this process was called: all of a run's source that only the process itself knows."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Any

_MAX_ARGUMENTS, _MAX_CHARS = 200, 1000
_SECRET = re.compile(r"(key|token|secret|passw|credential|auth)", re.IGNORECASE)
_MASK = "***"


def of_this_process() -> dict[str, Any]:
    """What only the process itself knows; costs microseconds."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return {
        "command": masked(getattr(sys, "orig_argv", sys.argv)),
        "entry_point": os.path.abspath(main) if main else None,
        "folder": os.getcwd(),
        "python": sys.version.split()[0],
    }


def masked(arguments: Sequence[str]) -> list[str]:
    """Arguments, bounded in number and length, with the values of secret-like options masked."""
    kept: list[str] = []
    hide = False
    for argument in arguments[:_MAX_ARGUMENTS]:
        name, equals, _ = argument.partition("=")
        if hide and not argument.startswith("-"):
            kept.append(_MASK)
        elif equals and _SECRET.search(name):
            kept.append(f"{name}={_MASK}")
        else:
            kept.append(argument[:_MAX_CHARS])
        hide = argument.startswith("-") and not equals and _SECRET.search(argument) is not None
    return kept
