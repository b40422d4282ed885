"""The whole state of a page as data: which runs, which charts, drawn how.

A spec is strict (an unknown key is an error), bounded, and checked down to its filters and regexes,
which are those of docs/tracking/query.md. The page keeps it in its URL, a picture within its file,
a view under its name. As JSON only what differs from the defaults is written, keys sorted: equal
specs have equal texts.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from seamount.core.errors import UserError
from seamount.core.wording import one_line
from seamount.tracking.names import check_name, is_run_id
from seamount.tracking.query.filter_parser import parse_filter, parse_operand
from seamount.tracking.query.patterns import compile_pattern
from seamount.tracking.query.runs_table import combined, sort_key

VERSION = 1  # of the form in URLs and files
MAX_CHARTS = 200
MAX_JSON_BYTES = 1 << 20
MAX_QUERY_CHARS = 1 << 18
MAX_MEDIAN_WINDOW = 10_001
_METRIC = "metric:"


def _filter(text: str) -> str:
    parse_filter(text)
    return text


def _search(text: str) -> str:
    combined(None, text)
    return text


def _pattern(text: str) -> str:
    compile_pattern(text)
    return text


def _attribute(text: str) -> str:
    parse_operand(text)
    return text


def _group(text: str) -> str:
    if "*" in parse_operand(text).name:
        raise UserError(f"group_by {text[:80]!r} must name one attribute, without *")
    return text


def _order(text: str) -> str:
    sort_key(text)
    return text


def _run_id(text: str) -> str:
    if not is_run_id(text):
        raise UserError(f"{text[:140]!r} cannot be the id of a run: `seamount track ls` lists them")
    return text


Text = Annotated[str, Field(max_length=10_000)]
Short = Annotated[str, Field(max_length=1_100)]
RunId = Annotated[str, AfterValidator(_run_id)]
RunIds = Annotated[tuple[RunId, ...], Field(max_length=1_000)]
Filter = Annotated[Text, AfterValidator(_filter)]
Search = Annotated[Text, AfterValidator(_search)]
Attributes = Annotated[
    tuple[Annotated[Short, AfterValidator(_attribute)], ...], Field(max_length=500)
]
Groups = Annotated[tuple[Annotated[Short, AfterValidator(_group)], ...], Field(max_length=10)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Scale = Literal["linear", "log", "symlog"]
Scalar = bool | int | Number | Text | None


class Spec(BaseModel):
    """Strict: an unknown key is an error, and nothing is turned into another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RunSelection(Spec):
    """Which runs: all that `where`, `search` and `project` select, or of those the `ids` only."""

    where: Filter | None = None
    search: Search | None = None
    project: Text | None = None
    ids: RunIds | None = None


class Smoothing(Spec):
    """`ema` by weight (0: none, towards 1: more), `time_ema` by half-life in seconds, else over a
    window of so many points around each point."""

    kind: Literal["none", "ema", "time_ema", "mean", "median"] = "none"
    weight: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.9
    window: Annotated[int, Field(ge=1, le=1_000_000)] = 11
    half_life: Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)] = 60.0

    @model_validator(mode="after")
    def _affordable(self) -> Smoothing:
        if self.kind == "median" and self.window > MAX_MEDIAN_WINDOW:
            raise UserError(
                f"a median's window may have {MAX_MEDIAN_WINDOW:,} points, not {self.window:,}: "
                "take less, or the mean"
            )
        return self


class ChartSpec(Spec):
    """One chart, or one for each metric that `metrics` (an extended regex) matches if `split`."""

    metrics: Annotated[Text, AfterValidator(_pattern)]
    split: bool = True
    runs: RunSelection = RunSelection()
    x: Short = "step"
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    smoothing: Smoothing = Smoothing()
    group_by: Groups = ()
    band: Literal["none", "minmax", "std"] = "none"
    ranks: Literal["first", "strands", "mean"] = "first"
    x_range: tuple[Number, Number] | None = None
    y_range: tuple[Number, Number] | None = None
    title: Annotated[str, Field(max_length=500)] | None = None

    @property
    def x_metric(self) -> str | None:
        """The metric that is the x axis, if one is."""
        return self.x.removeprefix(_METRIC) if self.x.startswith(_METRIC) else None

    @field_validator("x")
    @classmethod
    def _is_axis(cls, value: str) -> str:
        if value.startswith(_METRIC):
            check_name(value.removeprefix(_METRIC))
        elif value not in ("step", "time", "relative"):
            raise UserError(
                f"x {value[:80]!r} is none of step, time, relative and metric:NAME: choose one"
            )
        return value

    @model_validator(mode="after")
    def _ranges(self) -> ChartSpec:
        for name, scale in (("x", self.x_scale), ("y", self.y_scale)):
            span = getattr(self, f"{name}_range")
            if span is not None and not span[0] < span[1]:
                raise UserError(f"{name}_range {list(span)} must have its lower end first")
            if span is not None and scale == "log" and span[0] <= 0:
                raise UserError(f"{name}_range {list(span)} must be above 0 on a log axis")
        return self


class TableSpec(Spec):
    """The table of runs: which, which columns, in which order."""

    where: Filter | None = None
    search: Search | None = None
    project: Text | None = None
    columns: Attributes = ()
    sort: Annotated[Short, AfterValidator(_order)] | None = None
    descending: bool = False
    group_by: Groups = ()
    pinned_columns: Attributes = ()
    pinned_runs: RunIds = ()


class ViewSpec(Spec):
    """A page: which one, its table and charts, the run it compares with, and its own `options`."""

    page: Annotated[str, Field(pattern=r"^[a-z][a-z_-]{0,31}$")] = "table"
    table: TableSpec = TableSpec()
    charts: Annotated[tuple[ChartSpec, ...], Field(max_length=MAX_CHARTS)] = ()
    baseline: RunId | None = None
    run: RunId | None = None
    runs: RunIds = ()
    options: Annotated[dict[Short, Scalar], Field(max_length=100)] = {}


_S = TypeVar("_S", bound=Spec)


def read_spec(kind: type[_S], value: str | bytes | Mapping[str, Any]) -> _S:
    """The spec that JSON (its text, or what it says) describes; raises UserError, one sentence."""
    try:
        text = value if isinstance(value, str | bytes) else json.dumps(value, allow_nan=False)
        if len(text) > MAX_JSON_BYTES:
            raise UserError(f"a {_noun(kind)} may have {MAX_JSON_BYTES:,} bytes, not {len(text):,}")
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise UserError(_sentence(kind, error)) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(f"a {_noun(kind)} must be JSON: {one_line(error, 200)}") from error


def to_json(spec: BaseModel) -> str:
    """The canonical text: what differs from the defaults, keys sorted, no spaces."""
    values = spec.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def to_query(spec: BaseModel) -> str:
    """The spec for a URL: `1.` and the canonical JSON, deflated (raw), as base64url."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(to_json(spec).encode()) + packer.flush()
    return f"{VERSION}.{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def from_query(kind: type[_S], text: str) -> _S:
    """What `to_query` made, or plain JSON; raises UserError."""
    if text.lstrip().startswith("{"):
        return read_spec(kind, text)
    version, dot, packed = text.partition(".")
    if not dot or not version.isdecimal():
        raise UserError(f"{text[:40]!r} is not a {_noun(kind)}: copy the whole address again")
    if version != str(VERSION):
        raise UserError(f"this {_noun(kind)} is of form {version[:20]}, and 1 is read here: update")
    return read_spec(kind, _unpacked(kind, packed))


def page_url(view: ViewSpec, base: str) -> str:
    """The address of a view on the dashboard at `base` (http://host:port)."""
    return f"{base.rstrip('/')}/?view={to_query(view)}"


def _unpacked(kind: type[BaseModel], packed: str) -> bytes:
    broken = UserError(f"the {_noun(kind)} in this address is cut or changed: copy it again")
    if len(packed) > MAX_QUERY_CHARS or not re.fullmatch(r"[A-Za-z0-9_-]+", packed):
        raise broken
    reader = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
        text = reader.decompress(data, MAX_JSON_BYTES + 1)  # no more, whatever it grows to
    except (binascii.Error, zlib.error) as error:
        raise broken from error
    if len(text) <= MAX_JSON_BYTES and not reader.eof:
        raise broken
    return text


def _noun(kind: type[BaseModel]) -> str:
    return {"CompareSpec": "comparison"}.get(
        kind.__name__, kind.__name__.removesuffix("Spec").lower()
    )


def _sentence(kind: type[BaseModel], error: ValidationError) -> str:
    """The first mistake: where, what, and the value."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "json_invalid":
        return f"a {_noun(kind)} must be JSON: {one_line(first['msg'], 200)}"
    value = one_line(repr(first["input"]), 80)
    where = f"{_noun(kind)}: {one_line(place, 120)}" if place else _noun(kind)
    what = first["msg"][:1].lower() + first["msg"][1:]
    return f"{where} is wrong ({one_line(what, 200)}): {value}"
