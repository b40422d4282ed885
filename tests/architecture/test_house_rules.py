"""The sizes, names and places that DESIGN fixes, held by tests and not by taste."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("seamount", "models", "tasks", "flows")
MAX_FILE_LINES, SOFT_FILE_LINES, MAX_FUNCTION_LINES, P90_FUNCTION_LINES = 400, 300, 80, 40


def sources() -> list[Path]:
    return sorted(p for name in PACKAGES for p in (ROOT / name).rglob("*.py"))


def functions() -> Iterator[tuple[Path, str, int]]:
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_files_are_small() -> None:
    lines = {p: len(p.read_text().splitlines()) for p in sources()}
    assert len(lines) > 30
    beside = [p for name in ("tests", "benchmarks") for p in (ROOT / name).rglob("*.py")]
    every = lines | {p: len(p.read_text().splitlines()) for p in beside}
    assert not [str(p) for p, n in every.items() if n > MAX_FILE_LINES]
    small = sum(n <= SOFT_FILE_LINES for n in lines.values())
    assert small >= 0.9 * len(lines), sorted((n, str(p)) for p, n in lines.items())[-10:]


def test_functions_are_small() -> None:
    sizes = sorted(n for _, _, n in functions())
    assert not [(str(p), name, n) for p, name, n in functions() if n > MAX_FUNCTION_LINES]
    assert sizes[int(len(sizes) * 0.9)] <= P90_FUNCTION_LINES


def test_no_bag_of_helpers() -> None:
    forbidden = {"utils.py", "common.py", "helpers.py", "misc.py"}
    assert not [str(p) for p in sources() if p.name in forbidden]


def test_environment_is_read_in_settings_only() -> None:
    offenders = []
    for path in sources():
        if path == ROOT / "seamount/core/settings.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            reads = isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
            if reads and isinstance(node.value, ast.Name) and node.value.id == "os":
                offenders.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert offenders == []


def test_no_star_imports() -> None:
    stars = [
        str(path)
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names)
    ]
    assert stars == []


def test_prefect_stays_in_its_rooms() -> None:
    allowed = ("flows", "tasks", "seamount/cli")
    offenders = [
        str(p.relative_to(ROOT))
        for p in sources()
        if "prefect" in imports_of(p) and not str(p.relative_to(ROOT)).startswith(allowed)
    ]
    assert offenders == []


def test_datasets_folder_has_no_python() -> None:
    assert not list((ROOT / "datasets").rglob("*.py"))


def test_hugging_face_datasets_wins_at_the_root() -> None:
    code = "import datasets; print(datasets.__version__, datasets.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "site-packages" in done.stdout


def test_flow_names_clash_with_nothing() -> None:
    stems = {p.stem for p in (ROOT / "flows").glob("*.py")} - {"__init__"}
    assert stems
    assert not stems & {p.name for p in ROOT.iterdir()}
    import importlib.metadata

    installed = set(importlib.metadata.packages_distributions())
    assert not stems & installed
    assert all("_" in stem for stem in stems), "a flow is called verb_object"


def test_import_layers_hold() -> None:
    tool = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([tool], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("package", ["seamount.core.storage", "seamount.tracking", "seamount.cli"])
def test_light_imports_stay_light(package: str) -> None:
    heavy = ["torch", "lightning", "transformers", "mlflow", "prefect", "dask", "matplotlib"]
    code = f"import sys, {package}; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
