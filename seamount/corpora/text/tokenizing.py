"""A built corpus to token files: shard by shard, on any number of workers, resumed after a stop.

Each shard is encoded into a part under OUT/.work, keyed by all that decides its ids; finished parts
are joined in the order of the shards. So the files are the same for every number of workers, and a
run that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from seamount.core import progress, settings, storage
from seamount.core.code_version import code_digest
from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document
from seamount.corpora import graph
from seamount.corpora.text import jsonl_zst, manifest, token_parts, tokenizer_source, tokens
from seamount.corpora.text.split import SPLITS, read_split
from seamount.corpora.text.stages import stage
from seamount.corpora.text.tokenizer import Tokenizer, load_tokenizer

ALL = "all"
TOKENIZER = "tokenizer"
_SAMPLE_BYTES = 4 << 20
_CODE = tuple(f"seamount.corpora.text.{name}" for name in ("encoding", "token_parts", "tokenizer"))


@dataclass(frozen=True)
class TokenizeRequest:
    """What to encode with what. `tokenizer` is a folder, a tokenizer.json or a Hugging Face name.

    `prefix_token` opens each document (default: the tokenizer's BOS, else EOS, `<|endoftext|>`).
    """

    corpus: str
    tokenizer: str
    out: str
    splits: tuple[str, ...]
    workers: int = 0
    scheduler: str | None = None
    prefix_token: str | None = None


@dataclass(frozen=True)
class _Job:
    """One shard to be encoded in some process, which loads the tokenizer from its folder."""

    url: str
    sha256: str
    tokenizer: str
    prefix_token: str | None
    digest: str
    part: str
    one_thread: bool = False


def splits_of(corpus: str, split: str) -> tuple[str, ...]:
    """The splits meant by a name or `all`: those that hold a document.

    Raises UserError for another name, and for a split without a document.
    """
    if split not in (*SPLITS, ALL):
        raise UserError(f"unknown split {split!r}: one of {', '.join((*SPLITS, ALL))}")
    held = manifest.load_manifest(corpus)["splits"]
    found = tuple(s for s in SPLITS if split in (s, ALL) and held.get(s, {}).get("documents"))
    if not found:
        what = "no document" if split == ALL else f"no document in its split {split!r}"
        raise UserError(f"the corpus {corpus} has {what}: there is nothing to tokenise")
    return found


def tokenize_corpus(request: TokenizeRequest) -> list[tokens.TokensRef]:
    """Encode each split, or reuse what is there; one reference a split."""
    _check_out(request)
    corpus = tokens.corpus_reference(request.corpus)
    tokenizer = _tokenizer_of(request, corpus)
    tokens.require_prefix(tokenizer)
    inputs = _inputs(corpus, tokenizer.folder, tokenizer.digest)
    found = {s: tokens.reusable(request.out, s, inputs, tokenizer) for s in request.splits}
    jobs = {s: _jobs(request, s, tokenizer) for s, known in found.items() if known is None}
    if jobs:
        workers = min(request.workers, max(map(len, jobs.values())))
        with graph.cluster(workers, request.scheduler) as handle:
            for split, work in jobs.items():
                found[split] = _tokenize(request.out, split, tokenizer, inputs, work, handle)
    tokens.seal(request.out)  # an earlier run may have been stopped before it did so
    storage.remove_tree(storage.join(request.out, stage.WORK))
    return [reference for reference in found.values() if reference is not None]


def predict(request: TokenizeRequest) -> dict[str, Any]:
    """What `tokenize_corpus` would write, from a sample of the first split; nothing is written.

    {splits: {name: {documents, bytes, tokens, file_bytes}}, sample: {documents, bytes, tokens,
    cpu_s}, hours (on one worker), ...: see tokenizer_source.described}.
    """
    _check_out(request)
    with tempfile.TemporaryDirectory(prefix="seamount-tokenizer-") as folder:
        tokenizer = _opened(request, folder)
        tokens.require_prefix(tokenizer)
        sample = _sample(request, tokenizer)
        described = tokenizer_source.described(tokenizer) | {TOKENIZER: request.tokenizer}
    held = manifest.load_manifest(request.corpus)["splits"]
    rate = sample["tokens"] / max(1, sample["bytes"])
    size = int(token_parts.dtype_of(tokenizer)[-1])
    splits = {}
    for name in request.splits:
        count = round(held[name]["bytes"] * rate) + held[name]["documents"]
        splits[name] = {**held[name], "tokens": count, "file_bytes": count * size}
    whole = sum(part["bytes"] for part in splits.values())
    hours = whole * sample["cpu_s"] / max(1, sample["bytes"]) / 3600
    return {**described, "splits": splits, "sample": sample, "hours": hours}


def _check_out(request: TokenizeRequest) -> None:
    storage.local_path(request.out)  # memory maps need a local folder
    if storage.is_inside(request.out, request.corpus):
        raise UserError(
            f"the output {request.out!r} is the corpus or lies in it: name another folder"
        )


def _inputs(corpus: dict[str, str], folder: str, digest: str) -> dict[str, dict[str, str]]:
    path = str(storage.local_path(folder).resolve())  # the lineage is asked from anywhere
    return {"corpus": corpus, TOKENIZER: {"path": path, "digest": digest}}


def _tokenizer_of(request: TokenizeRequest, corpus: dict[str, str]) -> Tokenizer:
    """The request's tokenizer, from a folder that stays: its own, or a copy in the output."""
    if tokenizer_source.is_own(request.tokenizer):
        return _with_prefix(load_tokenizer(request.tokenizer), request.prefix_token)
    files = tokenizer_source.find(request.tokenizer)
    folder = storage.join(request.out, TOKENIZER)
    digest = hashlib.sha256(files["tokenizer.json"]).hexdigest()
    tokens.withdraw(request.out, None, _inputs(corpus, folder, digest))
    copied = tokenizer_source.copy(files, request.tokenizer, folder)
    return _with_prefix(copied, request.prefix_token)


def _opened(request: TokenizeRequest, folder: str) -> Tokenizer:
    """As `_tokenizer_of`, but with the copy in a folder that goes."""
    if tokenizer_source.is_own(request.tokenizer):
        found = load_tokenizer(request.tokenizer)
    else:
        files = tokenizer_source.find(request.tokenizer)
        found = tokenizer_source.copy(files, request.tokenizer, folder)
    return _with_prefix(found, request.prefix_token)


def _with_prefix(tokenizer: Tokenizer, token: str | None) -> Tokenizer:
    return tokenizer if token is None else replace(tokenizer, prefix_id=tokenizer.token_id(token))


def _jobs(request: TokenizeRequest, split: str, tokenizer: Tokenizer) -> list[_Job]:
    if split not in SPLITS:
        raise UserError(f"unknown split {split!r}: one of {', '.join(SPLITS)}")
    shards = [s for s in manifest.load_manifest(request.corpus)["shards"] if s["split"] == split]
    work = storage.join(request.out, stage.WORK, "tokens")
    return [
        _Job(
            url=storage.join(request.corpus, shard["path"]),
            sha256=shard["sha256"],
            tokenizer=tokenizer.folder,
            prefix_token=request.prefix_token,
            digest=tokenizer.digest,
            part=storage.join(work, _part_key(shard["sha256"], tokenizer)),
        )
        for shard in shards
    ]


def _part_key(sha256: str, tokenizer: Tokenizer) -> str:
    """Of all that decides the ids of a shard: text, tokenizer, opening token, code."""
    import tokenizers

    code = [code_digest(name) for name in _CODE]
    versions = [tokens.FORMAT, tokenizers.__version__, code]
    return stage.combined_key(sha256, tokenizer.digest, tokenizer.prefix_id, versions)


def _tokenize(
    out: str,
    split: str,
    tokenizer: Tokenizer,
    inputs: dict[str, dict[str, str]],
    jobs: list[_Job],
    handle: graph.Handle,
) -> tokens.TokensRef:
    start_s = time.monotonic()
    if handle.address is not None:  # workers are the parallelism: the library's own would add to it
        jobs = [replace(job, one_thread=True) for job in jobs]
    with progress.bar(f"tokenise {split}", len(jobs)) as bar:
        done = handle.map(_encode_shard, jobs, lambda one: bar.advance(note=f"{one.bytes:,} bytes"))
    entry = tokens.publish([job.part for job in jobs], tokenizer, out, split, inputs)
    reference = tokens.reference_to(out, split, entry, duration_s=time.monotonic() - start_s)
    return replace(reference, shards=stage.count(done))


def _encode_shard(job: _Job) -> stage.Done:
    """Encode one shard into its part, in whatever process."""
    if job.one_thread:
        settings.export_environment(TOKENIZERS_PARALLELISM="false")

    def work(folder: str) -> dict[str, Any]:
        tokenizer = _loaded(job.tokenizer, job.digest, job.prefix_token)
        return token_parts.write_part(_documents(job), tokenizer, folder)

    return stage.run(job.part, work)


@lru_cache(maxsize=1)
def _loaded(folder: str, digest: str, prefix_token: str | None) -> Tokenizer:
    """A worker's tokenizer, kept from shard to shard."""
    found = load_tokenizer(folder)
    if found.digest != digest:
        raise CorruptData(f"the tokenizer in {folder} was changed meanwhile: tokenise again")
    return _with_prefix(found, prefix_token)


def _documents(job: _Job) -> Iterator[Document]:
    """Documents of a shard that is as the build wrote it, else CorruptData."""
    digest = hashlib.sha256()
    for record in jsonl_zst.read_documents(job.url, on_bytes=digest.update):
        if not isinstance(record, Document):
            raise manifest.changed(job.url, f"line {record.line}: {record.reason}")
        yield record
    if digest.hexdigest() != job.sha256:
        raise manifest.changed(job.url, "its SHA-256 is another")


def _sample(request: TokenizeRequest, tokenizer: Tokenizer) -> dict[str, Any]:
    texts: list[str] = []
    size = 0
    for document in read_split(request.corpus, request.splits[0]):
        texts.append(document.text)
        size += len(document.text.encode())
        if size >= _SAMPLE_BYTES:
            break
    tokenizer.encode_arrays(texts[:1])  # compiles
    start_s = time.process_time()
    arrays = tokenizer.encode_arrays(texts)
    cpu_s = time.process_time() - start_s
    count = sum(map(len, arrays))
    return {"documents": len(texts), "bytes": size, "tokens": count, "cpu_s": cpu_s}
