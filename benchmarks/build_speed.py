"""A whole build on one core, beside datatrove's equivalent pipeline; and two workers: `make bench`.

Claims: read, normalise, Gopher quality and repetition, exact and near deduplication, mixture, split
and written shards take a twentieth of what datatrove's pipeline takes (JsonlReader, its two Gopher
filters, MinHash signatures, buckets, clusters and filter, JsonlWriter): the same documents, word
5-grams, 20 bands of 6 hashes, zstd, one process each. Two workers take 1 / 1.7 of the time of one.

    python benchmarks/build_speed.py [--data URL] [--bytes 30000000] [--megabytes 400]
                                     [--files 24] [--rounds 2] [--json FILE]

Counted are whole commands: CPU of the process and its children, and the wall clock, imports
included; and the same less what the command takes for three documents (its start). The best of
--rounds of ours, and one of datatrove's. `--megabytes 0` leaves the workers out, `--bytes 0` the
peer. Of --data (default: the given Pile sample beside this repository) the peer's part takes the
prose, an edited copy of every tenth document, and documents made of windows of their lines; the
workers' part is made of windows of all, with the Pile's own filters.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from build_memory import SOURCE_BYTES, generated, windows, write_source
from filters_speed import DATA, PROSE
from peers import python_of
from read_speed import collect

from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst

PEER = ("datatrove[io,processing]==0.10.1", "spacy==3.8.18", "zstandard", "orjson")
COMPONENT = "Pile-CC"
CATALOG = """
name: gopher
mixture: natural
components:
  Pile-CC:
    filters: [gopher_quality, gopher_repetition]
"""
PEER_CODE = """
import sys
from loguru import logger
logger.remove()
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import (
    MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature)
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.filters import GopherQualityFilter, GopherRepetitionFilter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
source, out = sys.argv[1:]
config = MinhashConfig(n_grams=5, num_buckets=20, hashes_per_bucket=6)
def reader(folder):
    return JsonlReader(folder, glob_pattern="*.zst", compression="zstd", text_key="text")
def writer(folder):
    return JsonlWriter(folder, output_filename="${rank}.jsonl.zst", compression="zstd")
def run(name, steps, tasks=1):
    LocalPipelineExecutor(steps, tasks=tasks, workers=1, logging_dir=f"{out}/logs/{name}").run()
run("filter", [reader(source), GopherQualityFilter(), GopherRepetitionFilter(),
               writer(f"{out}/filtered")])
run("sign", [reader(f"{out}/filtered"), MinhashDedupSignature(f"{out}/sigs", config=config)])
run("match", [MinhashDedupBuckets(f"{out}/sigs", f"{out}/buckets", config=config)], tasks=20)
run("cluster", [MinhashDedupCluster(f"{out}/buckets", f"{out}/remove", config=config)])
run("write", [reader(f"{out}/filtered"), MinhashDedupFilter(f"{out}/remove"),
              writer(f"{out}/final")])
"""


def prose(source: str, limit: int) -> Iterator[Document]:
    """Real documents of prose under one component, an edited copy of every tenth, and documents
    made of windows of their lines until there are `limit` bytes.
    """
    found = [d for d in collect(source, limit) if d.component in PROSE and d.text.strip()]
    for number, document in enumerate(found):
        yield Document(document.text, COMPONENT, str(number), "", {})
        limit -= len(document.text.encode())
        if number % 10 == 0:
            yield Document(f"{document.text}\nThe end.\n", COMPONENT, f"{number} again", "", {})
    pool = windows(document.text for document in found)
    yield from (replace(d, id=f"made {d.id}") for d in generated(pool, limit, Random(0)))


@contextmanager
def counted() -> Iterator[dict[str, float]]:
    """CPU seconds of child processes that end inside, and the wall clock."""
    found: dict[str, float] = {}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    yield found
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found["wall_s"] = time.monotonic() - start
    found["cpu_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command(*given: str) -> tuple[str, dict[str, float]]:
    """Run a command on one thread a process; what it printed, and what it took."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with counted() as taken:
        done = subprocess.run(given, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{given[0]} failed:\n{done.stderr[-4000:]}")
    return done.stdout, taken


def build_child(source: str, out: str, catalog: str, workers: str) -> dict[str, Any]:
    """Build a corpus in this process and tell how long each stage took."""
    from seamount.corpora.text import build
    from seamount.corpora.text.stages import deduplicate, mix

    seconds: dict[str, float] = {}

    def timed(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            start = time.monotonic()
            result = function(*args, **options)
            seconds[name or args[1]] = time.monotonic() - start
            return result

        return call

    build._each = timed(build._each)  # its second argument is the stage's name
    deduplicate.dedupe = timed(deduplicate.dedupe, "dedupe")
    mix.mix_and_split = timed(mix.mix_and_split, "mix")
    build.finish = timed(build.finish, "publish")
    start = time.monotonic()
    request = build.CorpusRequest((source,), out, catalog or None, workers=int(workers))
    reference = build.build_corpus(request)
    seconds["plan and cluster"] = time.monotonic() - start - sum(seconds.values())
    return {"documents": reference.documents, "bytes": reference.bytes, "stages_s": seconds}


def ours(source: Path, out: Path, catalog: Path | None, workers: int) -> dict[str, Any]:
    given = [sys.executable, __file__, "--child", str(source), str(out)]
    said, taken = command(*given, str(catalog or ""), str(workers))
    return {**json.loads(said.splitlines()[-1]), **taken}


def theirs(python: str, source: Path, out: Path) -> dict[str, Any]:
    _, taken = command(python, "-c", PEER_CODE, str(source), str(out))
    kept = [
        record
        for path in (out / "final").glob("*.zst")
        for record in jsonl_zst.read_documents(str(path))
        if isinstance(record, Document)
    ]
    return {"documents": len(kept), "bytes": sum(len(d.text.encode()) for d in kept), **taken}


def beside_datatrove(source: str, limit: int, rounds: int, folder: Path) -> dict[str, Any]:
    python, catalog = python_of("datatrove-build", PEER), folder / "gopher.yaml"
    catalog.write_text(CATALOG)
    documents = list(prose(source, limit))
    size = sum(len(d.text.encode()) for d in documents) / 1e6
    jsonl_zst.write_documents(str(folder / "all" / "00.jsonl.zst"), documents)
    jsonl_zst.write_documents(str(folder / "few" / "00.jsonl.zst"), good_few(documents))
    print(f"one process: {len(documents):,} documents, {size:.1f} MB")
    ours(folder / "few", folder / "warm", catalog, 1)  # kernels are compiled once a machine
    found = {}
    for number in range(rounds):
        for name in ("few", "all"):
            one = ours(folder / name, folder / f"own-{name}-{number}", catalog, 1)
            best = found.setdefault(f"seamount {name}", one)
            found[f"seamount {name}"] = min(best, one, key=lambda x: x["cpu_s"])
    for name in ("few", "all"):
        found[f"datatrove {name}"] = theirs(python, folder / name, folder / f"peer-{name}")
    return {"megabytes": size, **found, "ratios": peer_ratios(found, size)}


def good_few(documents: list[Document]) -> list[Document]:
    """Three plain pages: a corpus of which something must be left."""
    words = [d for d in documents if 2_000 < len(d.text) < 8_000 and d.text.count(" the ") > 20]
    return words[:: max(1, len(words) // 3)][:3]


def peer_ratios(found: dict[str, Any], size: float) -> dict[str, float]:
    ratios = {}
    for name in ("seamount", "datatrove"):
        whole = found[f"{name} all"]
        print(
            f"  {name:10} {whole['documents']:6,} documents kept, {whole['bytes'] / 1e6:5.1f} MB   "
            f"{whole['cpu_s']:7.2f} s of CPU  {whole['wall_s']:7.2f} s  "
            f"{size / whole['cpu_s']:7.2f} MB a CPU-s   start {found[f'{name} few']['cpu_s']:.2f} s"
        )
    for kind in ("cpu_s", "wall_s"):
        mine, other = found["seamount all"][kind], found["datatrove all"][kind]
        ratios[kind] = other / mine
        less = other - found["datatrove few"][kind], mine - found["seamount few"][kind]
        ratios[f"{kind}, less start"] = less[0] / less[1]
    for kind, ratio in ratios.items():
        print(f"  datatrove / seamount, {kind:20} {ratio:7.1f}")
    return ratios


def two_workers(
    source: str, megabytes: int, files: int, rounds: int, folder: Path
) -> dict[str, Any]:
    pool = windows(document.text for document in collect(source, SOURCE_BYTES))
    size = megabytes * 1_000_000
    write_source(pool, size, folder / "made", -(-size // files))
    print(f"workers: {megabytes} MB in {files} files")
    found: dict[int, dict[str, Any]] = {}
    for number in range(rounds):
        for workers in (1, 2):
            one = ours(folder / "made", folder / f"workers-{workers}-{number}", None, workers)
            best = found.setdefault(workers, one)
            found[workers] = min(best, one, key=lambda x: x["wall_s"])
    for workers, one in found.items():
        stages = "  ".join(f"{name} {seconds:.1f}" for name, seconds in one["stages_s"].items())
        print(f"  {workers}  {one['wall_s']:6.1f} s  {one['cpu_s']:6.1f} s of CPU   {stages}")
    ratios = {
        "wall, 1 / 2": found[1]["wall_s"] / found[2]["wall_s"],
        "cpu, 2 / 1": found[2]["cpu_s"] / found[1]["cpu_s"],
    }
    for name, ratio in ratios.items():
        print(f"  {name:12} {ratio:5.2f}")
    return {"megabytes": megabytes, "workers": found, "ratios": ratios}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", default=str(DATA))
    parser.add_argument("--bytes", type=int, default=30_000_000)
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--files", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs=4)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(build_child(*given.child)))
        return
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        if given.bytes:
            place = Path(folder) / "peer"
            place.mkdir()
            found["peer"] = beside_datatrove(given.data, given.bytes, given.rounds, place)
        if given.megabytes:
            place = Path(folder) / "workers"
            found["workers"] = two_workers(
                given.data, given.megabytes, given.files, given.rounds, place
            )
    if given.json:
        given.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
