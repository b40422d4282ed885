"""Delivery to a server of ours: byte for byte, once, whatever is lost, cut off or killed."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest
from servers import BadNetwork, our_server, same_segments, store_of

from seamount.core.errors import UserError
from seamount.tracking import Run
from seamount.tracking.delivery import connection
from seamount.tracking.delivery.sync import sync
from seamount.tracking.store.verify import verify


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """(server, its store): without MLflow, so it is there at once."""
    folder = tmp_path_factory.mktemp("ours")
    started = our_server(folder).start()
    yield started, store_of(folder)
    started.kill()


def log_something(store, run_id, steps=300, **options):
    with Run(store=store.uri, run_id=run_id, project="sent", **options) as run:
        run.log_configs({"lr": 0.1})
        for step in range(steps):
            run.log_metrics({"loss": step / 7, "acc": -step}, step=step)
        run.log_metrics({"bad": float("nan")}, step=0.5)
        run.log_string_series({"says": "hello"}, step=1)
        run.assign_files({"a/report.txt": b"hello", "empty": b""})
        run.log_files({"weights": b"\0" * 70_000}, step=3)
    return run


def test_a_run_arrives_byte_for_byte_and_a_second_sync_sends_nothing(server, store):
    there, theirs = server
    log_something(store, "first")
    result = sync(store, [], there.url)
    (row,) = result["runs"]
    assert (result["kind"], row["outcome"], row["left"]["points"]) == ("seamount", "delivered", 0)
    assert (row["sent"]["points"], row["sent"]["files"]) == (601, 3)
    same_segments(store, theirs, "first")
    here, found = verify(store, "first"), verify(theirs, "first")
    assert found == here
    assert (found["ok"], found["files"], found["points"]) == (True, 3, 601)
    assert (theirs.artifact_folder("first") / "a/report.txt").read_bytes() == b"hello"
    assert (theirs.artifact_folder("first") / "weights/3").stat().st_size == 70_000
    (row,) = sync(store, [], there.url)["runs"]
    assert (row["outcome"], row["sent"]) == ("nothing new", {})
    (row,) = sync(store, [], there.url, again=True)["runs"]  # the server knows what it has
    assert {"points": row["sent"].get("points", 0), "files": row["sent"].get("files", 0)} == {
        "points": 0,
        "files": 0,
    }


def test_a_run_that_goes_on_is_sent_on(server, store, history):
    there, theirs = server
    log_something(store, "longer", steps=10)
    sync(store, ["longer"], there.url)
    log_something(store, "longer", steps=20)
    (row,) = sync(store, ["longer"], there.url)["runs"]
    assert row["sent"]["points"] == 41
    same_segments(store, theirs, "longer")
    assert history(theirs, "longer", "loss") == history(store, "longer", "loss")


def test_while_it_is_written_it_is_running_there(server, store):
    there, theirs = server
    run = Run(store=store.uri, run_id="living", project="sent")
    run.log_metrics({"x": 1}, step=0)
    sync(store, ["living"], there.url)
    assert verify(theirs, "living")["state"] == "Running"  # though its writer is not there
    run.log_metrics({"x": 2}, step=1)
    sync(store, ["living"], there.url)
    assert verify(theirs, "living")["points"] == 2
    run.close()
    sync(store, ["living"], there.url)
    assert verify(theirs, "living")["state"] == "Completed"
    same_segments(store, theirs, "living")


def test_lost_answers_and_cut_requests_double_nothing(server, store, monkeypatch):
    there, theirs = server
    monkeypatch.setattr("seamount.tracking.delivery.seamount_http.CHUNK_BYTES", 5000)
    monkeypatch.setattr("seamount.tracking.delivery.backoff.FIRST_S", 0.001)
    monkeypatch.setattr("seamount.tracking.segments.pieces.read_piece.__defaults__", (5000,))
    bad = BadNetwork(there.port, spoil=0.7, seed=1)
    for number in range(3):
        log_something(store, f"bad{number}")
    rows = sync(store, [f"bad{n}" for n in range(3)], bad.url)["runs"]
    assert [row["outcome"] for row in rows] == ["delivered"] * 3
    assert all(bad.lost.values()), bad.lost  # each kind of loss has happened
    for number in range(3):
        same_segments(store, theirs, f"bad{number}")
        assert verify(theirs, f"bad{number}")["ok"]
    bad.close()


def test_a_dead_server_leaves_all_and_a_later_sync_sends_it(store, tmp_path):
    run = log_something(store, "offline")
    down = our_server(tmp_path / "later")
    (row,) = sync(store, [], down.url, patience_s=0)["runs"]
    assert row["outcome"] == "left"
    assert "cannot be reached" in row["problem"]
    assert (row["left"]["points"], row["left"]["files"]) == (601, 3)
    down.start()
    try:
        (row,) = sync(store, [], down.url)["runs"]
        assert row["outcome"] == "delivered"
        same_segments(store, store_of(tmp_path / "later"), run.run_id)
    finally:
        down.kill()


def test_a_token_is_demanded_and_kept_nowhere(store, tmp_path, monkeypatch):
    secret = "s3cret-and-long"
    there = our_server(tmp_path / "guarded", token=secret).start()
    try:
        log_something(store, "guarded")
        (row,) = sync(store, [], there.url)["runs"]
        assert "SEAMOUNT_TRACKING_TOKEN" in row["problem"]
        monkeypatch.setenv("SEAMOUNT_TRACKING_TOKEN", "another")
        assert sync(store, [], there.url)["runs"][0]["outcome"] == "left"
        monkeypatch.setenv("SEAMOUNT_TRACKING_TOKEN", secret)
        assert sync(store, [], there.url)["runs"][0]["outcome"] == "delivered"
        same_segments(store, store_of(tmp_path / "guarded"), "guarded")
    finally:
        there.kill()
    everything = [*store.folder.rglob("*"), *(tmp_path / "guarded").rglob("*")]
    assert not [p for p in everything if p.is_file() and secret.encode() in p.read_bytes()]


def ask(server, method, path, body=None, **headers):
    request = urllib.request.Request(server.url + path, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        content = error.read()
        return error.code, json.loads(content) if content.startswith(b"{") else content


def signed(body):
    import hashlib

    return {"X-Content-SHA256": hashlib.sha256(body).hexdigest()}


RUNS, BLOBS = "/api/seamount/v1/runs/", "/api/seamount/v1/blobs/"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (RUNS + "..%2f..%2fetc", 404),
        (RUNS + ".hidden", 400),
        (RUNS + "first/segments/..%2f..%2fformat.json?offset=0", 404),
        (RUNS + "first/segments/run.json?offset=0", 400),
        (RUNS + "first/segments/r000000.a0000.h.1.1-1.0000.seg?offset=-1", 400),
        (RUNS + "never-made/segments/r000000.a0000.h.1.1-1.0000.seg?offset=0", 400),
        (BLOBS + "..%2f..%2findex.db?offset=0&total=1", 404),
        (BLOBS + "0" * 63 + "?offset=0&total=1", 400),
        (BLOBS + "0" * 64 + "?offset=0&total=1", 422),  # content of another digest
        (BLOBS + "0" * 64 + "?offset=7&total=9", 409),
    ],
)
def test_hostile_names_and_places_are_refused(server, path, status):
    there, theirs = server
    before = sorted(p for p in theirs.folder.rglob("*") if "blobs" not in p.parts)
    methods = ["POST"] if "?" in path else ["GET", "PUT"]
    for method in methods:
        body = None if method == "GET" else b"x"
        assert ask(there, method, path, body, **signed(body or b""))[0] == status
    assert sorted(p for p in theirs.folder.rglob("*") if "blobs" not in p.parts) == before


def test_only_whole_frames_of_the_right_file_are_taken(server, store):
    there, theirs = server
    run = log_something(store, "frames", steps=5)
    (path,) = store.run_folder("frames").glob("r*.seg")
    content = path.read_bytes()
    identity = (store.run_folder("frames") / "run.json").read_bytes()
    assert ask(there, "PUT", RUNS + "frames", identity, **signed(identity))[0] == 200
    where = f"{RUNS}frames/segments/{path.name}?lives=0&offset="
    wrong = [
        content[:-3],  # half a record at the end
        content[:40] + b"\xff" + content[41:],  # damaged header
        b"SMTSEG01",
        b"no segment at all",
        content.replace(b'"frames"', b'"frame2"'),  # another run's
    ]
    for body in wrong:
        assert ask(there, "POST", where + "0", body, **signed(body))[0] == 422
    assert ask(there, "POST", where + "0", content, **signed(b"another"))[0] == 503
    assert ask(there, "POST", where + "8", content[8:], **signed(content[8:]))[0] == 409
    assert not list(theirs.run_folder("frames").glob("*.seg"))
    assert ask(there, "POST", where + "0", content, **signed(content))[0] == 200
    status, told = ask(there, "POST", where + "0", content, **signed(content))  # a second time
    assert (status, told["size"]) == (409, len(content))
    same_segments(store, theirs, run.run_id)


def test_a_web_page_cannot_write(server):
    there, _ = server
    origin = {"Origin": "http://evil.example"}
    assert ask(there, "GET", "/api/seamount/v1/server", **origin)[0] == 403
    assert ask(there, "GET", "/api/seamount/v1/server", Host="evil.example")[0] == 403
    assert ask(there, "GET", "/api/seamount/v1/server")[0] == 200


def test_another_project_of_that_name_is_told(server, store):
    there, _ = server
    log_something(store, "mine", steps=1)
    sync(store, ["mine"], there.url)
    from seamount.tracking.store.folder import open_store

    other = open_store(store.folder.parent / "other")
    Run(store=other.uri, run_id="mine", project="else").close()
    (row,) = sync(other, ["mine"], there.url)["runs"]
    assert row["outcome"] == "left"
    assert "exists in project" in row["problem"]


@pytest.mark.parametrize(
    "url", ["ftp://x", "x:5000", "http://", "http://a b", "http://h:99999", "http://u:pw@h", ""]
)
def test_addresses_that_cannot_be(store, url):
    with pytest.raises(UserError) as caught:
        sync(store, [], url)
    assert "pw" not in str(caught.value).replace("password", "").replace("PASSWORD", "")


def test_connection_is_kept(server, store, monkeypatch):
    there, _ = server
    opened = []
    real = connection.Connection._connect
    monkeypatch.setattr(
        connection.Connection, "_connect", lambda self: opened.append(1) or real(self)
    )
    for number in range(5):
        log_something(store, f"kept{number}", steps=2)
    sync(store, [], there.url)
    assert len(opened) == 1


def test_what_a_killed_server_wrote_in_part_is_cut_off_and_sent_again(store, tmp_path):
    there = our_server(tmp_path / "torn").start()
    theirs = store_of(tmp_path / "torn")
    run = Run(store=store.uri, run_id="torn", project="sent")
    run.log_metrics({"x": 1}, step=0)
    sync(store, [], there.url)
    there.kill()
    (path,) = theirs.run_folder("torn").glob("*.seg")
    run.log_metrics({"x": 2}, step=1)
    (mine,) = store.run_folder("torn").glob("*.seg")
    path.write_bytes(mine.read_bytes()[:-10])  # the kernel took the half of a write
    assert not verify(theirs, "torn")["problems"]  # and a reader has looked
    there.start()
    run.close()
    sync(store, [], there.url)
    there.kill()
    same_segments(store, theirs, "torn")
    found = verify(theirs, "torn")
    assert (found["points"], found["state"], found["ok"]) == (2, "Completed", True)


def test_a_file_of_any_size_is_resumed_where_it_was_cut(store, server, monkeypatch):
    there, theirs = server
    monkeypatch.setattr("seamount.tracking.delivery.seamount_http.CHUNK_BYTES", 1000)
    real, asked = connection.Connection.request, []

    def request(self, method, path, body=None, **options):
        if "/blobs/" in path and method == "POST":
            asked.append(options["query"]["offset"])
            if len(asked) == 4:
                raise connection.Unreachable("cut")
        return real(self, method, path, body, **options)

    monkeypatch.setattr(connection.Connection, "request", request)
    monkeypatch.setattr("seamount.tracking.delivery.backoff.FIRST_S", 0.001)
    with Run(store=store.uri, run_id="resumed", project="sent") as run:
        run.assign_files({"big": bytes(range(256)) * 30})
    sync(store, [], there.url)
    assert asked == [0, 1000, 2000, 3000, 3000, 4000, 5000, 6000, 7000]
    assert verify(theirs, "resumed")["ok"]


def test_a_fork_and_previews_arrive_as_they_are(server, store, history):
    there, theirs = server
    log_something(store, "parent", steps=10)
    with Run(store=store.uri, run_id="child", fork_run_id="parent", fork_step=4) as run:
        run.log_metrics({"loss": 9.0}, step=5)
        run.log_metrics({"loss": 1.0}, step=6, preview=True, preview_completion=0.5)
    rows = sync(store, [], there.url)["runs"]
    assert [row["outcome"] for row in rows] == ["delivered"] * 2
    same_segments(store, theirs, "child")
    assert [p.value for p in history(theirs, "child", "loss")] == [*(n / 7 for n in range(5)), 9.0]
    with theirs.index() as index:
        assert index.configs("child")[-1]["values"] == {"lr": 0.1}
