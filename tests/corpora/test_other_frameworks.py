"""The shards as they stand, read by Hugging Face datasets, TensorFlow, a shell pipe and by hand.

Each must give every document of the corpus, in order. TensorFlow's pins are its own, so it runs in
an environment made for it.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.split import read_split

TENSORFLOW = "tensorflow-cpu==2.21.0"
# All that reading a corpus needs beside the framework: `ranges` must import nothing else.
NEEDS = ("fsspec", "msgspec", "orjson", "pydantic", "yaml", "zstandard")
TEXTS = [
    "plain",
    "line\nend",
    'quote " and \\ back',
    "tab\t and \u2028 and \x85",
    "東京 \U0001f600",
    "é" * 500,
]
# A document with another shape of metadata in each: loaders that guess a schema must not lose it.
METAS: list[dict[str, Any]] = [{}, {"year": 1999}, {"title": "a", "tags": ["x"]}, {"year": None}]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frameworks")
    rows = [
        Document(f"{n} {TEXTS[n % len(TEXTS)]}", "ArXiv", f"d{n}", "", dict(METAS[n % len(METAS)]))
        for n in range(300)
    ]
    jsonl_zst.write_documents(str(folder / "in.jsonl.zst"), rows)
    build_corpus(
        CorpusRequest(
            (str(folder / "in.jsonl.zst"),), str(folder / "out"), shard_bytes=8000, dedupe="none"
        )
    )
    return folder / "out"


@pytest.fixture(scope="module")
def expected(corpus: Path) -> list[tuple[str, str]]:
    return [(d.id, d.text) for d in read_split(str(corpus), "train")]


def shards(corpus: Path) -> list[Path]:
    found = sorted((corpus / "train").glob("*.jsonl.zst"))
    assert len(found) > 3
    return found


def test_plain_python(corpus: Path, expected: list[tuple[str, str]]) -> None:
    found = []
    for path in shards(corpus):
        with path.open("rb") as file:
            stream = zstandard.ZstdDecompressor().stream_reader(file)
            for line in io.TextIOWrapper(stream, "utf-8", newline="\n"):
                record = json.loads(line)
                found.append((record["meta"]["id"], record["text"]))
    assert found == expected


@pytest.mark.skipif(not shutil.which("jq") or not shutil.which("zstd"), reason="needs jq and zstd")
def test_a_shell_pipe(corpus: Path, expected: list[tuple[str, str]]) -> None:
    command = "zstd -dcq train/*.jsonl.zst | jq -c '[.meta.id, .text]'"
    shell = ["bash", "-o", "pipefail", "-c", command]
    out = subprocess.run(shell, cwd=corpus, check=True, capture_output=True, text=True).stdout
    assert [tuple(json.loads(line)) for line in out.split("\n") if line] == expected


def test_hugging_face_datasets(
    corpus: Path, expected: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    code = """
import json, sys
from datasets import load_dataset
files = {"train": json.loads(sys.argv[1])}
for streaming in (False, True):
    how = {"split": "train", "streaming": streaming, "cache_dir": sys.argv[2]}
    found = load_dataset("json", data_files=files, **how)
    print(json.dumps([[r["meta"]["id"], r["text"]] for r in found]))
"""
    paths = json.dumps([str(path) for path in shards(corpus)])
    done = subprocess.run(
        [sys.executable, "-c", code, paths, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    whole, streamed = (json.loads(line) for line in done.stdout.splitlines())
    wanted = [list(pair) for pair in expected]
    assert whole == wanted
    assert streamed == wanted


def test_reading_needs_few_libraries(root: Path) -> None:
    """So that a framework's own environment, with its own pins, can read the shards."""
    code = """
import importlib.metadata, sys
import seamount.corpora.text.ranges
owners = importlib.metadata.packages_distributions()
print(*{n.partition(".")[0] for n in sys.modules if n.partition(".")[0] in owners})
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    of_their_own = {"seamount", "pydantic_core", "annotated_types", "typing_extensions"}
    of_their_own |= {"typing_inspection", "_distutils_hack"}
    assert set(done.stdout.split()) - of_their_own <= set(NEEDS)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_tensorflow(
    corpus: Path, expected: list[tuple[str, str]], tmp_path: Path, root: Path
) -> None:
    place = tmp_path / "tensorflow"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = str(place / "bin" / "python")
    needs = [TENSORFLOW, *(name.replace("yaml", "pyyaml") for name in NEEDS)]
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *needs]
    subprocess.run(pip, check=True)
    code = """
import json, sys
import tensorflow as tf
from seamount.corpora.text import ranges
shards = ranges.shards_of(sys.argv[1], "train")
total = sum(shard.lines for shard in shards)
def documents():
    for document in ranges.read_lines(shards, 0, total):
        yield {"id": document.id, "text": document.text}
row = {"id": tf.TensorSpec((), tf.string), "text": tf.TensorSpec((), tf.string)}
found = tf.data.Dataset.from_generator(documents, output_signature=row).batch(7).prefetch(2)
batches = [(b["id"], b["text"]) for b in found.as_numpy_iterator()]
print(json.dumps([(i.decode(), t.decode()) for b in batches for i, t in zip(*b)]))
"""
    done = subprocess.run(
        [python, "-c", code, str(corpus)],
        env={
            **os.environ,
            "PYTHONPATH": str(root),
            "CUDA_VISIBLE_DEVICES": "",
            "TF_CPP_MIN_LOG_LEVEL": "3",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert [tuple(pair) for pair in json.loads(done.stdout.splitlines()[-1])] == expected
