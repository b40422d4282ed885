"""Pictures say what they show, to any reader; hostile files are refused in one sentence."""

from __future__ import annotations

import io
import json
import struct
import warnings
import xml.etree.ElementTree as ET
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logged import curve, log
from PIL import Image

from seamount.core.errors import CorruptData, SeamountError, UserError
from seamount.tracking.dashboard.plot import metadata, png_chunks
from seamount.tracking.dashboard.plot.files import picture_file
from seamount.tracking.dashboard.plot.matching import match
from seamount.tracking.dashboard.plot.picture import Look
from seamount.tracking.dashboard.plot.style import theme
from seamount.tracking.dashboard.spec import ViewSpec, from_query, read_spec

SMALL = Look((300, 200), 1.0)
NAME = "训练 <b>&$x^2$ $\\frac$ \u202e_"


def view(**chart):
    spec = {"metrics": "^loss$", "smoothing": {"kind": "ema"}} | chart
    return read_spec(ViewSpec, {"page": "charts", "charts": [spec]})


def drawn(store, kind="png", look=SMALL, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a glyph that no font has is nobody's business
        return picture_file(view(**how), kind, look, store=store.uri)


@pytest.fixture
def logged(store):
    log(store, "a", {"loss": curve(50)}, name=NAME, lr=0.1)
    log(store, "b", {"loss": [*curve(30), float("nan")]}, lr=0.2)
    return store


def test_png_chunks_as_pillow_reads_them(logged):
    made = drawn(logged)
    image = Image.open(io.BytesIO(made.content))
    image.load()
    assert image.size == (300, 200)
    assert {"Title", "Software", "Source", "Creation Time", "seamount"} <= set(image.text)
    assert image.text["Title"] == "loss"
    assert image.text["Software"].startswith("seamount ")
    told = json.loads(image.text["seamount"])
    assert told["digest"] == made.embedded.digest
    assert told["charts"][0]["run_ids"] == ["b", "a"]
    assert told["charts"][0]["paths"] == ["loss"]
    assert told["charts"][0]["steps"] == [0, 49]
    assert told["charts"][0]["smoothing"]["kind"] == "ema"
    assert (told["projects"], told["store_version"]) == (["demo"], 2)
    query = image.text["Source"].partition("view=")[2]
    assert from_query(ViewSpec, query) == view()
    assert str(logged.folder) not in image.text["seamount"]  # no path of this machine
    assert metadata.read(made.content) == made.embedded


def test_sizes_and_scale(logged):
    image = Image.open(io.BytesIO(drawn(logged, look=Look((400, 300), 2.0, True)).content))
    assert image.size == (800, 600)
    assert bytes(image.convert("RGB").getpixel((2, 2))).hex() == theme(dark=True).paper[1:]
    with pytest.raises(UserError, match="200 to 10,000"):
        Look((10, 500))
    with pytest.raises(UserError, match="too large"):
        drawn(logged, look=Look((9_000, 9_000), 8.0))


def test_svg_holds_names_as_text_and_the_description(logged):
    made = drawn(logged, "svg", title="a <title> & more")
    tree = ET.fromstring(made.content)
    assert (tree.get("width"), tree.get("height")) == ("300", "200")
    texts = ["".join(each.itertext()) for each in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert "a <title> & more" in texts
    assert any("训练 <b>&$x^2$ $\\frac$ \\u202e_" in text for text in texts)
    assert b"'DejaVu Sans', system-ui" in made.content
    dates = list(tree.iter("{http://purl.org/dc/elements/1.1/}date"))
    assert [each.text for each in dates] == [made.embedded.created]
    assert metadata.read(made.content) == made.embedded


@pytest.mark.parametrize(
    "how",
    [
        {"metrics": "", "x": "time", "ranks": "mean", "band": "std"},
        {"x": "relative", "x_scale": "log", "y_scale": "log"},
        {"y_scale": "symlog", "x_scale": "symlog", "group_by": ["config.lr"], "band": "minmax"},
        {"metrics": "no such metric"},
        {"x_range": [1000, 2000], "y_range": [-1, 1]},
        {"y_scale": "log", "metrics": "negative"},
    ],
)
def test_every_kind_of_chart_can_be_drawn(logged, how):
    log(logged, "c", {"loss": [float("inf")], "negative": [-1.0, -2.0], "zero": [0.0] * 3})
    assert metadata.read(drawn(logged, **how).content).view.charts


def test_match(logged):
    told = drawn(logged, runs={"where": "config.lr = 0.1"}).embedded
    assert match(told, logged.uri).state == "same"
    log(logged, "new", {"loss": [1]}, lr=0.1)
    later = match(told, logged.uri)
    assert (later.state, later.details) == ("same", ["the view now selects 1 run more"])
    log(logged, "a", {"loss": [9, 9]}, steps=[1000, 1001])
    later = match(told, logged.uri)
    assert later.state == "grown"
    assert later.details[0] == "what is drawn is unchanged, and 2 newer points came since"
    log(logged, "a", {"loss": [7]}, steps=[10])
    later = match(told, logged.uri)
    assert later.state == "changed"
    assert "1 of 1 series differ, the first is loss of run a (rank 0)" in later.details


def test_match_where_a_run_is_gone(logged, tmp_path):
    from seamount.tracking.store.folder import open_store

    told = drawn(logged).embedded
    other = open_store(tmp_path / "other")
    log(other, "b", {"loss": [1]})
    found = match(told, other.uri)
    assert (found.state, found.same) == ("missing", False)
    assert found.details == ["1 run of the picture cannot be found (a)"]


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(*chunks: bytes) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return png_chunks.SIGNATURE + head + b"".join(chunks) + chunk(b"IEND", b"")


def text_chunk(data: bytes) -> bytes:
    return chunk(b"iTXt", b"seamount\0\1\0\0\0" + data)


BOMB = zlib.compress(b" " * (50 << 20), 9)
BROKEN = chunk(b"iTXt", b"x")[:-1] + b"!"
HOSTILE = {
    "no description": (png(), "does not say"),
    "bomb": (png(text_chunk(BOMB)), "more than 1,048,576 bytes"),
    "not zlib": (png(text_chunk(b"junk")), "cannot be unpacked"),
    "cut zlib": (png(text_chunk(zlib.compress(b"{}")[:-3])), "cannot be unpacked"),
    "not UTF-8": (png(text_chunk(zlib.compress(b"\xff"))), "cannot be unpacked"),
    "not JSON": (png(text_chunk(zlib.compress(b"nonsense"))), "description is damaged"),
    "too deep": (png(text_chunk(zlib.compress(b"[" * 100_000))), "description is damaged"),
    "no fields": (png(text_chunk(zlib.compress(b"{}"))), "description is damaged"),
    "no separators": (png(chunk(b"iTXt", b"seamount\0")), "cannot be unpacked"),
    "checksum": (png(BROKEN), "checksum"),
    "cut": (png()[:-9], "not whole"),
    "length beyond the end": (
        png_chunks.SIGNATURE + struct.pack(">I", 2**32 - 1) + b"IHDR", "not whole"
    ),
    "no header": (png_chunks.SIGNATURE + chunk(b"IEND", b""), "begin with its header"),
    "another file": (b"GIF89a", "neither PNG nor SVG"),
    "empty": (b"", "neither PNG nor SVG"),
    "entities": (b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><svg>&a;</svg>', "entities"),
    "not XML": (b"<svg", "SVG is damaged"),
    "SVG of others": (b"<svg/>", "does not say"),
    "SVG bomb": (
        b'<svg><view xmlns="urn:seamount:picture:1">' + b" " * (2 << 20) + b"</view></svg>",
        "more than 1,048,576 bytes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files(kind):
    content, says = HOSTILE[kind]
    with pytest.raises((UserError, CorruptData), match=says) as caught:
        metadata.read(content)
    assert "\n" not in str(caught.value)


def test_many_chunks_end(monkeypatch):
    monkeypatch.setattr(png_chunks, "_MAX_CHUNKS", 100)
    with pytest.raises(CorruptData, match="more than 100 chunks"):
        metadata.read(png(*[chunk(b"tEXt", b"")] * 200))


def test_a_view_with_a_bad_filter_is_damage(logged):
    text = metadata.to_text(drawn(logged).embedded).replace('"^loss$"', '"(("')
    with pytest.raises(CorruptData, match="view cannot be read"):
        metadata.read(png(text_chunk(zlib.compress(text.encode()))))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_end_in_one_sentence(content, framed):
    data = png(chunk(b"iTXt", b"seamount\0" + content)) if framed else content
    with pytest.raises(SeamountError):
        metadata.read(data)


def test_palette_stands_out_from_its_paper():
    """WCAG's contrast: 3:1 for lines, 4.5:1 for text."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, two: str) -> float:
        dark, light = sorted([luminance(one), luminance(two)])
        return (light + 0.05) / (dark + 0.05)

    for dark in (False, True):
        colours = theme(dark=dark)
        assert min(contrast(each, colours.paper) for each in colours.series) >= 3
        texts = (colours.ink, colours.muted, colours.bad)
        assert min(contrast(each, colours.paper) for each in texts) >= 4.5
        styles = [str(colours.line(number)) for number in range(48)]
        assert len(set(styles)) == 48
