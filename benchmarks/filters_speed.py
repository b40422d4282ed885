"""All quality heuristics in one shared pass, beside datatrove's Gopher filters: `make bench`.

Claim: Gopher quality and repetition, C4 (page and lines) and FineWeb together run at 20 MB/s a core
or more and at 40 times the rate of datatrove's Gopher quality and repetition on the same documents.
Every rule is asked about every document, so nothing is saved by an early drop. Process CPU time of
one thread; the best of three on our side.

    python benchmarks/filters_speed.py [--data FOLDER] [--bytes 10000000] [--peer-bytes 2000000]
                                       [--peer PYTHON]

FOLDER has Pile-format .jsonl.zst files; prose components are taken (default: the given sample data
beside this repository). Without --peer an environment with datatrove is made and thrown away.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from seamount.corpora.text import formats
from seamount.corpora.text.edits import load_edits
from seamount.corpora.text.filters import load_rules
from seamount.corpora.text.normalise import normalise
from seamount.corpora.text.text_statistics import measure

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "pile_sample"
PROSE = ("FreeLaw", "Gutenberg (PG-19)", "OpenWebText2", "PhilPapers", "EuroParl",
         "YoutubeSubtitles", "PubMed Central", "PubMed Abstracts", "Wikipedia (en)")  # fmt: skip
RULES = ("gopher_quality", "gopher_repetition", "c4_page", "fineweb_quality")
PEER = ("datatrove[processing]==0.10.1", "spacy==3.8.18")
PEER_CODE = """
import json, sys, time
from datatrove.data import Document
from datatrove.pipeline import filters
texts = json.load(open(sys.argv[1]))
def run(*kinds):
    rules = [kind() for kind in kinds]
    for rule in rules:
        rule.filter(Document(text="the first call loads the tokenizer. " * 20, id=""))
    start = time.process_time()
    for text in texts:
        for rule in rules:  # the words of one text are kept, so both rules share them
            rule.filter(Document(text=text, id=""))
    return time.process_time() - start
print(json.dumps({
    "gopher": run(filters.GopherQualityFilter, filters.GopherRepetitionFilter),
    "c4": run(filters.C4QualityFilter), "fineweb": run(filters.FineWebQualityFilter)}))
"""


def load(data: Path, limit: int) -> list[str]:
    texts, size = [], 0
    for url in formats.list_inputs(str(data)):
        for document in formats.read(url):
            if getattr(document, "component", "") in PROSE and document.text.strip():
                texts.append(normalise(document.text))
                size += len(texts[-1].encode())
                if size >= limit:
                    return texts
    return texts


def best(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(3):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def ours(texts: list[str]) -> dict[str, float]:
    rules, ((_, lines),) = load_rules(RULES), load_edits(("c4_lines",))
    measure(b"compiled").repetition  # noqa: B018  compiles, or reads what was compiled before

    def together() -> None:
        for text in texts:
            lines(text)
            statistics = measure(text.encode())
            for _, rule in rules:
                rule(text, statistics)
            statistics.repetition  # noqa: B018  also where an earlier limit was passed

    return {
        "all together": best(together),
        "  one pass": best(lambda: [measure(text.encode()) for text in texts]),
        "  c4_lines": best(lambda: [lines(text) for text in texts]),
    }


def peer_seconds(python: str | None, texts: list[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        if python is None:
            subprocess.run([sys.executable, "-m", "venv", folder + "/venv"], check=True)
            python = folder + "/venv/bin/python"
            subprocess.run([python, "-m", "pip", "install", "-q", *PEER], check=True)
        path = Path(folder) / "texts.json"
        path.write_text(json.dumps(texts))
        done = subprocess.run(
            [python, "-c", PEER_CODE, str(path)], check=True, capture_output=True, text=True
        )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--bytes", type=int, default=10_000_000)
    parser.add_argument("--peer-bytes", type=int, default=2_000_000)
    parser.add_argument("--peer")
    given = parser.parse_args()
    texts = load(given.data, given.bytes)
    few = load(given.data, given.peer_bytes)
    size, few_size = (sum(len(t.encode()) for t in some) / 1e6 for some in (texts, few))
    print(f"ours, {len(texts)} documents of prose, {size:.1f} MB")
    for name, seconds in ours(texts).items():
        print(f"  {name:24} {size / seconds:8.1f} MB/s")
    print(f"ours and datatrove on the same {len(few)} documents, {few_size:.1f} MB")
    mine = few_size / ours(few)["all together"]
    theirs = peer_seconds(given.peer, few)
    rates = {name: few_size / seconds for name, seconds in theirs.items()}
    rates["all together"] = few_size / sum(theirs.values())
    print(f"  {'ours, all together':24} {mine:8.1f} MB/s")
    for name, rate in rates.items():
        print(f"  {'datatrove ' + name:24} {rate:8.3f} MB/s   ratio {mine / rate:6.0f}x")


if __name__ == "__main__":
    main()
