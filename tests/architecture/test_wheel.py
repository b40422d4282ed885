"""The wheel: four packages, the declarations inside, nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from seamount.tracking.dashboard.assets import VENDOR, what_is_missing

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_wheel_carries_packages_and_declarations(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, ROOT]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("seamount-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {n.split("/")[0] for n in names if ".dist-info" not in n}
    assert tops == {"seamount", "models", "tasks", "flows"}
    assert "seamount/declared/datasets/pile/catalog.yaml" in names
    assert "seamount/declared/recipes/text/demo.yaml" in names
    assert "seamount/tracking/dashboard/page/index.html" in names
    shipped = [n for n in names if "/node_modules/" in n and "LICENSE" not in n]
    wanted = [f"seamount/tracking/dashboard/node_modules/{path}" for path in VENDOR.values()]
    assert sorted(shipped) == (sorted(wanted) if what_is_missing() is None else [])
    assert not [n for n in names if n.startswith("datasets/")]
