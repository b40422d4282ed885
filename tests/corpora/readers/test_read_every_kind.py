"""What holds for every reader: counts, ids, order, text that can be stored; damage is survived."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from reading import documents, read, read_broken, write
from samples import SAMPLES

from seamount.core import registry
from seamount.core.errors import UserError
from seamount.core.records import Quarantined, Skipped
from seamount.corpora.text.catalog import READERS, load_catalog

# Readers of what this machine has, which take no URL.
LOCAL = {
    "generated_mathematics",
    "licence_texts",
    "package_readmes",
    "python_documentation",
    "python_sources",
}


def test_every_reader_has_a_sample() -> None:
    assert set(SAMPLES) == set(registry.available(READERS)) - LOCAL


@pytest.mark.parametrize("name", SAMPLES)
def test_counts_ids_and_order(name: str, tmp_path: Path) -> None:
    sample = SAMPLES[name]()
    write(tmp_path / "top", sample.files)
    records = read(name, tmp_path / "top")
    found = (
        len(documents(records)),
        sum(isinstance(r, Quarantined) for r in records),
        sum(isinstance(r, Skipped) for r in records),
    )
    assert found == (sample.documents, sample.quarantined, sample.skipped), records
    ids = [d.id for d in documents(records)]
    assert len(set(ids)) == len(ids)
    assert all(i.startswith("top") and str(tmp_path) not in i for i in ids)
    assert read(name, tmp_path / "top") == records
    for document in documents(records):
        json.dumps(document.meta)
        assert document.text.encode().strip() and "\r" not in document.text.strip("\r\n")


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_ids_on_another_machine_and_store(name: str, tmp_path: Path) -> None:
    import fsspec

    files = SAMPLES[name]().files
    write(tmp_path / "a/top", files)
    memory = fsspec.filesystem("memory")
    for path, content in files.items():
        memory.pipe(
            f"/{name}/top/{path}", content.encode() if isinstance(content, str) else content
        )
    try:
        there = documents(read(name, f"memory://{name}/top"))
    finally:
        memory.rm(f"/{name}", recursive=True)
    here = documents(read(name, tmp_path / "a/top"))
    assert [(d.id, d.text, d.meta) for d in here] == [(d.id, d.text, d.meta) for d in there]


@pytest.mark.parametrize("name", SAMPLES)
def test_names_are_of_the_pile_and_limits_hold(name: str, tmp_path: Path) -> None:
    module = registry.load(READERS, name, "reader")
    assert module.COMPONENT in load_catalog("pile").components
    write(tmp_path, SAMPLES[name]().files)
    everything = module.items(None, url=str(tmp_path))
    assert [i.name for i in everything] == sorted(i.name for i in everything)
    assert len(module.items(1, url=str(tmp_path))) == 1
    with pytest.raises(UserError, match="nothing stands at"):
        module.items(None, url=str(tmp_path / "absent"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="nothing that this reader reads"):
        module.items(None, url=str(tmp_path / "empty"))


@pytest.mark.parametrize("name", SAMPLES)
def test_no_bytes_at_all(name: str, tmp_path: Path) -> None:
    write(tmp_path, {path: b"" for path in SAMPLES[name]().files})
    records, _ = read_broken(name, tmp_path)
    assert not [d for d in documents(records) if d.text.strip()]


@pytest.mark.parametrize("name", SAMPLES)
def test_damage_never_kills_a_reader(name: str, tmp_path: Path) -> None:
    random = Random(f"damage {name}")
    files = SAMPLES[name]().files
    for number in range(60):
        folder = tmp_path / str(number)
        write(folder, {path: _damaged(random, content) for path, content in files.items()})
        records, _ = read_broken(name, folder)
        for document in documents(records):
            document.text.encode()
            document.id.encode()
            json.dumps(document.meta).encode()


def _damaged(random: Random, content: bytes | str) -> bytes:
    data = bytearray(content.encode() if isinstance(content, str) else content)
    kind = random.randrange(4)
    if kind == 0:
        return bytes(data[: random.randrange(len(data) + 1)])
    for _ in range(random.choice((1, 3, 30))):
        if data:
            at = random.randrange(len(data))
            if kind == 1:
                data[at] = random.randrange(256)
            elif kind == 2:
                data[at:at] = bytes(random.randrange(256) for _ in range(random.randrange(9)))
            else:
                del data[at : at + random.randrange(9)]
    return bytes(data)
