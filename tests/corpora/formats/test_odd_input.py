"""One test a row of the table in docs/corpus/formats.md: what becomes of odd input, by form."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from packing_forms import LINE_FORMS, gzip_tool, line, read, texts

from seamount.core.errors import CorruptData
from seamount.core.records import Document
from seamount.corpora.text import formats, zstd_stream
from seamount.corpora.text.magic import WrongFormat

ROWS = {
    "several frames, members or row groups": "test_several_frames",
    "skippable frames, padding": "test_skippable_and_padding",
    "the end is cut off": "test_the_end_is_cut_off",
    "damage in the middle": "test_damage_in_the_middle",
    "bytes behind the end": "test_bytes_behind_the_end",
    "a text of 100 MB": "test_a_text_of_100_mb",
    "a line above 1 GiB": "test_a_line_above_the_limit",
    "a lone surrogate": "test_a_lone_surrogate",
    "NUL": "test_nul",
    "CRLF": "test_crlf",
    "invalid UTF-8": "test_invalid_utf8",
    "an empty text": "test_an_empty_text",
    "no text in a record": "test_no_text_in_a_record",
    "no text in the file": "test_no_text_in_the_file",
    "meta missing or of another type": "test_meta_of_another_type",
    "another format than the name says": "test_another_format",
    "no bytes at all": "test_no_bytes_at_all",
}
each_line_form = pytest.mark.parametrize("suffix", LINE_FORMS)


def store(folder: Path, suffix: str, *parts: bytes) -> Path:
    """Parts packed one by one, one behind the other."""
    path = folder / f"x{suffix}"
    path.write_bytes(b"".join(LINE_FORMS[suffix](part) for part in parts))
    return path


def table(folder: Path, **columns: object) -> Path:
    path = folder / "x.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_the_documented_table_and_these_tests_agree(root: Path) -> None:
    page = (root / "docs/corpus/formats.md").read_text()
    part = page.partition("## Odd input")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| ([^|]+) \|", part, re.M)[1:]
    assert documented == list(ROWS)
    assert set(ROWS.values()) <= set(globals())


def test_several_frames(tmp_path: Path) -> None:
    whole = line("a" * 50) + line("b") + line("c")
    for suffix in LINE_FORMS:
        for cut in (1, 30, 90):
            path = store(tmp_path, suffix, whole[:cut], b"", whole[cut:])
            assert texts(path) == ["a" * 50, "b", "c"]
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": [str(n) for n in range(100)]}), path, row_group_size=7)
    assert texts(path) == [str(n) for n in range(100)]


def test_skippable_and_padding(tmp_path: Path) -> None:
    zst, gz = (store(tmp_path, s, line("a")) for s in (".jsonl.zst", ".jsonl.gz"))
    zst.write_bytes(b"\x5a\x2a\x4d\x18\x03\0\0\0abc" + zst.read_bytes())
    gz.write_bytes(gz.read_bytes() + bytes(600_000) + gzip_tool(line("b")) + bytes(5))
    assert texts(zst) == ["a"] and texts(gz) == ["a", "b"]
    assert gzip.decompress(gz.read_bytes()) == line("a") + line("b")  # as Python has it


def test_the_end_is_cut_off(tmp_path: Path) -> None:
    whole = b"".join(line(f"{n} " + "word " * 50) for n in range(400))
    for suffix in (".jsonl.zst", ".jsonl.gz"):
        path = store(tmp_path, suffix, whole)
        packed = path.read_bytes()
        for size in (len(packed) - 1, len(packed) * 9 // 10, 9):
            path.write_bytes(packed[:size])
            documents, quarantined, error = read(path)
            assert error is not None and "cut short" in error and not quarantined
            assert [d.text.split()[0] for d in documents] == [str(n) for n in range(len(documents))]
    plain = store(tmp_path, ".jsonl", whole[:-3])
    documents, quarantined, error = read(plain)
    assert (len(documents), [q.line for q in quarantined], error) == (399, [400], None)
    parquet = table(tmp_path, text=["a", "b"])
    parquet.write_bytes(parquet.read_bytes()[:-1])
    documents, _, error = read(parquet)
    assert error is not None and "cut short" in error and not documents


def test_a_cut_gzip_gives_every_line_before_the_cut(tmp_path: Path) -> None:
    """Without compression it is plain how many lines stand before the cut."""
    lines = [line(f"{n:06d}") for n in range(2000)]
    packed = gzip.compress(b"".join(lines), 0)
    path = tmp_path / "x.jsonl.gz"
    for place in (50, len(lines[0]) * 5 + 7, len(packed) // 2, len(packed) - 9):
        path.write_bytes(packed[:place])
        documents, _, error = read(path)
        before = packed[:place].count(b"}}\n")
        assert error is not None and len(documents) == before


def test_a_damaged_gzip_gives_every_line_before_the_damage(tmp_path: Path) -> None:
    """Stored blocks (RFC 1951, 3.2.4): one whose length and its complement disagree is damaged."""
    lines = [line(f"{n:06d} " + "x" * 90) for n in range(900)]
    data = b"".join(lines)
    packed = bytearray(gzip.compress(data, 0, mtime=0))
    place, start = 10, 0  # of a block's header behind the file's, and of its content
    while start < len(data) // 2:
        length = int.from_bytes(packed[place + 1 : place + 3], "little")
        place, start = place + 5 + length, start + length
    packed[place + 3] ^= 1
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(packed)
    documents, _, error = read(path)
    assert error is not None and "damaged" in error
    assert len(documents) == data[:start].count(b"\n") > 400


def test_damage_in_the_middle(tmp_path: Path) -> None:
    whole = b"".join(line(f"{n} " + "word " * 50) for n in range(300))
    for suffix in (".jsonl.zst", ".jsonl.gz"):
        path = store(tmp_path, suffix, whole)
        good, original = path.read_bytes(), texts(path)
        for place in range(5, len(good), 61):
            path.write_bytes(good[:place] + bytes([good[place] ^ 16]) + good[place + 1 :])
            documents, quarantined, error = read(path)
            same = [d.text for d in documents] == original and not quarantined
            assert error is not None or same, (suffix, place)  # same: a byte without meaning
    path = tmp_path / "x.parquet"
    columns = pa.table({"text": [f"{n} unlike the others {n * n}" for n in range(500)]})
    pq.write_table(
        columns, path, row_group_size=100, write_page_checksum=True, use_dictionary=False
    )
    good, third = path.read_bytes(), pq.read_metadata(path).row_group(2).column(0)
    place = third.data_page_offset + third.total_compressed_size // 2
    path.write_bytes(good[:place] + bytes([good[place] ^ 16]) + good[place + 1 :])
    documents, _, error = read(path)
    assert error is not None and "checksum" in error
    assert [d.text for d in documents] == columns["text"].to_pylist()[:200]


def test_bytes_behind_the_end(tmp_path: Path) -> None:
    for suffix in (".jsonl.zst", ".jsonl.gz"):
        path = store(tmp_path, suffix, line("a"))
        place = path.stat().st_size
        path.write_bytes(path.read_bytes() + b"junk")
        documents, _, error = read(path)
        assert [d.text for d in documents] == ["a"]
        assert error is not None and f"byte {place}" in error
    plain = store(tmp_path, ".jsonl", line("a") + b"junk")
    assert [q.line for q in read(plain)[1]] == [2]
    parquet = table(tmp_path, text=["a"])
    parquet.write_bytes(parquet.read_bytes() + b"junk")
    assert read(parquet)[0] == [] and "cut short or damaged" in str(read(parquet)[2])


@pytest.mark.slow
def test_a_text_of_100_mb(tmp_path: Path) -> None:
    text = "x" * 100_000_000
    lines = line(text) + line("b")
    path = tmp_path / "x.parquet"
    pq.write_table(
        pa.table({"text": [text, "b"]}), path, use_dictionary=False, write_statistics=False
    )
    for one in (*(store(tmp_path, s, lines) for s in LINE_FORMS), path):
        assert [len(t) for t in texts(one)] == [100_000_000, 1]
        one.unlink()


@each_line_form
def test_a_line_above_the_limit(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zstd_stream, "MAX_LINE_BYTES", 1 << 20)
    path = store(tmp_path, suffix, line("a") + line("x" * (3 << 20)) + line("b"))
    documents, _, error = read(path)
    assert [d.text for d in documents] == ["a"] and "longer than" in str(error)


def test_a_lone_surrogate(tmp_path: Path) -> None:
    for suffix in LINE_FORMS:
        path = store(tmp_path, suffix, b'{"text": "a\\ud800b", "meta": {"k": "\\udfff"}}\n')
        (document,) = read(path)[0]
        assert document.text == "a\ufffdb" and document.meta == {"k": "\ufffd"}
    raw = "a\ud800b".encode("utf-8", "surrogatepass")
    column = pa.array([raw, b"good"], pa.binary()).view(pa.string())
    documents, quarantined, error = read(table(tmp_path, text=column))
    assert [d.text for d in documents] == ["good"] and error is None
    assert [(q.line, q.size_bytes) for q in quarantined] == [(1, 5)]
    meta = ['{"k": "\\udfff"}']
    assert read(table(tmp_path, text=["t"], meta=meta))[0][0].meta == {"k": "\ufffd"}


def test_nul(tmp_path: Path) -> None:
    for suffix in LINE_FORMS:
        path = store(tmp_path, suffix, line("a\0b") + b'{"text": "raw\0"}\n')
        documents, quarantined, _ = read(path)
        assert [d.text for d in documents] == ["a\0b"]
        assert [q.line for q in quarantined] == [2] and "raw NUL" in quarantined[0].reason
    assert texts(table(tmp_path, text=["a\0b"])) == ["a\0b"]


def test_crlf(tmp_path: Path) -> None:
    for suffix in LINE_FORMS:
        path = store(tmp_path, suffix, line("a\r\nb").replace(b"\n", b"\r\n") + b"\r\n" + line("c"))
        assert texts(path) == ["a\r\nb", "c"]
    assert texts(table(tmp_path, text=["a\r\nb"])) == ["a\r\nb"]


def test_invalid_utf8(tmp_path: Path) -> None:
    for suffix in LINE_FORMS:
        path = store(tmp_path, suffix, line("a") + b'{"text": "\xff"}\n' + line("b"))
        documents, quarantined, error = read(path)
        assert [d.text for d in documents] == ["a", "b"] and error is None
        assert [q.line for q in quarantined] == [2] and "UTF-8 at byte 10" in quarantined[0].reason
    column = pa.array([b"a", b"ab\xff", b"b"], pa.binary()).view(pa.string())
    documents, quarantined, error = read(table(tmp_path, text=column))
    assert [d.text for d in documents] == ["a", "b"] and error is None
    assert [q.line for q in quarantined] == [2] and "UTF-8 at byte 2" in quarantined[0].reason


def test_an_empty_text(tmp_path: Path) -> None:
    for path in (*(store(tmp_path, s, line("")) for s in LINE_FORMS), table(tmp_path, text=[""])):
        assert texts(path) == [""]


def test_no_text_in_a_record(tmp_path: Path) -> None:
    for suffix in LINE_FORMS:
        content = line("a") + b'{"meta": {}}\n{"text": null}\n{"text": 5}\n' + line("b")
        documents, quarantined, error = read(store(tmp_path, suffix, content))
        assert [d.text for d in documents] == ["a", "b"] and error is None
        assert [q.line for q in quarantined] == [2, 3, 4]
    documents, quarantined, error = read(table(tmp_path, text=["a", None, "b"]))
    assert [d.text for d in documents] == ["a", "b"] and error is None
    assert [(q.line, q.reason) for q in quarantined] == [(2, "the text is null")]


def test_no_text_in_the_file(tmp_path: Path) -> None:
    for suffix in LINE_FORMS:
        _, quarantined, error = read(store(tmp_path, suffix, b'{"content": "a"}\n' * 2))
        assert len(quarantined) == 2 and error is None
    for columns in ({"content": ["a"]}, {"text": [5]}, {"text": [b"bytes"]}):
        with pytest.raises(WrongFormat, match="'text'") as caught:
            list(formats.read(str(table(tmp_path, **columns))))
        assert caught.value.exit_code == 2 and str(caught.value).count("\n") == 0


def test_meta_of_another_type(tmp_path: Path) -> None:
    for suffix in LINE_FORMS:
        path = store(tmp_path, suffix, b'{"text": "a"}\n{"text": "b", "meta": [1]}\n')
        documents, _, _ = read(path)
        assert [d.component for d in documents] == ["unknown"] * 2
        assert [d.meta for d in documents] == [{}, {"value": [1]}]
    path = table(tmp_path, text=["a", "b", "c"], meta=["[1]", None, "no JSON"])
    assert [d.meta for d in read(path)[0]] == [{"value": [1]}, {}, {"value": "no JSON"}]
    assert [d.component for d in read(path)[0]] == ["unknown"] * 3


def test_metadata_beyond_the_calendar_costs_its_row(tmp_path: Path) -> None:
    times = {
        "date": pa.array([1, 2**31 - 1, 2], pa.int32()).view(pa.date32()),
        "time": pa.array([1, 2**61, 2], pa.timestamp("us")),
        "length": pa.array([1, 2**62, 2], pa.duration("s")),
    }
    for name, column in times.items():
        records = list(formats.read(str(table(tmp_path, text=["a", "b", "c"], **{name: column}))))
        assert [r.text for r in records if isinstance(r, Document)] == ["a", "c"]
        assert "metadata that cannot be read" in records[1].reason and records[1].line == 2


def test_two_columns_of_one_name_lose_neither_silently(tmp_path: Path) -> None:
    columns = [pa.array(["a"]), pa.array([1]), pa.array([2])]
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table(columns, names=["text", "x", "x"]), path)
    with pytest.raises(WrongFormat, match="several columns called 'x'"):
        list(formats.read(str(path)))
    pq.write_table(pa.table([*columns, columns[0]], names=["text", "x", "x", "meta"]), path)
    (found,) = formats.read(str(path))
    assert isinstance(found, Document) and found.meta == {"value": "a"}


def test_the_head_of_nothing_is_nothing(tmp_path: Path) -> None:
    for suffix, content in ((".jsonl.gz", gzip.compress(b"")), (".jsonl", b"")):
        path = store(tmp_path, suffix, b"")
        path.write_bytes(content)
        documents, size = formats.FORMS[formats.form_name(str(path))].head(str(path), "x", 100)
        assert (documents, size) == ([], 0)


def test_another_format(tmp_path: Path) -> None:
    whole = {s: store(tmp_path, s, line("a")).read_bytes() for s in LINE_FORMS}
    whole[".parquet"] = table(tmp_path, text=["a"]).read_bytes()
    for own in whole:
        for other, content in whole.items():
            path = tmp_path / f"y{own}"
            path.write_bytes(content)
            if own == other:
                assert texts(path) == ["a"]
                continue
            with pytest.raises(WrongFormat, match="whatever its name says") as caught:
                list(formats.read(str(path)))
            assert caught.value.exit_code == 2


def test_no_bytes_at_all(tmp_path: Path) -> None:
    for suffix in LINE_FORMS:
        (tmp_path / f"x{suffix}").write_bytes(b"")
        assert texts(tmp_path / f"x{suffix}") == []
    (tmp_path / "x.parquet").write_bytes(b"")
    with pytest.raises(CorruptData, match="cut short"):
        list(formats.read(str(tmp_path / "x.parquet")))


@each_line_form
def test_the_same_records_in_every_packing(suffix: str, tmp_path: Path, shared_data: Path) -> None:
    """Each messy case, unpacked by the standard tool and packed anew, reads as its zst does."""
    import zstandard

    for case in sorted((shared_data / "messy/text").glob("*.jsonl.zst")):
        try:
            with zstandard.open(case, "rb") as stream:
                content = stream.read()
        except (zstandard.ZstdError, EOFError):
            continue
        wanted, got = read(case), read(store(tmp_path, suffix, content))
        if wanted[2] is None:
            assert [(d.text, d.component, d.meta) for d in got[0]] == [
                (d.text, d.component, d.meta) for d in wanted[0]
            ]
            assert [(q.line, q.reason) for q in got[1]] == [(q.line, q.reason) for q in wanted[1]]
