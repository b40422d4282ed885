"""OpenStack Swift from Debian's python3-swift: a store of one disk on loopback that speaks S3.

Four server processes (proxy, account, container, object) as Swift's own `swift-*-server` commands
start them, with one replica, in a folder that has extended attributes. Debian's packages
swift-proxy and its kind hold only those commands and the services of a host; they are not needed.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

# The interpreter that has Swift; another one where its packages are only unpacked somewhere.
PYTHON = os.environ.get("SEAMOUNT_TEST_SWIFT_PYTHON", "/usr/bin/python3")
ACCESS_KEY, SECRET_KEY = "test:tester", "testing"
_KINDS = ("object", "container", "account", "proxy")
_START_S = 120

_RUN = """
import sys
from swift.common import utils
utils.set_swift_dir(sys.argv[2])
from swift.common.wsgi import run_wsgi
kind, callback = sys.argv[1], {}
if kind == "object":
    from swift.obj.server import global_conf_callback
    callback = {"global_conf_callback": global_conf_callback}
sys.exit(run_wsgi(f"{sys.argv[2]}/{kind}.conf", f"{kind}-server", verbose=True, **callback))
"""

_RINGS = """
import sys
from swift.common.ring import RingBuilder
folder = sys.argv[1]
for kind, port in zip(("object", "container", "account"), sys.argv[2:]):
    builder = RingBuilder(4, 1, 0)
    builder.add_dev({"region": 1, "zone": 1, "weight": 1.0, "device": "disk",
        "ip": "127.0.0.1", "port": int(port),
        "replication_ip": "127.0.0.1", "replication_port": int(port)})
    builder.rebalance()
    builder.get_ring().save(f"{folder}/{kind}.ring.gz")
"""

# A listing follows a write at once: the object server waits for the container's answer, and
# no memcached keeps what was.
_SERVER = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {folder}
devices = {folder}
mount_check = false
fallocate_reserve = 0
container_update_timeout = 60
node_timeout = 60
conn_timeout = 10

[pipeline:main]
pipeline = {filters}{kind}-server

[app:{kind}-server]
use = egg:swift#{kind}
account_autocreate = true
node_timeout = 60
conn_timeout = 10

[filter:healthcheck]
use = egg:swift#healthcheck
"""

# tempauth asks for memcached, and takes one that does not answer for an empty one. Without
# proxy-logging, the answer to HEAD has no length and a body, which breaks the connection.
_S3 = f"""
[filter:proxy-logging]
use = egg:swift#proxy_logging

[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1

[filter:s3api]
use = egg:swift#s3api
location = us-east-1

[filter:tempauth]
use = egg:swift#tempauth
user_{ACCESS_KEY.replace(":", "_")} = {SECRET_KEY} .admin

[filter:bulk]
use = egg:swift#bulk

[filter:slo]
use = egg:swift#slo
"""


def why_not(folder: Path) -> str:
    """Why Swift cannot run with its files in `folder`; empty where it can."""
    asked = subprocess.run(
        [PYTHON, "-c", "import swift.obj.server, swift.proxy.server"],
        env=_environment(),
        capture_output=True,
        text=True,
    )
    if asked.returncode:
        last = (asked.stderr.strip().splitlines() or ["no word"])[-1]
        return f"needs Debian's package python3-swift ({last})"
    try:
        os.setxattr(folder, "user.swift", b"1")
    except OSError as error:
        return f"{folder} has no extended attributes ({error.strerror})"
    return ""


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The S3 address of a store that keeps all its files in `folder`, until the block ends."""
    ports = dict(zip(_KINDS, _free_ports(len(_KINDS)), strict=True))
    _write_settings(folder, ports)
    storage_ports = [str(ports[kind]) for kind in _KINDS[:3]]
    subprocess.run(
        [PYTHON, "-c", _RINGS, str(folder), *storage_ports], env=_environment(), check=True
    )
    servers: list[subprocess.Popen[bytes]] = []
    try:
        for kind in _KINDS:
            servers.append(_start(kind, folder))
        for kind, server in zip(_KINDS, servers, strict=True):
            _await(kind, server, ports[kind], folder)
        yield f"http://127.0.0.1:{ports['proxy']}"
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            _end(server)


def _environment() -> dict[str, str]:
    """Debian's interpreter sees none of this project's environment."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def _write_settings(folder: Path, ports: dict[str, int]) -> None:
    import getpass

    (folder / "disk").mkdir()
    (folder / "swift.conf").write_text("[swift-hash]\nswift_hash_path_suffix = tests\n")
    for kind, port in ports.items():
        s3 = kind == "proxy"
        filters = "healthcheck " + ("proxy-logging cache bulk s3api tempauth slo " if s3 else "")
        text = _SERVER.format(
            port=port, user=getpass.getuser(), folder=folder, filters=filters, kind=kind
        )
        (folder / f"{kind}.conf").write_text(text + (_S3 if s3 else ""))


def _start(kind: str, folder: Path) -> subprocess.Popen[bytes]:
    with (folder / f"{kind}.log").open("wb") as log:
        command = [PYTHON, "-c", _RUN, kind, str(folder)]
        return subprocess.Popen(command, env=_environment(), stdout=log, stderr=log)


def _await(kind: str, server: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    direct = build_opener(ProxyHandler({}))
    until = time.monotonic() + _START_S
    while True:
        try:
            with direct.open(f"http://127.0.0.1:{port}/healthcheck", timeout=5) as answer:
                assert answer.read() == b"OK"
                return
        except (URLError, OSError) as error:
            if server.poll() is not None or time.monotonic() > until:
                said = (folder / f"{kind}.log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"Swift's {kind} server does not start: {said}") from error
            time.sleep(0.1)


def _end(server: subprocess.Popen[bytes]) -> None:
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
