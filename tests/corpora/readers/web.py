"""Web pages and WARC files written by hand, after ISO 28500."""

from __future__ import annotations

SENTENCE = "The sea is deep, and the mountains below it are many; nobody had counted them before."
PAGE = f"""<!DOCTYPE html>
<html><head><title>Seamounts</title><style>p {{ color: blue }}</style></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li></ul></nav>
<main><h1>Of mountains below the sea</h1><p>{SENTENCE}</p><p>Second. {SENTENCE}</p></main>
<script>var tracking = "never seen";</script>
<footer>Copyright and imprint</footer></body></html>
""".encode()


def answer(body: bytes, status: int = 200, **headers: str) -> bytes:
    """An HTTP answer; `Content_Type` and the like become headers."""
    named = {"Content-Type": "text/html; charset=utf-8"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status} Told\r\n{lines}\r\n".encode() + body


def record(kind: str, block: bytes, url: str = "http://sea.example/a", **headers: str) -> bytes:
    """One record with its two line ends."""
    types = {"response": "application/http; msgtype=response", "resource": "text/html"}
    named = {
        "WARC-Type": kind,
        "WARC-Target-URI": url,
        "WARC-Date": "2020-01-02T03:04:05Z",
        "WARC-Record-ID": f"<urn:uuid:{len(block):032x}>",
        "Content-Type": types.get(kind, "application/warc-fields"),
        "Content-Length": str(len(block)),
    }
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"WARC/1.0\r\n{lines}\r\n".encode() + block + b"\r\n\r\n"


def warc(*records: tuple[str, bytes]) -> bytes:
    """Records of (kind, block), one behind the other."""
    return b"".join(record(kind, block) for kind, block in records)
