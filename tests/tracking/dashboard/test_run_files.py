"""A run's files over HTTP: content, types, ranges, and nothing that could run or leave the run."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest

from seamount.tracking import Run
from seamount.tracking.dashboard import tokens
from seamount.tracking.media import Audio, Image
from seamount.tracking.store.folder import Store

SCRIPT = b"<script>parent.document.title = 'owned'</script>"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(1)</script></svg>"
TEXT = bytes(range(32, 127)) * 40


@pytest.fixture
def files(store: Store) -> Store:
    with Run(project="fruit", run_id="a", store=store.uri, capture=False) as run:
        run.assign_files({"page.html": SCRIPT, "art.svg": SVG, "notes/one.txt": b"first"})
        run.assign_files({"notes/one.txt": TEXT, 'odd "name"; x.bin': b"\x00\x01", "j.js": b"1"})
        picture = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        run.log_files({"shot": Image(picture), "tone": Audio(np.zeros(80), 8000)}, step=7)
    with Run(project="other", run_id="b", store=store.uri, capture=False) as run:
        run.assign_files({"secret.txt": b"secret"})
    return store


@pytest.fixture
def fetch(files, client_of):
    client = client_of(files)

    def get(name: str, run: str = "a", headers=None, **more):
        parameters = {"run": run, "name": name} | more
        return client.get("/api/v1/file", params=parameters, headers=headers or {})

    return get


def test_content_is_what_was_logged(fetch):
    answer = fetch("notes/one.txt")
    assert (answer.status_code, answer.content) == (200, TEXT)
    assert answer.headers["content-type"].startswith("text/plain")
    assert fetch("notes/one.txt", version=0).content == b"first"
    assert fetch("notes/one.txt", version=-2).content == b"first"


@pytest.mark.parametrize(
    ("name", "kind", "how"),
    [
        ("page.html", "text/html", "attachment"),
        ("j.js", "text/javascript", "attachment"),
        ("art.svg", "image/svg+xml", "inline"),
        ("shot/7.png", "image/png", "inline"),
        ("tone/7.wav", "audio/", "inline"),
        ('odd "name"; x.bin', "application/octet-stream", "attachment"),
    ],
)
def test_type_and_disposition(fetch, name, kind, how):
    answer = fetch(name)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(kind)
    assert answer.headers["content-disposition"].startswith(how)
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["page.html", "art.svg", "notes/one.txt", "shot/7.png"])
def test_every_file_opens_in_a_sandbox_without_scripts(fetch, name):
    policy = fetch(name).headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy
    assert "sandbox" in policy  # and no allow-scripts, no allow-same-origin
    assert not any(part.startswith("script-src") for part in policy)


def test_a_download_is_saved_whatever_it_is(fetch):
    assert fetch("shot/7.png", download=1).headers["content-disposition"].startswith("attachment")


def test_ranges_give_those_bytes(fetch):
    answer = fetch("notes/one.txt", headers={"Range": "bytes=10-19"})
    assert (answer.status_code, answer.content) == (206, TEXT[10:20])
    assert answer.headers["content-range"] == f"bytes 10-19/{len(TEXT)}"
    assert fetch("notes/one.txt", headers={"Range": "bytes=-5"}).content == TEXT[-5:]
    beyond = fetch("notes/one.txt", headers={"Range": f"bytes={len(TEXT)}-"})
    assert beyond.status_code == 416
    many = ",".join(f"{n}-{n}" for n in range(0, 200, 2))
    assert fetch("notes/one.txt", headers={"Range": f"bytes={many}"}).status_code == 416


@pytest.mark.parametrize(
    "name",
    ["../../../format.json", "/etc/passwd", "notes/../page.html", "", "notes", "a\x00b", "."],
)
def test_no_name_leads_out_of_the_run(fetch, name):
    answer = fetch(name)
    assert answer.status_code == 400
    assert "\n" not in answer.json()["error"]


def test_a_link_in_the_folder_leads_nowhere(fetch, files):
    folder = files.artifact_folder("a")
    os.symlink("/etc", folder / "etc")
    os.symlink("/etc/hostname", folder / "host.txt")
    assert fetch("etc/hostname").status_code == 400
    assert fetch("host.txt").status_code == 400


@pytest.mark.parametrize("version", ["2", "-3", "x", "1e3"])
def test_a_version_that_is_not_there(fetch, version):
    assert fetch("notes/one.txt", version=version).status_code == 400


def test_lost_content_is_said(fetch, files):
    digest = hashlib.sha256(b"\x00\x01").hexdigest()
    (files.folder / "blobs" / digest[:2] / digest).unlink()
    answer = fetch('odd "name"; x.bin')
    assert answer.status_code == 422
    assert "gone" in answer.json()["error"]


def test_a_reader_sees_the_files_of_its_project_alone(files, client_of):
    client = client_of(files, "key")
    share = tokens.issue(files, project="fruit")
    mine = {"share": share, "run": "a", "name": "notes/one.txt"}
    assert client.get("/api/v1/file", params=mine).content == TEXT
    other = {"share": share, "run": "b", "name": "secret.txt"}
    assert client.get("/api/v1/file", params=other).status_code == 400
    assert client.get("/api/v1/file", params={"run": "b", "name": "secret.txt"}).status_code == 401
