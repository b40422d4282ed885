"""Environments of their own for the tools that Seamount is measured beside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".bench"


def python_of(name: str, packages: tuple[str, ...]) -> str:
    """The interpreter of the environment `name`, made with `packages` at its first use."""
    place = FOLDER / name
    python, done = place / "bin" / "python", place / ".installed"
    wanted = "\n".join(packages)
    if not done.is_file() or done.read_text() != wanted:
        print(f"installing {', '.join(packages)} into {place} (once)", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        subprocess.run([*pip, *packages], check=True)
        done.write_text(wanted)
    return str(python)


def packages_of(name: str, packages: tuple[str, ...]) -> Path:
    """A folder for PYTHONPATH with `packages` alone, for a peer that shares our own environment."""
    place = FOLDER / name
    done, wanted = place / ".installed", "\n".join(packages)
    if not done.is_file() or done.read_text() != wanted:
        print(f"installing {', '.join(packages)} into {place} (once)", flush=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]
        subprocess.run([*pip, "--target", str(place), *packages], check=True)
        done.write_text(wanted)
    return place
