"""`manifest.json`, the account of a finished corpus: shards, ledger, mixture, parameters."""

from __future__ import annotations

from typing import Any

from seamount.core import storage
from seamount.core.errors import CorruptData, UserError

FILE_NAME = "manifest.json"
FORMAT = "seamount corpus"
VERSION = 1
EXCLUDE_FOLDER = ".exclude"


def plan_url(url: str) -> str:
    """Where the plan of an exclusion lies while it puts its files in place."""
    return storage.join(url, EXCLUDE_FOLDER, "plan.json")


def load_manifest(url: str) -> dict[str, Any]:
    """The manifest of the corpus in folder `url`; raises UserError where there is none."""
    path = storage.join(url, FILE_NAME)
    if not storage.exists(path):
        refuse_unfinished_exclusion(url)
        raise UserError(f"{url} holds no finished corpus ({FILE_NAME} is missing): build it first")
    content = storage.read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CorruptData(f"{path} is not the manifest of a corpus")
    if content["version"] > VERSION:
        raise UserError(f"{path} was written by a newer version of Seamount: update Seamount")
    return content


def refuse_unfinished_exclusion(url: str) -> None:
    """Raise UserError where an exclusion was stopped half-way."""
    if storage.exists(plan_url(url)):
        raise UserError(
            f"an exclusion from {url} was stopped half-way: run the same `seamount corpus exclude` "
            "command again, it goes on to its end"
        )


def refuse_to_resurrect(url: str) -> None:
    """Raise UserError where documents were excluded from the corpus in `url`: it is not built over.

    Other inputs, rules or code make another corpus, into which the excluded ones would come back.
    """
    if not is_corpus(url):
        return
    history = load_manifest(url).get("exclusions", [])
    if history:
        count = sum(one["documents"] for one in history)
        raise UserError(
            f"{count} documents were excluded from the corpus in {url}, and this build would bring "
            "them back: give another --out and repeat the exclusions there with `seamount corpus "
            f"exclude OUT --repeat {url}`, or remove {url} if they may come back"
        )


def is_corpus(url: str) -> bool:
    """Whether folder `url` holds a finished corpus."""
    return storage.exists(storage.join(url, FILE_NAME))


def changed(url: str, what: str) -> CorruptData:
    """The error for a shard that is not as the build wrote it."""
    return CorruptData(f"{url} was changed after the corpus was built ({what}): build it again")


def missing_shards(url: str, content: dict[str, Any]) -> list[str]:
    """Shards of a manifest that are absent or of another size; sizes only, nothing is read."""
    wrong = []
    for shard in content["shards"]:
        path = storage.join(url, shard["path"])
        if not storage.exists(path) or storage.size_bytes(path) != shard["size_bytes"]:
            wrong.append(shard["path"])
    return wrong
