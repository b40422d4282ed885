"""What the tests of delivery share: servers as processes, a bad network, readers of the results."""

from __future__ import annotations

import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from seamount.tracking.store.folder import Store, open_store

# What runs now, for the fixture that ends what a test leaves behind (conftest.py).
living: set[Server | BadNetwork] = set()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Server:
    """A server process that can be killed with -9 and started again on its port."""

    def __init__(self, command: list[str], port: int, folder: Path, **variables: str) -> None:
        self._command, self.port, self._log = command, port, folder / "server.log"
        self._folder, self._variables = folder, variables
        self.url = f"http://127.0.0.1:{port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, patience_s: float = 180.0) -> Server:
        living.add(self)
        quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, cwd=self._folder, start_new_session=True,
                env={**os.environ, **quiet, **self._variables},
            )  # fmt: skip
        end = time.monotonic() + patience_s
        while not self._answers():
            assert self.process.poll() is None, self._log.read_text()[-3000:]
            assert time.monotonic() < end, self._log.read_text()[-3000:]
            time.sleep(0.1)
        return self

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=10) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def kill(self) -> None:
        """kill -9 of the server with its workers."""
        living.discard(self)
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def our_server(folder: Path, *options: str, token: str = "") -> Server:
    """`seamount track ui --no-mlflow` on a store in `folder`."""
    folder.mkdir(exist_ok=True)
    port = free_port()
    track = [sys.executable, "-m", "seamount.cli.main", "track", "ui", "--store"]
    command = [*track, str(folder / "store"), "--port", str(port), "--no-mlflow", *options]
    here = str(Path(__file__).resolve().parents[3])
    return Server(command, port, folder, SEAMOUNT_TRACKING_TOKEN=token, PYTHONPATH=here)


def mlflow_server(folder: Path) -> Server:
    """A stock `mlflow server` on SQLite."""
    folder.mkdir(exist_ok=True)
    port = free_port()
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--port", str(port)]
    database = f"sqlite:///{folder / 'mlflow.db'}"
    command += ["--backend-store-uri", database, "--artifacts-destination", str(folder / "files")]
    return Server(command, port, folder)


def store_of(server_folder: Path) -> Store:
    return open_store(server_folder / "store")


class BadNetwork:
    """A TCP proxy before `port` that spoils exchanges by chance, and can hang or refuse all.

    A spoiled one is cut off before the request reaches the server, in its middle, or after the
    server has answered and before the client has heard of it.
    """

    def __init__(self, port: int, spoil: float = 0.0, seed: int = 0, slow_s: float = 0.0) -> None:
        self.to_port, self.spoil, self.slow_s = port, spoil, slow_s
        self.hangs = False
        self.lost: dict[str, int] = {"before": 0, "middle": 0, "answer": 0}
        living.add(self)
        self._chance = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        living.discard(self)
        self._listener.close()

    kill = close

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        while self.hangs:
            time.sleep(0.05)
        how = self._chance.choice(list(self.lost)) if self._chance.random() < self.spoil else ""
        skip = self._chance.randrange(3)  # exchanges on this connection that go well before
        try:
            server = socket.create_connection(("127.0.0.1", self.to_port), timeout=30)
            with client, server:
                self._relay(client, server, how, skip)
        except OSError:
            client.close()

    def _relay(self, client: socket.socket, server: socket.socket, how: str, skip: int) -> None:
        while (request := _message(client)) is not None:
            spoilt, skip = bool(how) and skip == 0, skip - 1
            time.sleep(self.slow_s)
            if spoilt and how == "before":
                return self._cut(how, client)
            if spoilt and how == "middle":
                server.sendall(request[: len(request) // 2])
                return self._cut(how, client)
            server.sendall(request)
            answer = _message(server)
            if spoilt or answer is None:
                return self._cut("answer", client)
            client.sendall(answer)

    def _cut(self, how: str, client: socket.socket) -> None:
        self.lost[how] += 1
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _message(sock: socket.socket) -> bytes | None:
    """One HTTP message, None where the other side has closed."""
    content = b""
    while b"\r\n\r\n" not in content:
        piece = sock.recv(1 << 16)
        if not piece:
            return None
        content += piece
    head, _, body = content.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    sizes = [int(v) for n, _, v in (x.partition(":") for x in lines[1:]) if n == "content-length"]
    chunked = any(line.startswith("transfer-encoding: chunked") for line in lines)
    while len(body) < (sizes or [0])[0] or (chunked and not body.endswith(b"0\r\n\r\n")):
        piece = sock.recv(1 << 16)
        if not piece:
            break
        body += piece
    return head + b"\r\n\r\n" + body


def same_segments(ours: Store, theirs: Store, run_id: str) -> None:
    """The server has the segments of a run byte for byte."""
    mine = {p.name: p.read_bytes() for p in ours.run_folder(run_id).glob("*.seg")}
    there: dict[str, Any] = {
        p.name: p.read_bytes() for p in theirs.run_folder(run_id).glob("*.seg")
    }
    assert sorted(there) == sorted(mine)
    assert {n: len(c) for n, c in there.items()} == {n: len(c) for n, c in mine.items()}
    assert there == mine
