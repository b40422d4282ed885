"""Which runs a query is about, and under which label: experiments by their heads, or all runs."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from seamount.core import settings
from seamount.tracking.compat.neptune_query import exceptions
from seamount.tracking.compat.neptune_query.attributes import Attributes
from seamount.tracking.compat.neptune_query.filters import (
    UNKNOWN,
    Attribute,
    AttributeFilter,
    BaseAttributeFilter,
    Filter,
    one_of,
)
from seamount.tracking.compat.neptune_query.system import TYPES
from seamount.tracking.compat.neptune_query.warnings import AttributeWarning
from seamount.tracking.compat.neptune_scale import projects
from seamount.tracking.compat.neptune_scale.inner import store_of_scripts
from seamount.tracking.query.evaluate import operands, select
from seamount.tracking.query.filters import And, Expression, Not, Operand, Or, Test
from seamount.tracking.query.runs_table import sorted_ids
from seamount.tracking.store.folder import Store

CREATION = Attribute("sys/creation_time", "datetime")


@dataclass(frozen=True)
class Containers:
    """What rows of a result stand for; `word` names the index level and the parameter."""

    word: str
    label: Attribute

    def filter(self, given: Any) -> Filter | None:
        """A regex on labels, a list of labels, or a Filter; ValueError for anything else."""
        if given is None or isinstance(given, Filter):
            return given
        if isinstance(given, str):
            return Filter.matches(self.label, given)
        if isinstance(given, list) and given:
            return one_of(self.label, given)
        what = "an empty list" if given == [] else type(given)
        raise ValueError(
            f"Invalid type for `{self.word}s` filter. Expected str, non-empty list of str, or "
            f"Filter object, but got {what}."
        )


EXPERIMENTS = Containers("experiment", Attribute("sys/name", "string"))
RUNS = Containers("run", Attribute("sys/custom_run_id", "string"))


@dataclass
class Selection:
    """The runs that were selected, in order; `labels` are experiments' names or runs' ids."""

    store: Store
    attributes: Attributes
    containers: Containers
    run_ids: list[str]

    def label(self, run_id: str) -> str:
        """The experiment's name, or the run's id as its script gave it."""
        system = self.attributes.system
        if self.containers is EXPERIMENTS:
            return system.experiment(run_id) or ""
        return system.custom_id(run_id)

    def project(self, run_id: str) -> str:
        """The project of a run."""
        return self.attributes.rows[run_id]["project"]


@contextmanager
def selection(
    containers: Containers,
    given: Any,
    project: str | None,
    *,
    sort_by: Attribute = CREATION,
    descending: bool = True,
    limit: int | None = None,
    everywhere: bool = False,
) -> Iterator[Selection]:
    """The runs of `project` (or NEPTUNE_PROJECT; or of all) that `given` selects, and the index.

    Raises NeptuneProjectNotProvided, NeptuneProjectInaccessible, AttributeTypeInferenceError.
    """
    wanted = containers.filter(given)
    name = None if everywhere else project or settings.neptune_project()
    if name is None and not everywhere:
        raise exceptions.NeptuneProjectNotProvided()
    store = store_of_scripts(create=False)
    store.refresh()
    with store.index() as index:
        rows = {row["run_id"]: row for row in index.runs(name)}
        if name is not None and not rows and name not in projects.known(store):
            raise exceptions.NeptuneProjectInaccessible()
        attributes = Attributes(index, rows)
        ids = [i for i in rows if containers is RUNS or attributes.system.is_head(i)]
        if wanted is not None:
            where = _typed(wanted._internal, attributes, ids, strict=everywhere)
            kept = select(where, ids, attributes)
            ids = [run_id for run_id in ids if run_id in kept]
        key = _sort_key(sort_by, attributes, ids, strict=everywhere)
        ids = sorted_ids(ids, [(key, descending)], attributes)
        yield Selection(store, attributes, containers, ids[:limit])


def wanted_attributes(given: Any) -> BaseAttributeFilter:
    """A regex, a list of names or an AttributeFilter; ValueError for anything else."""
    if given is None or isinstance(given, str | list):
        return AttributeFilter(name=given)
    if isinstance(given, BaseAttributeFilter):
        return given
    raise ValueError(
        "Invalid type for `attributes` filter. Expected str, non-empty list of str, or "
        f"AttributeFilter object, but got {type(given)}."
    )


def restricted(wanted: BaseAttributeFilter, kinds: Sequence[str]) -> BaseAttributeFilter:
    """`wanted` for these types alone; ValueError where a part of it asks for none of them."""
    parts: list[BaseAttributeFilter] = []
    for names, asked in wanted.leaves():
        kept = [kind for kind in kinds if kind in asked]
        if not kept:
            raise ValueError(
                f"Only {' or '.join(kinds)} attributes are supported by this function, and the "
                f"filter asks for {', '.join(sorted(asked))}"
            )
        parts.append(_Restricted(names, frozenset(kept)))
    return BaseAttributeFilter.any(*parts)


@dataclass
class _Restricted(BaseAttributeFilter):
    names: Any
    kinds: frozenset[str]

    def leaves(self) -> Iterator[Any]:
        yield self.names, self.kinds


def _typed(
    where: Expression, attributes: Attributes, ids: list[str], *, strict: bool
) -> Expression:
    """`where` with every attribute's type found, and its values read as that type."""
    found = {}
    for operand in set(operands(where)):
        found[operand] = _resolved(operand, attributes, ids, strict=strict)
    attributes.expect(operand.name for operand in found.values())
    return _mapped(where, found)


def _resolved(operand: Operand, attributes: Attributes, ids: list[str], *, strict: bool) -> Operand:
    if operand.kind != UNKNOWN:
        return operand
    if strict:
        details = [f"{operand.name}: type not provided; global queries require an explicit type"]
        raise exceptions.AttributeTypeInferenceError([operand.name], details)
    kinds = [TYPES[operand.name]] if operand.name in TYPES else None
    kinds = kinds or attributes.kinds(operand.name, list(attributes.rows))
    if len(kinds) > 1:
        details = [f"runs of the project hold it as {', '.join(kinds)}"]
        raise exceptions.AttributeTypeInferenceError([operand.name], details)
    if not kinds:
        _warn_absent(operand.name)
    return replace(operand, kind=kinds[0] if kinds else "string")


def _sort_key(by: Attribute, attributes: Attributes, ids: list[str], *, strict: bool) -> Operand:
    if strict and by.type is None:
        raise exceptions.NeptuneUserError(
            "Cannot resolve sort_by attribute type. Please pass filters.Attribute with a type."
        )
    if by.type is not None or by.name in TYPES:
        return Operand(by.type or TYPES[by.name], by.name)
    kinds = attributes.kinds(by.name, list(attributes.rows))
    if len(kinds) != 1:
        _warn_absent(by.name) if not kinds else warnings.warn(
            AttributeWarning(f"Attribute '{by.name}' has several types: sorted as a string"),
            stacklevel=4,
        )
    return Operand(kinds[0] if len(kinds) == 1 else "string", by.name)


def _warn_absent(name: str) -> None:
    text = f"Attribute '{name}' doesn't exist in the project"
    warnings.warn(AttributeWarning(text), stacklevel=5)


def _mapped(where: Expression, types: dict[Operand, Operand]) -> Expression:
    if isinstance(where, And):
        return And(tuple(_mapped(part, types) for part in where.parts))
    if isinstance(where, Or):
        return Or(tuple(_mapped(part, types) for part in where.parts))
    if isinstance(where, Not):
        return Not(_mapped(where.inner, types))
    assert isinstance(where, Test)
    operand = types[where.operand]
    if where.operator == "exists":
        return Test(operand, "exists")
    return Test(operand, where.operator, _literal(operand, where))


def _literal(operand: Operand, test: Test) -> Any:
    """The value of a test as the attribute's type reads it; NeptuneUserError where it cannot be."""
    value, kind = test.value, operand.kind
    if test.operator.endswith(("matches", "contains")):
        return value
    try:
        if kind in ("int", "float", "float_series"):
            return float(value) if isinstance(value, str) else value
        if kind == "bool":
            return {"true": True, "false": False}[str(value).lower()]
        if kind == "datetime":
            moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
            return moment.astimezone(datetime.UTC)
    except (ValueError, KeyError, AttributeError) as error:
        raise exceptions.NeptuneUserError(
            f"{operand.name!r} is a {kind}, which cannot be compared with {value!r}"
        ) from error
    return value if isinstance(value, str) else str(value)
