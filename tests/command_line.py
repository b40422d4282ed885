"""The command line, called in this process."""

from __future__ import annotations

from seamount.cli.main import main


def run(*arguments: object) -> int:
    """Exit code of `seamount` with these arguments."""
    try:
        main([str(a) for a in arguments])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0
