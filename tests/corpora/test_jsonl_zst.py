"""The reader against damaged files: every case of the given data, and damage made at random."""

from __future__ import annotations

import io
import itertools
import json
import random
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from seamount.core.errors import CorruptData, DiskFull, UserError
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import formats, jsonl_zst, zstd_stream

# file -> (documents, quarantined lines, a word of the error); the given README says why.
MESSY = {
    "multi_frame": (25, [], None),
    "skippable_first": (10, [], None),
    "truncated_mid_block": (None, [], "cut short"),
    "invalid_utf8": (2, [2], None),
    "lone_high_surrogate": (3, [], None),
    "nul_escape": (2, [], None),
    "ten_megabyte_line": (2, [], None),
    "missing_text": (2, [2, 3], None),
    "crlf_blank_lines": (7, [], None),
    "no_meta": (3, [], None),
    "bad_json_line": (2, [2], None),
    "gzip_named": (0, [], "gzip"),
    "zero_bytes": (0, [], None),
}


def read(path: Path) -> tuple[list[Document], list[Quarantined], str | None]:
    documents, quarantined, error = [], [], None
    try:
        for record in jsonl_zst.read_documents(str(path)):
            (documents if isinstance(record, Document) else quarantined).append(record)
    except CorruptData as problem:
        error = str(problem)
    return documents, quarantined, error


def frame(data: bytes, checksum: bool = True) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=checksum).compress(data)


def line(text: str, **meta: object) -> bytes:
    return json.dumps({"text": text, "meta": {"pile_set_name": "Github", **meta}}).encode() + b"\n"


def store(folder: Path, content: bytes) -> Path:
    path = folder / "x.jsonl.zst"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("case", sorted(MESSY))
def test_messy_case(case: str, shared_data: Path) -> None:
    path = shared_data / "messy/text" / f"{case}.jsonl.zst"
    wanted, bad_lines, error_word = MESSY[case]
    documents, quarantined, error = read(path)
    if wanted is not None:
        assert len(documents) == wanted
    assert [q.line for q in quarantined] == bad_lines
    assert all(q.reason for q in quarantined)
    assert (error is None) == (error_word is None)
    if error is not None:
        assert str(path) in error and error_word in error
    for document in documents:
        document.text.encode()  # no lone surrogate is left


def test_every_messy_case_is_listed(shared_data: Path) -> None:
    there = {p.name.removesuffix(".jsonl.zst") for p in (shared_data / "messy/text").iterdir()}
    assert there == set(MESSY)


def test_messy_details(shared_data: Path) -> None:
    folder = shared_data / "messy/text"
    first = read(folder / "ten_megabyte_line.jsonl.zst")[0][0]
    assert len(first.text) == 10_485_760
    components = [d.component for d in read(folder / "no_meta.jsonl.zst")[0]]
    assert components == ["unknown", "My Notes", "Enron Emails"]
    surrogates = read(folder / "lone_high_surrogate.jsonl.zst")[0]
    assert sum("\ufffd" in d.text for d in surrogates) == 1
    nul = read(folder / "nul_escape.jsonl.zst")[0]
    assert any("\0" in d.text for d in nul)


def test_truncated_file_gives_every_whole_line_before_the_cut(tmp_path: Path) -> None:
    lines = [line(f"{i} " + "word " * 5_000) for i in range(60)]
    whole = frame(b"".join(lines))
    path = store(tmp_path, whole[: int(len(whole) * 0.9)])
    documents, quarantined, error = read(path)
    assert error is not None and "cut short" in error and not quarantined
    assert 0 < len(documents) < 60
    assert [d.text.split()[0] for d in documents] == [str(i) for i in range(len(documents))]


def test_damage_after_a_good_frame_keeps_the_good_frame(tmp_path: Path) -> None:
    good = frame(line("a") + line("b"))
    for tail in (b"junk that is no frame", frame(line("c"))[:-1], frame(b"x" * 500)[:9]):
        documents, _, error = read(store(tmp_path, good + tail))
        assert [d.text for d in documents[:2]] == ["a", "b"]
        assert error is not None and f"byte {len(good)}" in error


def test_any_single_bit_flip_is_noticed(tmp_path: Path) -> None:
    whole = frame(b"".join(line(f"text {i} " * 9) for i in range(20)))
    original = [d.text for d in read(store(tmp_path, whole))[0]]
    for position in range(4, len(whole), 3):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << (position % 8)
        documents, quarantined, error = read(store(tmp_path, bytes(damaged)))
        same = [d.text for d in documents] == original and not quarantined
        assert error is not None or same, position


def test_record_damage_is_told_apart(tmp_path: Path) -> None:
    bad = {
        b'{"text": "a\0b"}': "raw NUL",
        b'{"text": "\xff"}': "invalid UTF-8",
        b'{"text": 5}': "text is of type int",
        b'["text"]': "a JSON list",
        b'{"meta": {}}': "no text",
        b'{"text": "a"} {"text": "b"}': "Extra data",
        b"[" * 100_000: "not readable JSON",
        b'{"text": "a"': "not JSON",
    }
    for raw, reason in bad.items():
        content = line("before") + raw + b"\n" + line("after")
        documents, quarantined, error = read(store(tmp_path, frame(content)))
        assert [d.text for d in documents] == ["before", "after"], raw[:30]
        assert error is None and len(quarantined) == 1
        assert quarantined[0].line == 2 and reason in quarantined[0].reason
        assert quarantined[0].size_bytes == len(raw) + 1


@pytest.mark.parametrize(
    ("odd", "bad"),
    [
        (b'{"text": "a"} {"text": "b"}\n\n', [2]),
        (b'{"text":\n"c"} {"text": "d"}\n', [2, 3]),
    ],
)
def test_each_line_is_judged_by_itself(odd: bytes, bad: list[int], tmp_path: Path) -> None:
    """As many records as lines, but not one in each."""
    documents, quarantined, error = read(store(tmp_path, frame(line("x") + odd + line("y"))))
    assert [(d.text, d.id) for d in documents] == [("x", "x:1"), ("y", "x:4")]
    assert [q.line for q in quarantined] == bad and error is None


def test_a_start_line_is_counted_over_blocks(tmp_path: Path) -> None:
    content = b"".join(line(f"{i} " + "word " * 5_000) for i in range(40))  # 1 MB, several blocks
    path = store(tmp_path, frame(content))
    for start in (1, 2, 11, 12, 40, 41):
        read_from = jsonl_zst.read_documents(str(path), start_line=start)
        assert [d.text.split()[0] for d in read_from] == [str(i) for i in range(start - 1, 40)]


def test_damage_in_a_line_longer_than_the_buffer(tmp_path: Path) -> None:
    long = b'{"text": "' + random.Random(1).randbytes(300_000).hex().encode()
    for tail in (b"junk that is no frame", frame(b"x" * 500)[:9]):
        documents, _, error = read(store(tmp_path, frame(line("a") + long) + tail))
        assert [d.text for d in documents] == ["a"]
        assert error is not None and "the zstd frame that starts at byte" in error


def test_tolerated_forms(tmp_path: Path) -> None:
    content = (
        b"\xef\xbb\xbf" + line("bom") + b"\r\n  \n" + line("crlf").replace(b"\n", b"\r\n")
        + b'{"text": "list", "meta": ["x"]}\n{"text": "name", "meta": {"pile_set_name": 7}}\n'
        + b'{"text": "own", "meta": {"id": "mine", "n": NaN}}\n' + line("last").rstrip()
    )  # fmt: skip
    empty = frame(b"")
    documents, quarantined, error = read(store(tmp_path, empty + frame(content) + empty))
    assert error is None and not quarantined
    assert [d.text for d in documents] == ["bom", "crlf", "list", "name", "own", "last"]
    assert [d.component for d in documents[2:5]] == ["unknown"] * 3
    assert documents[2].meta == {"value": ["x"]}
    assert [d.id for d in documents] == ["x:1", "x:4", "x:5", "x:6", "mine", "x:8"]


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.text(max_size=40), max_size=30),
    cuts=st.lists(st.integers(1, 30), max_size=4),
    read_bytes=st.integers(1, 64),
)
def test_frames_may_be_cut_anywhere(texts: list[str], cuts: list[int], read_bytes: int) -> None:
    """Any cut into frames (a line across a border too), with skippable frames in between."""
    data = b"".join(line(t) for t in texts)
    skippable = b"\x5a\x2a\x4d\x18\x03\0\0\0abc"
    borders = sorted({min(c * 17, len(data)) for c in cuts} | {0, len(data)})
    parts = [data[a:b] for a, b in itertools.pairwise(borders)]
    stored = skippable + skippable.join(frame(p) for p in parts)

    class Trickle(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or read_bytes, read_bytes))

    assert b"".join(zstd_stream.line_blocks(Trickle(stored), "x")) == data
    assert b"".join(zstd_stream.decompressed(Trickle(stored), "x")) == data


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(max_size=30), st.dictionaries(st.text(max_size=5), st.integers())),
        max_size=20,
    )
)
def test_written_documents_come_back(tmp_path_factory, rows) -> None:  # type: ignore[no-untyped-def]
    url = f"memory://written/{tmp_path_factory.mktemp('x').name}/a.jsonl.zst"
    reserved = {"id", "pile_set_name"}
    documents = [
        Document(text, "ArXiv", f"i{n}", "", {k: v for k, v in meta.items() if k not in reserved})
        for n, (text, meta) in enumerate(rows)
    ]
    written = jsonl_zst.write_documents(url, documents)
    back = list(jsonl_zst.read_documents(url))
    assert written.documents == len(documents)
    assert [(d.text, d.component, d.id, d.meta) for d in back] == [
        (d.text, d.component, d.id, d.meta) for d in documents
    ]


def test_written_file_is_readable_by_others_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    jsonl_zst.write_documents(str(path), [Document("héllo\n", "ArXiv", "1", "")])
    parameters = zstandard.get_frame_parameters(path.read_bytes())
    assert parameters.has_checksum
    with zstandard.open(path, "rt", encoding="utf-8") as stream:
        assert json.loads(stream.read())["text"] == "héllo\n"


def test_memory_stays_bounded_on_a_compression_bomb(tmp_path: Path) -> None:
    import tracemalloc

    path = store(tmp_path, frame(line("x" * 2_000) * 30_000))  # 60 MB of text in 6 kB
    tracemalloc.start()
    documents = sum(1 for _ in jsonl_zst.read_documents(str(path)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert documents == 30_000
    assert peak < 30e6, peak


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    def documents():  # type: ignore[no-untyped-def]
        yield Document("a", "ArXiv", "1", "")
        raise OSError(28, "No space left on device")

    with pytest.raises(DiskFull, match="no space left"):
        jsonl_zst.write_documents(str(tmp_path / "a.jsonl.zst"), documents())
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_read_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing stands at"):
        formats.list_inputs(str(tmp_path / "absent"))
    with pytest.raises(UserError, match=r"no \*.jsonl.zst, .* file below"):
        formats.list_inputs(str(tmp_path))
