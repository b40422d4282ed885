"""`corpus download` as a command, and a build that reads over http."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from misbehaving_server import Fault, MirrorServer, sha256

from seamount.cli.corpus_download import app
from seamount.core.errors import SeamountError, UserError


def run(*arguments: str) -> Any:
    return app(list(arguments), prog_name="download", standalone_mode=False)


def test_a_list_of_mirrors_from_the_server_itself(
    server: MirrorServer, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [{"path": f"train/{n}.jsonl.zst", "size": len(content)} for n in range(3)]
    listed = {"base_urls": [server.url("pile")], "files": files}
    server.serve("list.json", json.dumps(listed).encode())
    server.serve("SHA256SUMS", "".join(f"{sha256(content)}  {f['path']}\n" for f in files).encode())
    for file in files:
        server.serve(f"pile/{file['path']}", content, Fault(drop_after=99_000))
    out, report = str(tmp_path / "out"), tmp_path / "report.json"
    arguments = [server.url("list.json"), "--out", out, "--jobs", "2"]
    arguments += ["--sha256sums", server.url("SHA256SUMS")]

    run(*arguments, "--dry-run", "--json", str(report))
    planned = json.loads(report.read_text())
    assert planned["missing_bytes"] == 3 * len(content) and not Path(out).exists()
    assert planned["files"][0]["urls"] == [server.url("pile/train/0.jsonl.zst")]
    run(*arguments, "--dry-run")
    assert "3 files, 879.0 KiB to fetch" in capsys.readouterr().out

    run(*arguments, "--json", str(report))
    done = json.loads(report.read_text())
    assert done["retries"] == 3 and done["fetched_bytes"] == 3 * len(content)
    assert {f["checked"] for f in done["files"]} == {"sha256"}
    run(*arguments)
    told = capsys.readouterr().out
    assert told.count("stood already, checked by sha256") == 3 and "0 B fetched" in told


def test_what_a_command_gets_wrong(server: MirrorServer, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    with pytest.raises(UserError, match="no file to download"):
        run("--out", out)
    with pytest.raises(UserError, match="remote"):
        run(server.url("f"), "--out", "s3://bucket/x")
    with pytest.raises(SeamountError, match="answers 404"):
        run(server.url("f"), "--out", out)
    with pytest.raises(UserError, match=r"list\.yaml"):
        run(server.url("list.yaml"), "--out", out)
