"""Specs: strict, bounded, one sentence for a mistake, the same through JSON and URL."""

from __future__ import annotations

import base64
import contextlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamount.core.errors import UserError
from seamount.tracking.dashboard.spec import (
    MAX_JSON_BYTES,
    ChartSpec,
    TableSpec,
    ViewSpec,
    from_query,
    read_spec,
    to_json,
    to_query,
)

VIEW = {
    "page": "charts",
    "table": {"where": "config.lr < 0.1", "columns": ["name", "min(loss)"], "sort": "-min(loss)"},
    "charts": [{"metrics": "^loss$", "group_by": ["config.lr"], "x_range": [1, 2.5]}],
    "baseline": "r1",
    "options": {"depth": 3, "open": True, "text": "ж"},
}


def test_a_view_survives_url_and_json():
    view = read_spec(ViewSpec, VIEW)
    assert view.charts[0].x_range == (1.0, 2.5)
    assert from_query(ViewSpec, to_query(view)) == view
    assert from_query(ViewSpec, to_json(view)) == view
    assert read_spec(ViewSpec, to_json(view).encode()) == view


def test_url_form_is_raw_deflate_in_base64url():
    text = to_query(read_spec(ViewSpec, VIEW))
    version, packed = text.split(".")
    data = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    assert version == "1"
    assert zlib.decompress(data, wbits=-15).decode() == to_json(read_spec(ViewSpec, VIEW))


def test_canonical_text_leaves_defaults_out_and_sorts():
    one = read_spec(ChartSpec, {"metrics": "a", "split": True, "band": "std"})
    assert to_json(one) == '{"band":"std","metrics":"a"}'


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"metrics": "(("}, "not closed"),
        ({"metrics": "a", "colour": 1}, "chart: colour is wrong"),
        ({}, "chart: metrics is wrong"),
        ({"metrics": "a", "x": "epoch"}, "metric:NAME"),
        ({"metrics": "a", "x": "metric:"}, "must not be empty"),
        ({"metrics": "a", "x_range": [2, 1]}, "lower end first"),
        ({"metrics": "a", "x_range": [0, 1], "x_scale": "log"}, "above 0"),
        ({"metrics": "a", "split": 1}, "chart: split is wrong"),
        ({"metrics": "a", "runs": {"where": "loss <"}}, "write config.loss"),
        ({"metrics": "a", "runs": {"search": "?no:x"}}, "unknown field"),
        ({"metrics": "a", "runs": {"ids": ["../x"]}}, "cannot be the id"),
        ({"metrics": "a", "smoothing": {"kind": "ema", "weight": 1.0}}, "smoothing.weight"),
        ({"metrics": "a", "group_by": ["lr"]}, "unknown attribute"),
        ({"metrics": "a" * 10_001}, "chart: metrics is wrong"),
        ("[", "must be JSON"),
        ("[" * 100_000, "must be JSON"),
        (b"\xff", "must be JSON"),
        (" " * (MAX_JSON_BYTES + 1), "bytes"),
    ],
)
def test_mistakes_are_one_sentence(value, says):
    with pytest.raises(UserError, match=says) as caught:
        read_spec(ChartSpec, value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_infinities_are_refused():
    with pytest.raises(UserError, match="x_range"):
        read_spec(ChartSpec, '{"metrics": "a", "x_range": [1, 1e999]}')


def bomb() -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packer.compress(b" " * (100 << 20)) + packer.flush()
    return f"1.{base64.urlsafe_b64encode(data).decode().rstrip('=')}"


@pytest.mark.parametrize("text", ["", "1.", "2.abc", "1.a+b", "1.q1Yqyk8vSlWyUqowVtJRykxVs", "x"])
def test_broken_addresses(text):
    with pytest.raises(UserError):
        from_query(TableSpec, text)


def test_an_address_that_grows_without_end_is_refused():
    text = bomb()
    assert len(text) < 200_000
    with pytest.raises(UserError, match="bytes"):
        from_query(ViewSpec, text)


@given(st.text(max_size=200))
def test_any_text_is_a_spec_or_a_user_error(text):
    with pytest.raises(UserError):
        from_query(ViewSpec, text if not text.lstrip().startswith("{") else "!" + text)
    with contextlib.suppress(UserError):
        read_spec(ViewSpec, text)


@given(
    st.builds(
        dict,
        metrics=st.just("a"),
        title=st.text(st.characters(codec="utf-8"), max_size=50) | st.none(),
        y_range=st.tuples(st.floats(-1e9, 0), st.floats(0.1, 1e300)) | st.none(),
        band=st.sampled_from(["none", "minmax", "std"]),
    )
)
def test_any_chart_survives(values):
    spec = read_spec(ChartSpec, values)
    assert from_query(ChartSpec, to_query(spec)) == spec
