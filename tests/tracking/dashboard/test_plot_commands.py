"""`seamount track plot` and `open` as a person types them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from command_line import run
from logged import curve, log

from seamount.tracking.dashboard.plot import metadata


@pytest.fixture
def runs(store):
    log(store, "a", {"loss": curve(50), "acc": curve(50)}, lr=0.1)
    log(store, "b", {"loss": curve(30)}, lr=0.2)
    return store


@pytest.fixture
def track(runs, capsys):
    def call(*arguments):
        code = run("track", *arguments, "--store", runs.uri)
        found = capsys.readouterr()
        return code, found.out, found.err

    return call


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_plot_then_open(track, runs, tmp_path, kind):
    out = tmp_path / f"p.{kind}"
    code, said, _ = track(
        "plot", "--project", "demo", "--metric", "loss | acc", "--runs", "a | b", "--where",
        "config.lr > 0", "--smooth", "0.9", "--size", "300x200", "--scale", "1", "--baseline", "b",
        "--group-by", "config.lr", "--y-scale", "log", "--x-range", "1:20", "--dark", "--out", out,
    )  # fmt: skip
    assert (code, said.split()[1:3]) == (0, ["3", "lines,"])
    spec = metadata.read(out.read_bytes()).view.charts[0]
    assert spec.runs.where == "config.lr > 0 and name matches 'a | b'"
    assert (spec.x_range, spec.smoothing.weight, spec.band) == ((1, 20), 0.9, "minmax")
    code, said, _ = track("open", out)
    assert code == 0
    assert "(same)" in said
    assert "http://127.0.0.1:5000/?view=1." in said
    log(runs, "a", {"loss": [5]}, steps=[10])
    code, said, told = track("open", out, "--json", "--url", "https://host")
    assert code == 1
    assert told.count("\n") == 1
    assert "is not what the store holds now" in told
    found = json.loads(said)
    assert (found["state"], found["url"][:20]) == ("changed", "https://host/?view=1")
    assert found["digest"] != found["digest_now"]


def test_a_view_is_drawn_from_its_address_text_or_file(track, tmp_path):
    first, second = tmp_path / "a.png", tmp_path / "b.png"
    size = ("--size", "300x200", "--scale", "1")
    track("plot", "--metric", "loss", *size, "--out", first)
    address = json.loads(track("open", first, "--json")[1])["url"]
    view = tmp_path / "view.json"
    view.write_text('{"charts": [{"metrics": "loss", "band": "minmax"}], "page": "charts"}')
    for given in (address, address.partition("view=")[2], view):
        assert track("plot", "--view", given, *size, "--out", second)[0] == 0
        views = [metadata.read(path.read_bytes()).view for path in (first, second)]
        assert views[0] == views[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--metric", "a", "--out", "x.jpg"), ".png or .svg"),
        (("--out", "x.png"), "--metric or --view"),
        (("--metric", "((", "--out", "x.png"), "not closed"),
        (("--metric", "a", "--size", "9", "--out", "x.png"), "WIDTHxHEIGHT"),
        (("--metric", "a", "--smooth", "best", "--out", "x.png"), "ema:0.9"),
        (("--metric", "a", "--smooth", "mean:x", "--out", "x.png"), "ema:0.9"),
        (("--metric", "a", "--smooth", "ema:2", "--out", "x.png"), "smoothing.weight"),
        (("--metric", "a", "--x-range", "5", "--out", "x.png"), "LOW:HIGH"),
        (("--metric", "a", "--x", "epoch", "--out", "x.png"), "metric:NAME"),
        (("--metric", "a", "--baseline", "/", "--out", "x.png"), "id of a run"),
        (("--view", "nonsense", "--out", "x.png"), "not a view"),
        (("--view", "http://h/?view=", "--out", "x.png"), "holds no view"),
        (("--metric", "a", "--out", "no/folder/x.png"), ""),
    ],
)
def test_mistakes_are_one_sentence(track, arguments, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, told = track("plot", *arguments)
    if says:
        assert code == 2
        assert says in told
    assert "Traceback" not in told


def test_open_refuses_what_is_no_picture(track, tmp_path):
    (tmp_path / "x.png").write_bytes(b"no")
    assert track("open", tmp_path / "x.png")[0] == 2
    assert track("open", tmp_path / "none.png")[0] == 2
    assert track("open", tmp_path)[0] == 2


def test_the_command_line_does_not_import_matplotlib():
    code = (
        "import sys, seamount.cli.main; print('matplotlib' in sys.modules, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
