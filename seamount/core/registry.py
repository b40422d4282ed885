"""Name -> object by convention: a thing's file name is its registered name.

A new filter, reader, metric or model family is one new file (or folder); nothing else is edited.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pkgutil
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from seamount.core.errors import UserError

MODEL_GROUP = "seamount.models"


def available(package: str) -> list[str]:
    """Names of the public modules in `package`, sorted."""
    found = importlib.import_module(package)
    return sorted(m.name for m in pkgutil.iter_modules(found.__path__) if m.name[0] != "_")


def unknown(kind: str, name: object, known: list[str]) -> UserError:
    """The error for a name that is not known, with the nearest one that is."""
    near = difflib.get_close_matches(str(name), known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    return UserError(f"unknown {kind} {name!r}: {hint}")


def load(package: str, name: str, kind: str) -> ModuleType:
    """The module called `name` in `package`; raises UserError naming the nearest known one."""
    known = available(package)
    if name not in known:
        raise unknown(kind, name, known)
    return importlib.import_module(f"{package}.{name}")


@dataclass(frozen=True)
class ModelFamily:
    """A model folder: fixed file names, each imported when first asked for."""

    name: str
    package: str

    def __getattr__(self, part: str) -> Any:
        if part.startswith("_"):
            raise AttributeError(part)
        if importlib.util.find_spec(f"{self.package}.{part}") is None:
            raise UserError(f"model family {self.name!r} has no {part}.py, which this step needs")
        return importlib.import_module(f"{self.package}.{part}")


@dataclass(frozen=True)
class ModelIndex:
    """Every model family: the folders of models/, and entry points of other packages."""

    package: str = "models"

    @cached_property
    def families(self) -> dict[str, str]:
        """Family name -> package path."""
        own = {name: f"{self.package}.{name}" for name in available(self.package)}
        foreign = {e.name: e.value for e in entry_points(group=MODEL_GROUP)}
        return foreign | own

    def family(self, name: str) -> ModelFamily:
        """The family called `name`; raises UserError naming the nearest known one."""
        if name not in self.families:
            raise unknown("model family", name, sorted(self.families))
        return ModelFamily(name, self.families[name])


def model_family(name: str) -> ModelFamily:
    """The model family called `name` (a folder of models/ or another package's entry point)."""
    return ModelIndex().family(name)
