"""A real disk that is really full."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_build_corpus import digests, make_source

from seamount.core.errors import DiskFull
from seamount.corpora.text.build import CorpusRequest, build_corpus


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=120k", "tmpfs", disk]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("only root may mount the small disk that this test fills")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_full_disk_is_one_sentence_and_leaves_nothing_half_written(
    workers: int, small_disk: Path, tmp_path: Path
) -> None:
    source = make_source(tmp_path / "in")
    out = small_disk / "corpus"
    request = CorpusRequest((str(source),), str(out), workers=workers, shard_bytes=20_000)
    with pytest.raises(DiskFull, match=r"no space left .* while writing .*same command"):
        build_corpus(request)
    names = [p.name for p in out.rglob("*")]
    assert not [n for n in names if n.endswith(".zst") or n == "manifest.json" or "partial" in n]

    subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
    finished = build_corpus(request)
    assert finished.stages["clean"]["reused"] >= 1  # what fitted was not done again
    elsewhere = tmp_path / "elsewhere"
    build_corpus(CorpusRequest((str(source),), str(elsewhere), shard_bytes=20_000))
    assert digests(out) == digests(elsewhere)
