"""Checkpoints on disk: whole or absent, and what happens to damaged ones."""

from __future__ import annotations

import errno
import logging
import os

import pytest
import torch

from seamount.core.errors import CorruptData, DiskFull
from seamount.training import checkpoint


def put(root, step: int, keep: int = 3):
    state = {"model.w": torch.full((4, 3), float(step)), "rng.0.torch": torch.get_rng_state()}
    return checkpoint.save(root, step, state, {"identity": {"seed": 0}}, keep)


def value(found) -> float:
    state = {"model.w": torch.zeros(4, 3)}
    checkpoint.load(found, state)
    return float(state["model.w"][0, 0])


def test_round_trip_and_retention(tmp_path):
    for step in (1, 2, 3):
        put(tmp_path, step, keep=2)
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["LATEST", "step_00000002", "step_00000003"]
    found = checkpoint.find_latest(tmp_path)
    assert found.step == 3 and value(found) == 3.0
    assert checkpoint.saved_keys(found) == {"model.w", "rng.0.torch"}


def test_nothing_there_is_no_checkpoint(tmp_path):
    assert checkpoint.find_latest(tmp_path) is None
    assert checkpoint.find_latest(tmp_path / "absent") is None


@pytest.mark.parametrize("damage", ["flip", "cut", "gone", "manifest", "folder"])
def test_a_damaged_one_falls_back_with_a_word(tmp_path, damage, caplog):
    put(tmp_path, 1)
    newest = put(tmp_path, 2)
    data = next(newest.glob("*.distcp"))
    content = data.read_bytes()
    match damage:
        case "flip":
            data.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
        case "cut":
            data.write_bytes(content[:-1])
        case "gone":
            data.unlink()
        case "manifest":
            (newest / "manifest.json").write_text('{"step": 2')
        case "folder":
            newest.rename(tmp_path / "elsewhere")
    with caplog.at_level(logging.WARNING, "seamount"):
        found = checkpoint.find_latest(tmp_path)
    assert found.step == 1 and value(found) == 1.0
    assert "step_00000002 is damaged" in caplog.text


def test_none_whole_is_told(tmp_path):
    (put(tmp_path, 1) / "manifest.json").unlink()
    with pytest.raises(CorruptData, match="--restart"):
        checkpoint.find_latest(tmp_path)


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    put(tmp_path, 1)

    def full(*_args) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFull, match="no space left"):
        put(tmp_path, 2)
    monkeypatch.undo()
    assert checkpoint.find_latest(tmp_path).step == 1
    checkpoint.clean(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["LATEST", "step_00000001"]


def test_a_killed_save_is_cleaned_away(tmp_path):
    (tmp_path / ".saving-0123").mkdir()
    assert checkpoint.clean(tmp_path) == 1
    assert not list(tmp_path.iterdir())


def test_an_abandoned_line_gives_way(tmp_path):
    """Continuing from step 1 after 2 was damaged: the new 2 replaces it, a later 3 goes."""
    for step in (1, 2, 3):
        put(tmp_path, step)
    put(tmp_path, 2)
    assert checkpoint.find_latest(tmp_path).step == 2
    assert not (tmp_path / "step_00000003").exists()
