"""The page's files, and the headers that keep everything foreign out of them."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from seamount.tracking.dashboard import assets

_NAME = re.compile(r"[a-z0-9_-]+(/[a-z0-9_-]+)*\.(js|css|svg|json|html)")
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript"}
_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.S)


def page(path: Path | None = None) -> Response:
    """The page's shell, or another document of ours; says so where the libraries are absent."""
    sentence = assets.what_is_missing()
    if sentence is not None:
        return Response(sentence + "\n", 503, media_type="text/plain; charset=utf-8")
    text = (path or assets.PAGE / "index.html").read_text()
    return HTMLResponse(text, headers=security_headers(text))


def static_file(request: Request) -> Response:
    """A file below /static/: the page's own, or vendor/NAME of a pinned library."""
    name = request.path_params["name"]
    path = _find(name) if _NAME.fullmatch(name) else None
    if path is None or not path.is_file():
        return Response("no such file\n", 404, media_type="text/plain")
    content = path.read_bytes()
    mark = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"ETag": mark, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    if request.headers.get("if-none-match") == mark:
        return Response(status_code=304, headers=headers)
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    return Response(content, 200, headers, media_type=kind)


def security_headers(text: str = "") -> dict[str, str]:
    """Headers of a document of ours: only our own files load, and no script stands in the text.

    The import map is the one script that must stand there; its hash is let in.
    """
    found = _MAP.search(text)
    script = "'self'"
    if found is not None:
        digest = hashlib.sha256(found[1].encode()).digest()
        script += f" 'sha256-{base64.b64encode(digest).decode()}'"
    policy = (
        f"default-src 'none'; script-src {script}; style-src 'self'; img-src 'self' blob: data:; "
        "media-src 'self' blob:; connect-src 'self'; font-src 'self'; frame-src 'self' blob:; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


def _find(name: str) -> Path | None:
    folder, _, rest = name.partition("/")
    if folder == "vendor":
        return assets.vendor_file(rest)
    if name == "palette.json":  # the pictures' own colours and dashes
        return assets.FOLDER / "plot" / name
    return assets.PAGE / name
