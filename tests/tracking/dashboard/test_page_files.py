"""The page's files: nothing foreign loads, nothing else is served."""

from __future__ import annotations

import re

import pytest

from seamount.tracking.dashboard import assets

needs_assets = pytest.mark.skipif(
    assets.what_is_missing() is not None, reason="run python -m seamount.tracking.dashboard.assets"
)


@needs_assets
def test_only_our_own_files_load(filled, client_of):
    answer = client_of(filled).get("/")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    named = re.findall(r'(?:src|href)="([^"]+)"', answer.text)
    named += re.findall(r'": "(/static/[^"]+)"', answer.text)
    assert len(named) > 8
    for path in named:
        assert client_of(filled).get(path).status_code == 200, path


def test_no_file_of_the_page_names_an_outside_host():
    files = [p for p in assets.PAGE.rglob("*") if p.suffix in (".js", ".css", ".html")]
    assert len(files) > 15
    for path in files:
        assert not re.search(r"(https?:)?//[a-z0-9.-]+\.[a-z]{2,}/", path.read_text()), path
        assert len(path.read_text().splitlines()) <= 300, path


@pytest.mark.parametrize(
    "name",
    [
        "../app.py", "..%2fapp.py", "vendor/../../app.py", "vendor/evil.js", "index.html%00.js",
        "/etc/passwd", "main.py", "vendor/", "", "%2e%2e/assets.py", "tokens.py",
    ],
)  # fmt: skip
def test_nothing_else_is_served(filled, client_of, name):
    assert client_of(filled).get(f"/static/{name}").status_code == 404


def test_a_file_that_did_not_change_is_not_sent_again(filled, client_of):
    client = client_of(filled)
    first = client.get("/static/state.js")
    assert first.headers["content-type"].startswith("text/javascript")
    again = client.get("/static/state.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_absent_libraries_are_one_sentence(filled, client_of, monkeypatch, tmp_path):
    monkeypatch.setattr(assets, "PACKAGES", tmp_path)
    answer = client_of(filled).get("/")
    assert answer.status_code == 503
    assert "python -m seamount.tracking.dashboard.assets" in answer.text
    assert len(answer.text.strip().splitlines()) == 1


def test_unknown_addresses_are_told(filled, client_of):
    answer = client_of(filled).get("/api/v1/nothing")
    assert answer.status_code == 404
    assert "error" in answer.json()
