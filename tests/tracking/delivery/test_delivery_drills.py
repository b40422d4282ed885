"""kill -9 of servers and of clients in mid-delivery, and two hosts that share only a wire."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from servers import BadNetwork, mlflow_server, our_server, same_segments, store_of
from test_mlflow_rest import same_points
from watched import until

from seamount.tracking import Run
from seamount.tracking.delivery.sync import sync
from seamount.tracking.store.folder import open_store
from seamount.tracking.store.verify import verify

pytestmark = [pytest.mark.slow, pytest.mark.server, pytest.mark.filterwarnings("ignore")]

SYNC = """
import sys
from seamount.tracking.delivery import mlflow_events, seamount_http
from seamount.tracking.segments.pieces import read_piece
read_piece.__defaults__ = (20_000,)
seamount_http.CHUNK_BYTES, mlflow_events.PIECE_BYTES = 50_000, 20_000
from seamount.cli.main import main
main()
"""


def log_runs(store, count, steps, chance):
    for number in range(count):
        with Run(store=store.uri, run_id=f"many{number}", project="kill") as run:
            run.log_configs({"number": number})
            for step in range(steps):
                run.log_metrics({"loss": step / 7, "acc": step}, step=step)
            run.assign_files({"weights": chance.randbytes(500_000)})


def received(folder):
    files = [p for p in folder.rglob("*") if p.is_file() and p.suffix in (".seg", ".db")]
    return sum(p.stat().st_size for p in files)


@pytest.mark.parametrize("seed", range(3))
def test_our_server_and_its_client_killed_at_random(store, spawn, tmp_path, seed):
    chance = random.Random(seed)
    there = our_server(tmp_path / "ours").start()
    log_runs(store, 6, 20_000, chance)
    slow = BadNetwork(there.port, spoil=0.2, seed=seed, slow_s=0.01)
    in_the_middle = 0
    for _ in range(8):
        client = spawn(SYNC, "track", "sync", "--store", store.uri, "--to", slow.url)
        before = received(tmp_path / "ours")
        time.sleep(chance.uniform(0.4, 1.5))
        if chance.random() < 0.5:
            there.kill()
            there.start()
        in_the_middle += client.poll() is None and received(tmp_path / "ours") > before
        client.send_signal(signal.SIGKILL)
        client.wait()
    assert in_the_middle > 2
    result = sync(store, [], slow.url)
    assert {row["outcome"] for row in result["runs"]} <= {"delivered", "nothing new"}
    for number in range(6):
        same_segments(store, store_of(tmp_path / "ours"), f"many{number}")
        found = verify(store_of(tmp_path / "ours"), f"many{number}")
        assert (found["ok"], found["points"], found["files"]) == (True, 40_000, 1)


def test_a_stock_server_and_its_client_killed_in_the_middle(store, spawn, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient

    chance = random.Random(5)
    there = mlflow_server(tmp_path / "stock").start()
    log_runs(store, 3, 1500, chance)
    slow = BadNetwork(there.port, spoil=0.2, seed=5)
    for _ in range(2):
        command = ["track", "sync", "--store", store.uri, "--to", slow.url, "--patience", "90"]
        client = spawn(SYNC, *command)
        size = received(tmp_path / "stock")
        until(lambda size=size: received(tmp_path / "stock") > size + 50_000, 60)
        there.kill()
        there.start()  # the client waits for it and goes on
        size = received(tmp_path / "stock")
        until(lambda size=size, c=client: received(tmp_path / "stock") > size or c.poll() == 0, 90)
        client.send_signal(signal.SIGKILL)
        client.wait()
    result = sync(store, [], slow.url)
    assert {row["outcome"] for row in result["runs"]} <= {"delivered", "nothing new"}
    reader = MlflowClient(tracking_uri=there.url)
    for number in range(3):
        run = same_points(reader, store, "kill", f"many{number}")
        assert run.data.params == {"number": str(number)}
        assert [f.file_size for f in reader.list_artifacts(run.info.run_id)] == [500_000]


RANK = """
import os, sys
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id="two", project="hosts", rank=int(sys.argv[2]),
          deliver_to=sys.argv[3])
for step in range(2000):
    run.log_metrics({"loss": step / 7 + int(sys.argv[2])}, step=step)
run.assign_files({f"out{sys.argv[2]}": os.urandom(100_000), "same": b"s" * 50_000})
run.close()
sys.exit(0 if run.wait_delivered(60) else 1)
"""


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


def take_down(name):
    ip("netns", "del", name, check=False)
    ip("link", "del", f"{name}0", check=False)


@pytest.fixture
def wire():
    """Two network namespaces, each with an address that the server's has not: [(name, server)]."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces need root and the ip command")
    for left in re.findall(r"^smt(\d+)([ab])\b", ip("netns", "list").stdout, re.MULTILINE):
        if not os.path.exists(f"/proc/{left[0]}"):  # its test was killed
            take_down("smt" + "".join(left))
    names = [f"smt{os.getpid()}{side}" for side in "ab"]
    taken = ip("-4", "addr").stdout
    free = [f"10.213.{n}" for n in range(250) if f"10.213.{n}." not in taken]
    try:
        found = []
        for name, net in zip(names, random.sample(free, 2), strict=True):
            if ip("netns", "add", name, check=False).returncode:
                pytest.skip("this machine makes no network namespaces")
            ip("link", "add", f"{name}0", "type", "veth", "peer", "name", f"{name}1")
            ip("link", "set", f"{name}1", "netns", name)
            ip("addr", "add", f"{net}.1/24", "dev", f"{name}0")
            ip("link", "set", f"{name}0", "up")
            ip("-n", name, "addr", "add", f"{net}.2/24", "dev", f"{name}1")
            ip("-n", name, "link", "set", f"{name}1", "up")
            ip("-n", name, "link", "set", "lo", "up")
            found.append((name, f"{net}.1"))
        yield found
    finally:
        for name in names:
            take_down(name)


def test_two_hosts_without_a_shared_file_system_log_one_run(wire, tmp_path, root):
    there = our_server(tmp_path / "ours", "--host", "0.0.0.0", token="between-hosts").start()
    variables = {
        **os.environ,
        "SEAMOUNT_TRACKING_WATCHER": "on",
        "SEAMOUNT_TRACKING_TOKEN": "between-hosts",
        "WORLD_SIZE": "2",
    }
    hosts = []
    for rank, (name, server) in enumerate(wire):
        # A host name of its own too, as another machine has.
        inside = ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c"]
        script = f'hostname {name}; exec "$0" "$@"'
        where = [str(tmp_path / name), str(rank), f"http://{server}:{there.port}"]
        command = [*inside, script, sys.executable, "-c", RANK, *where]
        hosts.append(subprocess.Popen(command, cwd=root, env=variables))
    assert [host.wait(timeout=120) for host in hosts] == [0, 0]
    theirs = store_of(tmp_path / "ours")
    until(lambda: verify(theirs, "two")["state"] == "Completed")
    found = verify(theirs, "two")
    assert found["ok"]
    assert {s["host"] for s in found["strands"]} == {name for name, _ in wire}
    with theirs.index() as index:
        for rank, (name, _) in enumerate(wire):
            points = index.history("two", "loss", rank)
            assert [p.value for p in points] == [step / 7 + rank for step in range(2000)]
            # The watcher writes after the run's end, and sends that too.
            mine = {p.name for p in open_store(tmp_path / name).run_folder("two").glob("*.seg")}
            until(lambda m=mine: m <= {p.name for p in theirs.run_folder("two").glob("*.seg")})
        assert sorted(index.files("two"))[:2] == ["out0", "out1"]
