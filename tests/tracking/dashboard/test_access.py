"""Who may see what: tokens, logins, links, names of this machine, pages of others."""

from __future__ import annotations

import json
import os
import stat

import pytest

from seamount.core.errors import UserError
from seamount.tracking.dashboard import tokens

SECRET = "a-long-random-token"
NOUNS = ("runs", "columns", 'metrics?spec={"metrics":""}', 'chart?spec={"metrics":"loss"}')


def status(client, path, **how):
    return client.get(path, **how).status_code


def test_without_a_token_only_this_machine_is_answered(filled, client_of):
    client = client_of(filled)
    assert status(client, "/api/v1/runs") == 200
    for host in ("evil.example", "evil.example:5000", "127.0.0.1.evil.example", "", "0.0.0.0"):
        assert status(client, "/api/v1/runs", headers={"Host": host}) == 403, host
        assert status(client, "/", headers={"Host": host}) == 403
    for host in ("localhost:5000", "127.0.0.1", "[::1]:5000"):
        assert status(client, "/api/v1/runs", headers={"Host": host}) == 200, host


def test_a_token_is_demanded(filled, client_of):
    client = client_of(filled, SECRET, "http://tracking.example")
    for noun in NOUNS:
        assert status(client, f"/api/v1/{noun}") == 401
    assert client.get("/?view=1.abc").headers["location"] == "/login?view=1.abc"
    wrong = {"Authorization": f"Bearer {SECRET}x"}
    assert status(client, "/api/v1/runs", headers=wrong) == 401
    assert status(client, "/api/v1/runs", headers={"Authorization": f"Bearer {SECRET}"}) == 200


def test_a_login_sets_a_cookie_that_scripts_cannot_read(filled, client_of, monkeypatch):
    import asyncio

    async def no_wait(_seconds):
        return None

    client = client_of(filled, SECRET, "http://tracking.example")
    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "sleep", no_wait)
        assert client.post("/login", content="no").status_code == 401
    answer = client.post("/login", content=SECRET)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie and SECRET not in cookie
    assert status(client, "/api/v1/runs") == 200
    assert client.post("/login", content="x" * 5000).status_code == 413
    # Another token ends all logins.
    again = client_of(filled, SECRET + "2", "http://tracking.example")
    again.cookies.update(client.cookies)
    assert status(again, "/api/v1/runs") == 401


def test_a_made_up_cookie_opens_nothing(filled, client_of):
    from seamount.tracking.dashboard.access import Access

    client = client_of(filled, SECRET, "http://tracking.example")
    for value in ("9999999999.AAAA", "9999999999.", "x", f"{10**11}.{SECRET}", "1.A"):
        client.cookies.set(Access(filled, SECRET).cookie, value)
        assert status(client, "/api/v1/runs") == 401


def test_a_link_shows_its_project_and_nothing_else(filled, client_of):
    token = tokens.issue(filled, project="apples")
    client = client_of(filled, SECRET, "http://tracking.example")
    table = client.get("/api/v1/runs", params={"share": token}).json()
    assert {row["project"] for row in table["rows"]} == {"apples"}
    assert (table["total"], table["all"], table["projects"]) == (4, 4, ["apples"])
    spec = json.dumps({"project": "pears|apples", "pinned_runs": ["r5"]})
    table = client.get("/api/v1/runs", params={"share": token, "spec": spec}).json()
    assert {row["id"] for row in table["rows"]} == {"r0", "r1", "r2", "r3"}
    assert table["pinned"] == []
    chart = json.dumps({"metrics": "loss", "runs": {"ids": ["r1", "r5"]}})
    found = client.get("/api/v1/chart", params={"share": token, "spec": chart}).json()
    assert {line["run_id"] for line in found["lines"]} == {"r1"}
    params = {"share": token, "spec": chart, "baseline": "r5"}
    assert client.get("/api/v1/chart", params=params).status_code == 400
    assert client.get("/api/v1/me", params={"share": token}).json() == {
        "writes": False, "bounded": True, "project": "apples",
    }  # fmt: skip


def test_a_link_to_runs_of_a_view(filled, client_of):
    token = tokens.issue(filled, runs={"where": "config.lr < 0.03"}, view="small")
    client = client_of(filled)
    table = client.get("/api/v1/runs", headers={"Authorization": f"Bearer {token}"}).json()
    assert {row["id"] for row in table["rows"]} == {"r2", "r3", "r4", "r5"}


def test_a_link_ends(filled, client_of):
    client = client_of(filled, SECRET, "http://tracking.example")
    token = tokens.issue(filled, project="apples")
    assert status(client, f"/api/v1/runs?share={token}") == 200
    tokens.revoke(filled, token.partition(".")[0])
    assert status(client, f"/api/v1/runs?share={token}") == 401
    with pytest.raises(UserError, match="token"):
        tokens.revoke(filled, token.partition(".")[0])
    old = tokens.issue(filled, project="apples", days=1e-9)
    assert tokens.read(filled, old) is None


def test_edited_claims_and_signatures_open_nothing(filled):
    token = tokens.issue(filled, project="apples")
    identity, _, signature = token.partition(".")
    assert tokens.read(filled, token).project == "apples"
    for bad in (
        f"{identity}.",
        f"{identity}.{signature[::-1]}",
        f"../{identity}.{signature}",
        "",
        ".",
    ):
        assert tokens.read(filled, bad) is None
    path = tokens.folder_of(filled) / "tokens" / f"{identity}.json"
    path.write_text(path.read_text().replace("apples", "pears"))
    assert tokens.read(filled, token) is None
    with pytest.raises(UserError, match="project"):
        tokens.issue(filled)


def test_the_secret_is_the_owners_alone(filled):
    tokens.issue(filled, project="apples")
    folder = tokens.folder_of(filled)
    assert stat.S_IMODE(os.stat(folder / "secret").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert len((folder / "secret").read_bytes()) == 32


def test_writes_need_a_page_of_ours(filled):
    from starlette.requests import Request

    from seamount.tracking.dashboard.access import Access, Refused

    def write(query=b"", **headers):
        sent = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
        scope = {"type": "http", "method": "POST", "path": "/", "query_string": query}
        return Access(filled).visitor(Request(scope | {"headers": sent}))

    assert write(host="127.0.0.1:5000").writes
    assert write(host="127.0.0.1:5000", origin="http://127.0.0.1:5000").writes
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:4999"},
        {"sec_fetch_site": "cross-site"},
    ):
        with pytest.raises(Refused) as refused:
            write(host="127.0.0.1:5000", **headers)
        assert refused.value.status == 403
    share = tokens.issue(filled, project="apples")
    with pytest.raises(Refused, match="read only"):
        write(query=f"share={share}".encode(), host="127.0.0.1:5000")
