"""The torch loader: every document once over ranks and workers, and a stop resumes exactly."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest
from torch.utils.data import DataLoader

from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst, ranges
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.split import read_split
from seamount.corpora.torch_loader import CorpusDocuments

DOCUMENTS = 101


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("loader")
    rows = [
        Document(
            f"number {n} of many, squared {n * n}", "Github" if n % 3 else "ArXiv", f"d{n}", ""
        )
        for n in range(DOCUMENTS)
    ]
    jsonl_zst.write_documents(str(folder / "in.jsonl.zst"), rows)
    request = CorpusRequest(
        (str(folder / "in.jsonl.zst"),), str(folder / "out"), shard_bytes=800, dedupe="none"
    )
    return build_corpus(request).url


def ids(loader: DataLoader) -> list[str]:
    return [name for batch in loader for name in batch["id"]]


@pytest.mark.parametrize(("world", "workers"), [(1, 0), (1, 2), (2, 0), (3, 2)])
def test_every_document_once(corpus: str, world: int, workers: int) -> None:
    parts = [CorpusDocuments(corpus, rank=r, world_size=world) for r in range(world)]
    found = [ids(DataLoader(part, batch_size=4, num_workers=workers)) for part in parts]
    wanted = [d.id for d in read_split(corpus, "train")]
    assert len(parts[0].shards) > 3
    assert sorted(chain(*found)) == sorted(wanted)
    assert [len(part) for part in parts] == [len(names) for names in found]
    assert max(map(len, found)) - min(map(len, found)) <= 1
    if workers == 0:
        assert list(chain(*found)) == wanted


@pytest.mark.filterwarnings("ignore:This DataLoader will create 3 worker")
@pytest.mark.parametrize("workers", [0, 2, 3])
def test_a_stop_after_any_batch_resumes_at_the_next(corpus: str, workers: int) -> None:
    whole = list(DataLoader(CorpusDocuments(corpus), batch_size=5, num_workers=workers))
    for stop in (0, 1, 7, len(whole) - 1, len(whole)):
        documents = CorpusDocuments(corpus)
        documents.resume_at(stop, 5, workers)
        rest = list(DataLoader(documents, batch_size=5, num_workers=workers))
        assert rest == whole[stop:], stop
        documents.resume_at(0, 5, workers)
        assert list(DataLoader(documents, batch_size=5, num_workers=workers)) == whole
    with pytest.raises(UserError, match="more than this rank's part"):
        CorpusDocuments(corpus).resume_at(len(whole) + 1, 5, workers)


def test_the_state_of_one_process(corpus: str) -> None:
    documents = CorpusDocuments(corpus)
    given = iter(documents)
    first = [next(given)["id"] for _ in range(30)]
    state = documents.state_dict()
    again = CorpusDocuments(corpus)
    again.load_state_dict(state)
    assert first + [d["id"] for d in again] == [d.id for d in read_split(corpus, "train")]
    with pytest.raises(UserError, match="of world_size 1, but here it is 2"):
        CorpusDocuments(corpus, world_size=2).load_state_dict(state)


def test_a_second_epoch_begins_anew(corpus: str) -> None:
    documents = CorpusDocuments(corpus)
    assert [d["id"] for d in documents] == [d["id"] for d in documents]


def test_the_released_layout_and_damaged_lines(tmp_path: Path) -> None:
    import zstandard

    (tmp_path / "train").mkdir()
    good = b'{"text":"a%d","meta":{"pile_set_name":"ArXiv"}}\n'
    lines = [good % 0, b"\n", b"{broken\n", good % 1, b"\r\n", good % 2, good % 3]
    data = b"".join(lines)
    (tmp_path / "train/00.jsonl.zst").write_bytes(zstandard.compress(data))
    (tmp_path / "train/01.jsonl.zst").write_bytes(zstandard.compress(data[:-1]))
    (tmp_path / "val.jsonl.zst").write_bytes(zstandard.compress(good % 9))
    assert [s.lines for s in ranges.shards_of(str(tmp_path), "train")] == [7, 7]
    for world in (1, 2, 5):
        parts = [CorpusDocuments(str(tmp_path), rank=r, world_size=world) for r in range(world)]
        texts = [d["text"] for part in parts for d in part]
        assert texts == ["a0", "a1", "a2", "a3"] * 2
        assert sum(part.quarantined for part in parts) == 2
    assert [d["text"] for d in CorpusDocuments(str(tmp_path), "val")] == ["a9"]
    with pytest.raises(UserError, match=r"no test/\*.jsonl.zst"):
        CorpusDocuments(str(tmp_path), "test")


def test_a_shard_changed_after_the_build_is_told(corpus: str, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(corpus, copy)
    first = sorted((copy / "train").iterdir())[0]
    kept = list(jsonl_zst.read_documents(str(first)))[:-1]
    jsonl_zst.write_documents(str(first), [d for d in kept if isinstance(d, Document)])
    with pytest.raises(CorruptData, match="changed after the corpus was built"):
        list(CorpusDocuments(str(copy)))


def test_reading_from_any_line_gives_what_stands_there(corpus: str) -> None:
    shards = ranges.shards_of(corpus, "train")
    total = sum(s.lines for s in shards)
    every = list(ranges.read_lines(shards, 0, total))
    for start, stop in ((0, 1), (5, 5), (3, 50), (total - 1, total), (10, total)):
        assert list(ranges.read_lines(shards, start, stop)) == every[start:stop]


def test_ranks_must_be_below_the_world(corpus: str) -> None:
    with pytest.raises(UserError, match="rank 2 of 2"):
        CorpusDocuments(corpus, rank=2, world_size=2)
