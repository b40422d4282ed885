"""The flows on a temporary Prefect server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from standing import digests, records

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(600)]


def artifact(key: str) -> str:
    from prefect.client.orchestration import get_client

    async def newest() -> str:
        async with get_client() as client:
            found = await client.read_latest_artifacts()
        return next(str(a.data) for a in found if a.key == key)

    return asyncio.run(newest())


def test_audit_then_exclude(harness: None, corpus: Path, tmp_path: Path) -> None:
    from flows.audit_corpus import audit_corpus
    from flows.exclude_documents import exclude_documents
    from seamount.core.errors import UserError
    from seamount.corpora.text.audit.composition import audit
    from seamount.corpora.text.manifest import load_manifest

    old, before = digests(corpus), records(corpus)
    benchmark, words = tmp_path / "b.txt", tmp_path / "w.yaml"
    benchmark.write_text(before[0][2]["text"])
    words.write_text("groups: {a: [w1]}\ntargets: [w2]\n")
    options = {"benchmarks": [str(benchmark)], "ngram": 8, "wordlist": str(words)}
    done = audit_corpus(corpus=str(corpus), out=str(tmp_path / "audit"), options=options)
    assert json.loads((tmp_path / "audit/audit.json").read_text()) == audit(str(corpus))
    assert done["facts"]["documents"] == len(before) and digests(corpus) == old
    touched = json.loads((tmp_path / "audit/contamination.json").read_text())["touched"]
    assert touched["documents"] == 1 and (tmp_path / "audit/bias.json").exists()
    assert {row["component"] for row in json.loads(artifact("corpus-composition"))} == {
        r["meta"]["pile_set_name"] for _, _, r in before
    }
    assert "data:image/svg+xml" in artifact("corpus-composition-plot")

    asked = {"corpus": str(corpus), "choice": {"components": ["ArXiv"]}, "out": str(tmp_path / "x")}
    told = exclude_documents(**asked)
    assert told["facts"]["dry_run"] and digests(corpus) == old
    done = exclude_documents(**asked, dry_run=False)
    gone = sum(r["meta"]["pile_set_name"] == "ArXiv" for _, _, r in before)
    assert done["facts"]["documents"] == told["facts"]["documents"] == gone
    assert done["facts"]["corpus_digest"] == load_manifest(str(corpus))["digest"]
    assert {r["component"] for r in json.loads(artifact("exclusion-mixture"))} >= {"ArXiv"}
    again = exclude_documents(**asked, dry_run=False)
    assert again["facts"] == done["facts"]
    with pytest.raises(UserError, match="exactly one of them"):
        exclude_documents(corpus=str(corpus), out=str(tmp_path / "y"))
