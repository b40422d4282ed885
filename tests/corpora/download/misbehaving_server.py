"""A real HTTP server on the loopback that keeps a log and, by script, misbehaves."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Fault:
    """How one answer is wrong; what is not named is right."""

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    drop_after: int | None = None  # bytes of the body sent before the connection is cut
    claims: int | None = None  # Content-Length, whatever is sent
    ignore_range: bool = False
    ignore_if_range: bool = False
    range_from: int | None = None  # first byte that Content-Range states
    total: int | None = None  # whole size that Content-Range states
    pause_s: float = 0.0  # before each piece
    piece_bytes: int = 1 << 16
    hold: threading.Event | None = None  # waits for it before the rest is sent
    hold_after: int = 0


@dataclass
class Served:
    """A file of the server; `faults` are used up one an answer, the last stays if `always`."""

    content: bytes
    etag: str | None = '"one"'
    last_modified: str | None = None
    faults: list[Fault] = field(default_factory=list)
    always: bool = False
    chunked: bool = False
    head_status: int = 200

    def next_fault(self) -> Fault:
        if not self.faults:
            return Fault()
        return self.faults[0] if self.always and len(self.faults) == 1 else self.faults.pop(0)


@dataclass
class Request:
    """A GET as it was answered."""

    path: str
    start: int
    if_range: str | None
    status: int = 0
    sent: int = 0
    at_s: float = 0.0


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """A client that was killed is no news."""


class MirrorServer:
    """`serve(path, content)` and `url(path)`; `gets` is the log."""

    def __init__(self) -> None:
        self.files: dict[str, Served] = {}
        self.gets: list[Request] = []
        self.lock = threading.Lock()
        server = self

        class Handler(_Handler):
            mirror = server

        self.http = _Quiet(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"

    def serve(self, path: str, content: bytes, *faults: Fault, **options: Any) -> Served:
        self.files[f"/{path}"] = Served(content, faults=list(faults), **options)
        return self.files[f"/{path}"]

    def url(self, path: str) -> str:
        return f"{self.address}/{path}"

    def gets_of(self, path: str) -> list[Request]:
        return [r for r in self.gets if r.path == f"/{path}"]

    def sent(self, path: str) -> int:
        return sum(r.sent for r in self.gets_of(path))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mirror: MirrorServer

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        served = self.mirror.files.get(self.path.partition("?")[0])
        if served is None or served.head_status != 200:
            self.send_response(served.head_status if served else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        if not served.chunked:
            self.send_header("Content-Length", str(len(served.content)))
        self.end_headers()

    def do_GET(self) -> None:
        served = self.mirror.files.get(self.path.partition("?")[0])
        asked = self.headers.get("Range", "bytes=0-").removeprefix("bytes=")
        start = int(asked.partition("-")[0])
        if_range = self.headers.get("If-Range")
        request = Request(self.path.partition("?")[0], start, if_range, at_s=time.monotonic())
        with self.mirror.lock:
            self.mirror.gets.append(request)
            fault = served.next_fault() if served else Fault(status=404, body=b"not here")
        served = served or Served(b"")
        try:
            self._answer(request, served, fault)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _answer(self, request: Request, served: Served, fault: Fault) -> None:
        start = 0 if fault.ignore_range else request.start
        state = (served.etag, served.last_modified)
        condition = None if fault.ignore_if_range else request.if_range
        if start and condition is not None and condition not in state:
            start = 0
        body = served.content[start:] if fault.body is None else fault.body
        status = fault.status or (206 if start else 200)
        if start and start >= len(served.content) and fault.status is None:
            status, body = 416, b""
        request.status = status
        self.send_response(status)
        self._send_headers(served, fault, status, start, body)
        self._send_body(request, served, fault, body)

    def _send_headers(
        self, served: Served, fault: Fault, status: int, start: int, body: bytes
    ) -> None:
        if served.etag and "ETag" not in fault.headers:
            self.send_header("ETag", served.etag)
        if served.last_modified:
            self.send_header("Last-Modified", served.last_modified)
        for name, value in fault.headers.items():
            self.send_header(name, value)
        total = len(served.content) if fault.total is None else fault.total
        if status == 206:
            first = start if fault.range_from is None else fault.range_from
            self.send_header("Content-Range", f"bytes {first}-{total - 1}/{total}")
        if status == 416:
            self.send_header("Content-Range", f"bytes */{total}")
        if served.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            length = len(body) if fault.claims is None else fault.claims
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _send_body(self, request: Request, served: Served, fault: Fault, body: bytes) -> None:
        whole = body if fault.drop_after is None else body[: fault.drop_after]
        for at in range(0, len(whole), fault.piece_bytes):
            if fault.hold is not None and request.sent >= fault.hold_after:
                self.wfile.flush()
                fault.hold.wait(20)
            time.sleep(fault.pause_s)
            piece = whole[at : at + fault.piece_bytes]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if served.chunked else piece)
            request.sent += len(piece)
        if served.chunked and fault.drop_after is None:
            self.wfile.write(b"0\r\n\r\n")
        if fault.drop_after is not None or fault.claims is not None:
            self.wfile.flush()
            self.close_connection = True


@contextmanager
def running() -> Iterator[MirrorServer]:
    """A server in a thread of its own."""
    server = MirrorServer()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
