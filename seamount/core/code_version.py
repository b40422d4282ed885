"""Which code made a result: a digest of sources, since a version number misses a local edit."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from seamount.core import storage


def code_digest(package: str) -> str:
    """Digest of all Python sources of a package (or of one module), found without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no module named {package!r}")
    origin = Path(spec.origin)
    files = sorted(origin.parent.rglob("*.py")) if origin.name == "__init__.py" else [origin]
    return storage.digest_of(
        [[str(f.relative_to(origin.parent)), storage.sha256(str(f))] for f in files]
    )
