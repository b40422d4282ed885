"""The flow on a temporary Prefect server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from misbehaving_server import Fault, MirrorServer, sha256

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(600)]


def table() -> list[dict]:
    from prefect.client.orchestration import get_client

    async def newest() -> str:
        async with get_client() as client:
            found = await client.read_latest_artifacts()
        return next(str(a.data) for a in found if a.key == "downloaded-files")

    return json.loads(asyncio.run(newest()))


def test_the_released_layout_through_the_flow(
    harness: None, server: MirrorServer, content: bytes, tmp_path: Path
) -> None:
    from flows.download_pile import download_pile
    from seamount.core import lineage

    names = [*(f"train/{n:02d}.jsonl.zst" for n in range(30)), "val.jsonl.zst", "test.jsonl.zst"]
    for name in names:
        server.serve(f"pile/{name}", content)
    server.files["/pile/train/03.jsonl.zst"].faults = [Fault(drop_after=50_000)]
    server.serve("sums", "".join(f"{sha256(content)}  {name}\n" for name in names).encode())
    given = {
        "base_urls": [server.url("pile")],
        "out": str(tmp_path / "out"),
        "options": {"sha256sums": server.url("sums")},
    }
    done = download_pile(**given)
    assert done["facts"] == {
        "files": 32,
        "bytes": 32 * len(content),
        "fetched_bytes": 32 * len(content),
    }
    rows = {row["file"]: row for row in table()}
    assert list(rows) == names and rows["val.jsonl.zst"]["checked by"] == "sha256"
    assert [name for name, row in rows.items() if row["retries"]] == ["train/03.jsonl.zst"]
    assert lineage.read(given["out"]).digest == done["digest"]
    again = download_pile(**given)
    assert again["facts"]["fetched_bytes"] == 0 and again["digest"] == done["digest"]


def test_a_download_without_mirrors_ends_in_the_users_sentence(
    harness: None, tmp_path: Path
) -> None:
    from flows.download_pile import download_pile
    from seamount.core.errors import UserError

    with pytest.raises(UserError, match="give a base URL"):
        download_pile(out=str(tmp_path / "out"))
