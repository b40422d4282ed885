"""`seamount corpus tokenize`: the library's ids from every kind of tokenizer, however it is run."""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import fsspec
import pytest
import zstandard
from command_line import run
from tokenized import cl100k, library_ids, read, unigram, word_piece
from tokenizers import Tokenizer

from seamount.core import lineage
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.split import SPLITS, read_split
from seamount.corpora.text.tokenizer import train_tokenizer

ODD = [
    "",
    "<|endoftext|>",
    "before<|endoftext|>after <s> </s> [CLS]",
    "it'ſ 1234567 ½Ⅷ٣\r\n\r\n\t  x\u00a0\u2028y e\u0301 \u1112\u1161\u11ab \U0001f600\u200d",
    "a" * 700 + "\u0378\ue000\ufffd",
]


@pytest.fixture(scope="module")
def texts(shared_data: Path) -> list[str]:
    with open(shared_data / "pile_sample" / "00.jsonl.zst", "rb") as file:
        lines = zstandard.ZstdDecompressor().stream_reader(file).read().decode().split("\n")
    return [*ODD, *(json.loads(line)["text"][:900] for line in lines[:250] if line)]


@pytest.fixture(scope="module")
def corpus(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenized")
    rows = [Document(t, ("Github", "ArXiv")[n % 2], f"d{n}", "") for n, t in enumerate(texts)]
    jsonl_zst.write_documents(str(folder / "in.jsonl.zst"), rows)
    shares = {"val_share": 0.05, "test_share": 0.05, "shard_bytes": 20_000, "catalog": "as-is"}
    build_corpus(CorpusRequest((str(folder / "in.jsonl.zst"),), str(folder / "corpus"), **shares))
    return folder / "corpus"


def assert_ids_are_the_librarys(out: Path, corpus: Path, file: Path, opens: str) -> None:
    backend = Tokenizer.from_file(str(file))
    opening = backend.token_to_id(opens)
    for split in SPLITS:
        wanted = {d.id: d.text for d in read_split(str(corpus), split)}
        found = read(out, split)
        assert list(found) == list(wanted) and found
        for name, text in wanted.items():
            assert found[name] == [opening, *library_ids(backend, text)], name


def encoding(out: Path) -> dict:
    return json.loads((out / "tokens.json").read_text())["splits"]["train"]["encoding"]


def test_a_real_llama_folder(
    corpus: Path, shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = shared_data / "llama_aidreams260k", tmp_path / "out"
    assert run("corpus", "tokenize", corpus, "--tokenizer", model, "--out", out) == 0
    assert (
        "encoded by the tokenizers library: its normalizer is Sequence" in capsys.readouterr().out
    )
    assert_ids_are_the_librarys(out, corpus, model / "tokenizer.json", opens="<s>")
    assert (out / "tokenizer/tokenizer.json").read_bytes() == (
        model / "tokenizer.json"
    ).read_bytes()
    tree = lineage.tree(str(out))
    assert {k: n["state"] for k, n in tree["inputs"].items()} == {"corpus": "ok", "tokenizer": "ok"}
    assert {p.name for p in out.iterdir()} == {
        *(f"{split}.{kind}" for split in SPLITS for kind in ("bin", "idx")),
        *("tokens.json", "lineage.json", "tokenizer"),
    }


def test_a_tokenizer_made_here(corpus: Path, texts: list[str], tmp_path: Path) -> None:
    folder, out = tmp_path / "tokenizer", tmp_path / "out"
    train_tokenizer(iter(texts), 400, str(folder))
    assert run("corpus", "tokenize", corpus, "--tokenizer", folder, "--out", out) == 0
    assert_ids_are_the_librarys(out, corpus, folder / "tokenizer.json", opens="<|endoftext|>")
    assert encoding(out)["encoded_by"] == "compiled pass" and not (out / "tokenizer").exists()


def test_a_file_and_a_url(corpus: Path, texts: list[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    cl100k(texts).save(str(file))
    with fsspec.open("memory://hub/tokenizer.json", "wb") as stream:
        stream.write(file.read_bytes())
    outs = []
    for n, name in enumerate((file, "memory://hub/tokenizer.json", "memory://hub")):
        outs.append(tmp_path / f"out{n}")
        assert run("corpus", "tokenize", corpus, "--tokenizer", name, "--out", outs[-1]) == 0
    assert_ids_are_the_librarys(outs[0], corpus, file, opens="<|endoftext|>")
    assert encoding(outs[0])["why"] == "word rule: cl100k, 3 digits"
    for name in ("train.bin", "train.idx", "val.bin"):
        assert len({(out / name).read_bytes() for out in outs}) == 1


@pytest.mark.parametrize(("make", "opens"), [(unigram, "<s>"), (word_piece, "[CLS]")])
def test_other_kinds_go_to_the_library(
    make, opens: str, corpus: Path, texts: list[str], tmp_path: Path, capsys
) -> None:
    file, out = tmp_path / "tokenizer.json", tmp_path / "out"
    make(texts).save(str(file))
    command = ("corpus", "tokenize", corpus, "--tokenizer", file, "--out", out)
    assert run(*command) == 2  # a bare file names no BOS
    assert "--prefix-token" in capsys.readouterr().err
    assert run(*command, "--prefix-token", "[NONE]") == 2
    assert run(*command, "--prefix-token", opens) == 0
    assert encoding(out)["encoded_by"] == "tokenizers library"
    assert_ids_are_the_librarys(out, corpus, file, opens)


def test_bos_goes_before_eos_before_endoftext(
    corpus: Path, texts: list[str], tmp_path: Path
) -> None:
    special = ("<|endoftext|>", "<bos>", "<eos>")
    cl100k(texts, special).save(str(tmp_path / "tokenizer.json"))
    backend = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    config, named = tmp_path / "tokenizer_config.json", tmp_path / "special_tokens_map.json"
    command = ("corpus", "tokenize", corpus, "--tokenizer", tmp_path, "--split", "val")
    cases = [("<|endoftext|>", {}, {}), ("<eos>", {"eos_token": "<eos>"}, {})]
    cases += [("<bos>", {"eos_token": "<eos>", "bos_token": {"content": "<bos>"}}, {})]
    cases += [("<bos>", {"bos_token": None, "eos_token": "<eos>"}, {"bos_token": "<bos>"})]
    for n, (opens, configured, mapped) in enumerate(cases):
        config.write_text(json.dumps(configured))
        named.write_text(json.dumps(mapped))
        assert run(*command, "--out", tmp_path / f"out{n}") == 0
        firsts = {ids[0] for ids in read(tmp_path / f"out{n}", "val").values()}
        assert firsts == {backend.token_to_id(opens)}
    assert run(*command, "--out", tmp_path / "out0", "--prefix-token", "<eos>") == 0  # not reused
    firsts = {ids[0] for ids in read(tmp_path / "out0", "val").values()}
    assert firsts == {backend.token_to_id("<eos>")}


def test_json_reuse_and_prediction(
    corpus: Path, texts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train_tokenizer(iter(texts), 300, str(tmp_path / "t"))
    out = tmp_path / "out"
    command = ("corpus", "tokenize", corpus, "--tokenizer", tmp_path / "t", "--out", out)
    assert run(*command, "--dry-run", "--json") == 0
    predicted = json.loads(capsys.readouterr().out)
    assert not out.exists()
    assert run(*command, "--split", "train", "--json", tmp_path / "r.json") == 0
    result = json.loads((tmp_path / "r.json").read_text())
    assert list(result["splits"]) == ["train"] and not result["splits"]["train"]["reused"]
    assert result["splits"]["train"]["shards"]["done"] > 5
    # The sample is the whole train split here, so the prediction is exact.
    assert predicted["splits"]["train"]["tokens"] == result["splits"]["train"]["tokens"]
    assert predicted["splits"]["train"]["file_bytes"] == (out / "train.bin").stat().st_size
    assert run(*command) == 0
    shown = capsys.readouterr().out
    assert "(reused)" in shown and "encoded by the compiled pass: word rule: GPT-2" in shown
    assert run(*command, "--dry-run") == 0
    assert "of CPU time, from a sample of" in capsys.readouterr().out


def test_mistakes_are_one_sentence(
    corpus: Path, texts: list[str], tmp_path: Path, monkeypatch, capsys
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://no-such-host.invalid")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    train_tokenizer(iter(texts), 300, str(tmp_path / "t"))
    (tmp_path / "broken.json").write_text("{}")
    out = tmp_path / "out"
    cases: list[tuple[int, str, list[object]]] = [
        (2, "unknown split 'dev': one of train", [corpus, tmp_path / "t", out, "--split", "dev"]),
        (2, "no finished corpus", [tmp_path, tmp_path / "t", out]),
        (2, "cannot be fetched without a network", [corpus, "some-org/some-model", out]),
        (2, "give a folder with tokenizer.json", [corpus, tmp_path / "no/such/folder", out]),
        (2, "has no tokenizer.json", [corpus, tmp_path, out]),
        (1, "is not a tokenizer file", [corpus, tmp_path / "broken.json", out]),
        (2, "name another folder", [corpus, tmp_path / "t", corpus / "tokens"]),
        (2, "needs a local folder", [corpus, tmp_path / "t", "memory://tokens"]),
    ]
    for code, says, (url, name, where, *more) in cases:
        command = ("corpus", "tokenize", url, "--tokenizer", name, "--out", where, *more)
        assert run(*command) == code, says
        error = capsys.readouterr().err
        assert says in error and len(error.strip().splitlines()) == 1, error
    assert not out.exists()


class _Hub(http.server.BaseHTTPRequestHandler):
    """As much of the hub as its client asks for one file."""

    files: ClassVar[dict[str, bytes]] = {}

    def do_HEAD(self, body: bool = False) -> None:
        content = self.files.get(self.path.rpartition("/")[2])
        known = self.path.startswith("/some-org/some-model/resolve/main/")
        self.send_response(200 if content is not None and known else 404)
        if not known:
            self.send_header("X-Error-Code", "RepoNotFound")
        elif content is None:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("X-Repo-Commit", "c" * 40)
        self.send_header("ETag", f'"{hash(content) & 0xFFFFFF:x}"')
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        if body and content is not None:
            self.wfile.write(content)

    def do_GET(self) -> None:
        self.do_HEAD(body=True)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[type[_Hub]]:
    from huggingface_hub import constants

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        template = "{endpoint}/{repo_id}/resolve/{revision}/{filename}"
        template = template.replace("{endpoint}", constants.ENDPOINT)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        yield _Hub
        server.shutdown()


def test_a_hugging_face_name(
    hub: type[_Hub], corpus: Path, texts: list[str], tmp_path: Path, monkeypatch, capsys
) -> None:
    from huggingface_hub import constants

    file, out = tmp_path / "tokenizer.json", tmp_path / "out"
    cl100k(texts, ("<|endoftext|>", "<bos>")).save(str(file))
    config = json.dumps({"bos_token": "<bos>"}).encode()
    hub.files = {"tokenizer.json": file.read_bytes(), "tokenizer_config.json": config}
    command = ("corpus", "tokenize", corpus, "--out", out, "--tokenizer")
    assert run(*command, "some-org/some-model") == 0
    assert_ids_are_the_librarys(out, corpus, file, opens="<bos>")
    assert lineage.read(str(out / "tokenizer")).parameters == {"source": "some-org/some-model"}
    capsys.readouterr()
    assert run(*command, "some-org/other") == 2
    assert "Hugging Face has no model of that name" in capsys.readouterr().err
    monkeypatch.setattr(constants, "ENDPOINT", "http://no-such-host.invalid")
    assert run(*command, "some-org/some-model") == 0  # from the hub's cache
    assert "(reused)" in capsys.readouterr().out


def test_the_page_reads_the_files_with_numpy_and_pyarrow_alone(
    corpus: Path, texts: list[str], tmp_path: Path, root: Path
) -> None:
    train_tokenizer(iter(texts), 300, str(tmp_path / "t"))
    out = tmp_path / "out"
    assert run("corpus", "tokenize", corpus, "--tokenizer", tmp_path / "t", "--out", out) == 0
    page = (root / "docs/corpus/tokens.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (code,) = [b for b in blocks if "np.memmap" in b]
    code = code.replace('"runs/tokens"', repr(str(out)))
    code += """
import sys
assert not {"seamount", "tokenizers", "torch"} & set(sys.modules)
names = index["id"].to_pylist()
print(json.dumps({n: tokens[a:b].tolist() for n, a, b in zip(names, starts, starts[1:])}))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    backend = Tokenizer.from_file(str(tmp_path / "t/tokenizer.json"))
    wanted = {d.id: [0, *library_ids(backend, d.text)] for d in read_split(str(corpus), "train")}
    assert json.loads(done.stdout.splitlines()[-1]) == wanted
