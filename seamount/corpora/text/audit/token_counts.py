"""Tokens of a corpus by component: estimated from bytes, or counted in a token folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamount.core import storage
from seamount.core.errors import UserError

ESTIMATE = "estimate: bytes x tokens_per_byte of the catalog"
EXACT = "exact: the token files"


def rules_of(content: dict[str, Any]) -> dict[str, Any]:
    """What the catalog says of each component: that of a built corpus (its manifest), else the
    Pile's, by any of its spellings.
    """
    if content:
        return dict(content["parameters"]["catalog"]["components"])
    from seamount.corpora.text.catalog import load_catalog

    pile = load_catalog("pile")
    return {s: pile.component(name).model_dump() for s, name in pile.canonical.items()}


def estimated(components: Mapping[str, Any], catalog: Mapping[str, Any]) -> dict[str, Any]:
    """{method, total, components {name: tokens}, unknown_bytes}: the last are the bytes of
    components without a tokens_per_byte, which are in no sum.
    """
    found, unknown = {}, 0
    for name, part in sorted(components.items()):
        rate = catalog.get(name, {}).get("tokens_per_byte")
        if rate is None:
            unknown += part["bytes"]
        else:
            found[name] = round(part["bytes"] * rate)
    return {
        "method": ESTIMATE,
        "total": sum(found.values()),
        "components": found,
        "unknown_bytes": unknown,
    }


def exact(folder: str, content: dict[str, Any]) -> dict[str, Any]:
    """{method, total, components, splits}: what the token files in `folder` hold, of which splits.

    An opening token counts with its document. Raises UserError where they are of another corpus, or
    of this one in another state.
    """
    url = storage.join(folder, "tokens.json")
    if not storage.exists(url):
        raise UserError(f"{folder} holds no token files: tokenise the corpus first")
    info = storage.read_json(url)
    if not content or info["inputs"].get("corpus", {}).get("digest") != content["digest"]:
        raise UserError(
            f"the tokens in {folder} were made from another corpus, or from this one before it "
            "changed: tokenise it again, or leave --tokens out for an estimate"
        )
    found: dict[str, int] = {}
    for split in info["splits"].values():
        for name, part in split["components"].items():
            found[name] = found.get(name, 0) + part["tokens"]
    return {
        "method": EXACT,
        "total": sum(found.values()),
        "components": dict(sorted(found.items())),
        "splits": sorted(info["splits"]),
    }
