"""What is said of a corpus that another build takes the place of."""

from __future__ import annotations

from typing import Any


def difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    """How the request of one manifest differs from that of another, in a few words.

    Names parameters with both values (those of a catalog by name alone), and counts inputs that
    came, went or changed.
    """
    told = []
    for key in sorted(old["parameters"].keys() | new["parameters"].keys()):
        before, now = old["parameters"].get(key), new["parameters"].get(key)
        if before != now:
            plain = not isinstance(before, dict | list) and not isinstance(now, dict | list)
            told.append(f"{key} {before} -> {now}" if plain else f"another {key}")
    then = {one["name"]: one["sha256"] for one in old["inputs"]}
    here = {one["name"]: one["sha256"] for one in new["inputs"]}
    changed = sum(then[name] != here[name] for name in then.keys() & here.keys())
    counts = {
        "new": len(here.keys() - then.keys()),
        "gone": len(then.keys() - here.keys()),
        "changed": changed,
    }
    told += [f"inputs {word}: {count:,}" for word, count in counts.items() if count]
    return ", ".join(told) or "the same request"
