"""Histograms, files by step and values of many types come back as other libraries read them."""

from __future__ import annotations

import hashlib
import io
import json
import math
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as pillow

from seamount.core.errors import UserError
from seamount.tracking import Run, serialisers
from seamount.tracking.media import Audio, Histogram, Image, Video
from seamount.tracking.store import series
from seamount.tracking.store.verify import verify


def bytes_of(value: object) -> bytes:
    source = serialisers.encode(value).source
    assert isinstance(source, bytes)
    return source


def test_histograms_come_back(store):
    values = np.array([0.0, 1.0, 1.0, 2.0, math.nan])
    with Run(store=store.uri) as run:
        run.log_histograms({"w": Histogram([0, 1, 4], counts=[3, 5])}, step=2)
        run.log_histograms({"w": Histogram([0.0, 0.5], densities=[2.0]), "g": values}, step=1)
    store.refresh()
    with store.index() as index:
        first, second = series.histograms(index, run.run_id, "w")
        ((_, of_array),) = series.histograms(index, run.run_id, "g")
        kinds = series.names(index, run.run_id)
    assert first == (1, Histogram([0.0, 0.5], densities=[2.0]))
    assert second == (2, Histogram([0.0, 1.0, 4.0], counts=[3.0, 5.0]))
    counts, edges = np.histogram(values[:4], 64)
    assert (of_array.counts, of_array.bin_edges) == (counts.tolist(), edges.tolist())
    assert kinds == [("histograms", "g", 0), ("histograms", "w", 0)]


@pytest.mark.parametrize(
    ("edges", "given", "says"),
    [
        ([0, 1], {}, "either counts or densities"),
        ([0, 1], {"counts": [1], "densities": [1]}, "either counts or densities"),
        ([0, 1], {"counts": [1, 2]}, "needs 3 bin_edges, not 2"),
        ([0, 0], {"counts": [1]}, "must grow"),
        ([0, 1], {"counts": [-1]}, "negative"),
        ([0, math.inf], {"counts": [1]}, "finite"),
        (list(range(514)), {"counts": [1] * 513}, "at most 512"),
        (["a", 1], {"counts": [1]}, "must be numbers"),
    ],
)
def test_a_histogram_that_makes_no_sense_is_refused(edges, given, says):
    with pytest.raises(UserError, match=says):
        Histogram(edges, **given)


@pytest.mark.parametrize(
    "values", [[1.0, 1 + 2**-52], [-1.7e308, 1.7e308], [1e300] * 3, [-1.7e308], [1e17, 1e17 + 16]]
)
def test_any_finite_values_have_a_histogram(values):
    found = Histogram.of([*values, math.nan])
    assert sum(found.counts) == len(values)
    assert found.bin_edges[0] <= min(values) and max(values) <= found.bin_edges[-1]


def test_files_by_step_keep_every_version(store, tmp_path):
    picture = tmp_path / "plot.svg"
    picture.write_text("<svg/>")
    with Run(store=store.uri) as run:
        digests = run.log_files({"sample/text": b"one"}, step=1)
        run.log_files({"sample/text": b"two", "plot": picture}, step=2.5)
        run.log_files({"sample/text": b"one"}, step=10)
        run.log_files({"counted": {"a": 1}})
        run.log_files({"counted": {"a": 2}})
    store.refresh()
    with store.index() as index:
        found = series.files(index, run.run_id, "sample/text")
        (plot,) = series.files(index, run.run_id, "plot")
        counted = series.files(index, run.run_id, "counted")
    assert [(f["step"], f["path"]) for f in found] == [
        (1, "sample/text/1"),
        (2.5, "sample/text/2.5"),
        (10, "sample/text/10"),
    ]
    assert (
        digests
        == {"sample/text": hashlib.sha256(b"one").hexdigest()}
        == {"sample/text": found[2]["digest"]}
    )
    assert (plot["path"], plot["mime"]) == ("plot/2.5.svg", "image/svg+xml")
    assert [(f["step"], f["mime"]) for f in counted] == [
        (0, "application/json"),
        (1, "application/json"),
    ]
    folder = store.artifact_folder(run.run_id)
    assert (folder / "sample/text/2.5").read_bytes() == b"two"
    assert json.loads((folder / "counted/1.json").read_text()) == {"a": 2}
    report = verify(store, run.run_id)
    assert (report["ok"], report["files"]) == (True, 6)
    blob = store.folder / "blobs" / digests["sample/text"][:2] / digests["sample/text"]
    blob.chmod(0o644)
    blob.write_bytes(b"changed")
    assert not verify(store, run.run_id)["ok"]


def test_ranks_do_not_take_one_another_s_files(store):
    for rank in (0, 1):
        with Run(store=store.uri, run_id="one", rank=rank) as run:
            run.log_files({"x": f"rank {rank}".encode()}, step=0)
    folder = store.artifact_folder("one")
    assert (folder / "x/0").read_bytes() == b"rank 0"
    assert (folder / "x@1/0").read_bytes() == b"rank 1"


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", "a/../../b", "", "x\0y", "a\\b"])
def test_names_stay_inside_the_run(store, name):
    with Run(store=store.uri) as run:
        for call in (
            lambda: run.log_files({name: b"x"}, step=0),
            lambda: run.assign_files({name: {"a": 1}}),
        ):
            with pytest.raises(UserError):
                call()


def test_values_given_to_assign_files_get_a_suffix(store):
    with Run(store=store.uri) as run:
        run.assign_files({"settings": {"a": 1}, "other.txt": [1, 2], "raw": b"x"})
    names = sorted(p.name for p in store.artifact_folder(run.run_id).iterdir())
    assert names == ["other.txt", "raw", "settings.json"]


def test_json_is_strict():
    value = {"a": math.nan, "b": [math.inf, -math.inf], "c": "é\ud800", "d": (1, None, True)}
    text = bytes_of(value).decode()
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert found == {
        "a": "NaN", "b": ["Infinity", "-Infinity"], "c": "é\ud800", "d": [1, None, True]
    }  # fmt: skip


def test_arrays_and_tensors():
    import torch
    from safetensors.numpy import load

    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert np.array_equal(np.load(io.BytesIO(bytes_of(array)), allow_pickle=False), array)
    base = torch.arange(6.0).reshape(2, 3)
    tensor = base.t().requires_grad_()
    assert np.array_equal(load(bytes_of(tensor))["value"], base.t().numpy())
    both = load(bytes_of({"a": base, "b": base[0]}))
    assert np.array_equal(both["b"], base[0].numpy())
    with pytest.raises(UserError, match="Python objects"):
        serialisers.encode(np.array([{}], dtype=object))


def test_tables_are_parquet():
    import pandas as pd
    import pyarrow.parquet as pq

    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    found = pq.read_table(io.BytesIO(bytes_of(frame)))
    assert found.select(["a", "b"]).to_pydict() == {"a": [1, 2], "b": ["x", None]}
    table = pq.read_table(io.BytesIO(bytes_of(found)))
    assert table.equals(found)


def test_a_figure_is_a_png():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1), dpi=50)
    figure.subplots().plot([1, 2])
    assert pillow.open(io.BytesIO(bytes_of(figure))).size == (100, 50)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.uint8).reshape(3, 4),
        np.arange(36, dtype=np.uint8).reshape(3, 4, 3),
        np.arange(48, dtype=np.int64).reshape(3, 4, 4),
        np.arange(12, dtype=np.uint8).reshape(3, 4, 1),
    ],
)
def test_an_image_keeps_its_pixels(array):
    found = np.asarray(pillow.open(io.BytesIO(bytes_of(Image(array)))))
    assert np.array_equal(found.reshape(array.shape), array)


def test_images_of_floats_channels_first_and_bools():
    floats = np.linspace(0, 1, 3 * 8 * 8).reshape(3, 8, 8)
    found = np.asarray(pillow.open(io.BytesIO(bytes_of(Image(floats)))))
    assert np.abs(found / 255 - floats.transpose(1, 2, 0)).max() <= 0.5 / 255 + 1e-12
    mask = np.eye(4, dtype=bool)
    assert np.array_equal(np.asarray(pillow.open(io.BytesIO(bytes_of(Image(mask))))) == 255, mask)


@pytest.mark.parametrize(
    "array",
    [np.full((2, 2), 1.5), np.full((2, 2), np.nan), np.full((2, 2), 300), np.zeros((2, 2, 2)),
     np.zeros((0, 3)), np.zeros(4), np.full((2, 2), -1)],
)  # fmt: skip
def test_what_is_no_picture_is_refused(array):
    with pytest.raises(UserError, match="an Image"):
        serialisers.encode(Image(array))


def test_sounds():
    whole = np.array([0, 1000, -32768, 32767], np.int16)
    with wave.open(io.BytesIO(bytes_of(Audio(whole, 16_000)))) as sound:
        assert (sound.getframerate(), sound.getsampwidth(), sound.getnchannels()) == (16_000, 2, 1)
        assert np.array_equal(np.frombuffer(sound.readframes(4), "<i2"), whole)
    floats = np.array([[0.0, 1.25], [-1.0, 0.5]], np.float32)
    content = bytes_of(Audio(floats, 8_000))
    assert np.frombuffer(content[-16:], "<f4").tolist() == floats.ravel().tolist()
    with pytest.raises(UserError, match="an Audio"):
        serialisers.encode(Audio(np.zeros((2, 2, 2)), 8_000))


def test_a_film_keeps_its_pictures():
    frames = np.random.default_rng(0).integers(0, 256, (3, 4, 5, 3), dtype=np.uint8)
    film = pillow.open(io.BytesIO(bytes_of(Video(frames, fps=5))))
    assert film.n_frames == 3
    for number, frame in enumerate(frames):
        film.seek(number)
        assert np.array_equal(np.asarray(film.convert("RGB")), frame)
    assert film.info["duration"] == 200


class _Own:
    def __init__(self, text: str) -> None:
        self.text = text


class _Derived(_Own):
    pass


def test_other_types_by_registration_never_pickle(monkeypatch):
    with pytest.raises(UserError, match="_Own has no serialiser"):
        serialisers.encode(_Own("x"))
    monkeypatch.setattr(serialisers, "_registered", {})
    serialisers.register(_Own, lambda own: serialisers.File(own.text.encode(), ".txt"))
    found = serialisers.encode(_Derived("x"))
    assert (found.source, found.suffix, found.mime_type) == (b"x", ".txt", "text/plain")


def test_a_missing_path_is_one_sentence(store, tmp_path):
    with Run(store=store.uri) as run, pytest.raises(UserError, match=r"nowhere\.png"):
        run.log_files({"x": Path(tmp_path / "nowhere.png")}, step=0)
