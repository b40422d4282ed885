"""What a corpus is made of: components with weights, rules and licences, read from catalog.yaml."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from seamount.core import registry, settings, yaml_file
from seamount.core.errors import UserError
from seamount.corpora.text.jsonl_zst import is_component_name

READERS = "seamount.corpora.text.readers"
FILTERS = "seamount.corpora.text.filters"
EDITS = "seamount.corpora.text.edits"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DedupeLines(_Strict):
    """Which units of a component's texts are taken away where they stood before in it: each `line`
    or `paragraph` of at least `least_bytes` bytes, white space at its ends not counted.
    """

    kind: Literal["line", "paragraph"]
    least_bytes: int = Field(default=40, ge=1)


class DedupePassages(NamedTuple):
    """Passages of `least_bytes` or more are cut where they come again in these components."""

    components: frozenset[str]
    least_bytes: int


class Component(_Strict):
    """One component. `weight` is a share (any unit) of the mixture in bytes; `epochs` is how often
    a document may be repeated to reach it; of near copies the lowest `priority` survives.
    `dedupe_lines` is `line`, `paragraph`, or {kind: line, least_bytes: 60}; `dedupe_passages` is
    the least length in bytes of a passage that must not come again, one for all that have it.
    """

    weight: float | None = Field(default=None, gt=0)
    epochs: float = Field(default=1.0, gt=0)
    reader: str | dict[str, dict[str, Any]] | None = None
    edits: tuple[str | dict[str, dict[str, Any]], ...] = ()
    filters: tuple[str | dict[str, dict[str, Any]], ...] = ()
    licence: str = ""
    takedown: str = ""
    kind: str = ""
    generated: bool = False
    synonyms: tuple[str, ...] = ()
    priority: int = 100
    dedupe_lines: DedupeLines | None = None
    dedupe_passages: int | None = Field(default=None, ge=20, le=10_000)
    raw_gib: float | None = None
    effective_gib: float | None = None
    mean_kib: float | None = None
    documents: int | None = None
    tokens_per_byte: float | None = None

    @field_validator("reader")
    @classmethod
    def _known_reader(cls, value: Any) -> Any:
        if value is not None:
            _known(READERS, filter_name(value), "reader")
        return value

    @field_validator("dedupe_lines", mode="before")
    @classmethod
    def _named_alone(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @field_validator("filters")
    @classmethod
    def _known_filters(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        for entry in value:
            _known(FILTERS, filter_name(entry), "filter")
        return value

    @field_validator("edits")
    @classmethod
    def _known_edits(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        for entry in value:
            _known(EDITS, filter_name(entry), "edit")
        return value


class Catalog(_Strict):
    """A named list of components.

    `mixture`: `strict` meets the weights exactly, bounded by the scarcest component; `fill` lets
    the others fill the room of a scarce one; `natural` takes everything. `unknown_components` says
    what becomes of a document whose component is not listed. `as_is` keeps every readable document
    with its text unchanged: no normalisation, no filter, no deduplication. `extends` names the
    catalog it was made from.
    """

    name: str
    description: str = ""
    mixture: Literal["strict", "fill", "natural"] = "strict"
    total_bytes: int | None = Field(default=None, gt=0)
    unknown_components: Literal["error", "keep", "drop"] = "error"
    as_is: bool = False
    extends: str | None = None
    components: dict[str, Component] = Field(min_length=1)

    @field_validator("components")
    @classmethod
    def _possible_names(cls, value: dict[str, Component]) -> dict[str, Component]:
        for name, component in value.items():
            for spelling in (name, *component.synonyms):
                if not is_component_name(spelling):
                    raise ValueError(
                        f"the component name {spelling[:40]!r} is empty, longer than 200 "
                        "characters or holds a control character, so no document can have it: "
                        "rename it"
                    )
        return value

    @field_validator("components")
    @classmethod
    def _synonyms_of_one(cls, value: dict[str, Component]) -> dict[str, Component]:
        owner: dict[str, str] = {}
        for name, component in value.items():
            for spelling in component.synonyms:
                if owner.setdefault(spelling, name) != name:
                    raise ValueError(
                        f"{spelling!r} is a synonym of {owner[spelling]!r} and of {name!r}: a "
                        "document cannot belong to both"
                    )
        return value

    @field_validator("components")
    @classmethod
    def _one_passage_length(cls, value: dict[str, Component]) -> dict[str, Component]:
        lengths = {c.dedupe_passages: n for n, c in value.items() if c.dedupe_passages is not None}
        if len(lengths) > 1:
            told = ", ".join(f"{length} for {name!r}" for length, name in sorted(lengths.items()))
            raise ValueError(
                f"dedupe_passages is {told}: give one length, since passages are compared across "
                "components"
            )
        return value

    @cached_property
    def canonical(self) -> dict[str, str]:
        """Any known spelling -> the component's own name."""
        own = {name: name for name in self.components}
        other = {s: name for name, c in self.components.items() for s in c.synonyms}
        return other | own

    def component(self, name: str) -> Component:
        """The component `name`, or one without rules where it is not listed."""
        return self.components.get(name) or Component()

    def dedupe_lines(self) -> dict[str, DedupeLines]:
        """The components that lose repeated lines or paragraphs; none where all is kept as is."""
        found = {} if self.as_is else self.components
        return {n: c.dedupe_lines for n, c in found.items() if c.dedupe_lines is not None}

    def dedupe_passages(self) -> DedupePassages | None:
        """The components that lose repeated passages, and how long these are; None where none."""
        found = {} if self.as_is else self.components
        lengths = {n: c.dedupe_passages for n, c in found.items() if c.dedupe_passages is not None}
        if not lengths:
            return None
        return DedupePassages(frozenset(lengths), next(iter(lengths.values())))

    def weights(self) -> dict[str, float] | None:
        """Shares that sum to 1 for the components that have a weight; None where none has."""
        given = {n: c.weight for n, c in self.components.items() if c.weight is not None}
        total = sum(given.values())
        return {n: w / total for n, w in given.items()} if given else None


def filter_name(entry: str | dict[str, Any]) -> str:
    """Name of a filter entry, which is `name` or `{name: {parameter: value}}`."""
    if isinstance(entry, str):
        return entry
    if len(entry) != 1:
        raise ValueError(f"a filter with parameters is one name: {{...}}, not {entry!r}")
    return next(iter(entry))


def _known(package: str, name: str, kind: str) -> str:
    known = registry.available(package)
    if name not in known:
        raise ValueError(str(registry.unknown(kind, name, known)))
    return name


def load_catalog(name_or_path: str) -> Catalog:
    """The catalog in a YAML file, or the one a short name has in datasets/ (such as `pile`).

    A file may start from another catalog: `extends: pile`, then `only: [...]` or `without: [...]`
    choose components, and its own keys go over those of the other, key by key in a component.
    """
    content, path = _content(name_or_path, ())
    try:
        return Catalog.model_validate(content)
    except ValidationError as error:
        raise UserError(f"{path}: {_first_problem(error)}") from error


def _content(name_or_path: str, above: tuple[str, ...]) -> tuple[Any, str]:
    path = str(settings.find_declaration("datasets", name_or_path, "catalog.yaml"))
    if path in above:
        raise UserError(f"{path} extends itself: {' -> '.join([*above, path])}")
    content = yaml_file.read(path, f"catalog {path}")
    if not isinstance(content, dict) or "extends" not in content:
        return content, path
    base = _content(str(content["extends"]), (*above, path))[0]
    try:
        return _extended(base, content), path
    except (TypeError, AttributeError) as error:
        raise UserError(
            f"{path}: only, without, components: of another type than a catalog needs ({error})"
        ) from error


def _extended(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    known = dict(base["components"])
    for key in ("only", "without"):
        for name in own.get(key) or ():
            if name not in known:
                raise registry.unknown("component", name, sorted(known))
    chosen = own.get("only") or known
    parts = {n: c for n, c in known.items() if n in chosen and n not in (own.get("without") or ())}
    changes = own.get("components") or {}
    merged = {n: {**(parts.get(n) or {}), **(changes.get(n) or {})} for n in {**parts, **changes}}
    mine = {k: v for k, v in own.items() if k not in ("extends", "only", "without", "components")}
    return {**base, **mine, "components": merged, "extends": str(own["extends"])}


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"]) or "the file"
    message = first["msg"].removeprefix("Value error, ")
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{key}: {message}{more}, given {str(first['input'])[:80]!r}"
