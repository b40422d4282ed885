"""Which tokenizers the compiled pass serves, read from their description (tokenizer.json).

Served are byte-level BPE models behind one of these word rules, without a normalizer or with NFC:

- GPT-2: a ByteLevel pre-tokenizer with its own regex, with or without `add_prefix_space`;
- GPT-2 after single digits: Digits(individual_digits), then ByteLevel (StarCoder, SmolLM);
- cl100k: a Split by the regex below, then ByteLevel without a regex. Llama 3 and GPT-4 take up to
  three digits as a word, Qwen 2 one.

Everything else is the library's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
_DIGITS = re.compile(r"\\p\{N\}(?:\{1,([1-9]\d{0,3})\}|(\+))?")
_ANY_NUMBER = 1 << 30


@dataclass(frozen=True)
class Rule:
    """How a served tokenizer cuts words.

    `digits` is the most digits of a word by cl100k's rule, 0 where the rule is GPT-2's. A text that
    holds one of `added` (added tokens that are not special) is the library's.
    """

    name: str
    digits: int = 0
    single_digits: bool = False
    prefix_space: bool = False
    nfc: bool = False
    ignore_merges: bool = False
    added: tuple[str, ...] = ()


def recognise(spec: dict[str, Any]) -> Rule | str:
    """The rule of a tokenizer that the compiled pass serves, or why it does not."""
    model, normalizer = spec["model"], (spec["normalizer"] or {}).get("type")
    if normalizer not in (None, "NFC"):
        return f"its normalizer is {normalizer}"
    problem = _model_problem(model)
    if problem:
        return problem
    splitting = _splitting(spec["pre_tokenizer"] or {})
    if splitting is None:
        return "its pre-tokenizer is of another kind"
    return Rule(
        **splitting,
        nfc=normalizer == "NFC",
        ignore_merges=bool(model.get("ignore_merges")),
        added=_shortest([t["content"] for t in spec["added_tokens"] if not t["special"]]),
    )


def pair(merge: str | list[str]) -> list[str]:
    """Both halves of a merge, which older files write as one string."""
    return merge.split(" ") if isinstance(merge, str) else merge


def alphabet() -> dict[str, int]:
    """GPT-2's letters for the 256 bytes (openai/gpt-2, encoder.py, bytes_to_unicode)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {chr(byte): byte for byte in plain}
    return letters | {chr(256 + number): byte for number, byte in enumerate(others)}


def _model_problem(model: dict[str, Any]) -> str | None:
    if model.get("type") != "BPE":
        return f"its model is {model.get('type')}"
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(name):
            return f"its model has {name}"
    if not set(alphabet()) <= set(model["vocab"]):
        return "its vocabulary has not all 256 bytes"
    if len({tuple(pair(m)) for m in model["merges"]}) != len(model["merges"]):
        return "its model lists a merge twice"
    return None


def _splitting(splitter: dict[str, Any]) -> dict[str, Any] | None:
    if _is(splitter, "ByteLevel", use_regex=True):
        space = bool(splitter["add_prefix_space"])
        return {"name": "GPT-2, with a space before" if space else "GPT-2", "prefix_space": space}
    parts: list[dict[str, Any]] = splitter.get("pretokenizers") or []
    if splitter.get("type") != "Sequence" or len(parts) != 2:
        return None
    first, last = parts[0], parts[1]
    if _is(first, "Digits", individual_digits=True) and _is(
        last, "ByteLevel", add_prefix_space=False, use_regex=True
    ):
        return {"name": "single digits, then GPT-2", "single_digits": True}
    if _is(first, "Split", behavior="Isolated", invert=False) and _is(
        last, "ByteLevel", add_prefix_space=False, use_regex=False
    ):
        return _cl100k(first["pattern"].get("Regex", ""))
    return None


def _is(part: dict[str, Any], kind: str, **values: Any) -> bool:
    return part.get("type") == kind and all(part.get(k) == v for k, v in values.items())


def _cl100k(pattern: str) -> dict[str, Any] | None:
    """The rule of a pattern that is cl100k's but for its digits: \\p{N}, \\p{N}{1,k}, \\p{N}+."""
    before, after = _CL100K
    if not (pattern.startswith(before) and pattern.endswith(after)):
        return None
    found = _DIGITS.fullmatch(pattern[len(before) : len(pattern) - len(after)])
    if found is None:
        return None
    digits = _ANY_NUMBER if found[2] else int(found[1] or 1)
    return {"name": f"cl100k, {'any number of' if found[2] else digits} digits", "digits": digits}


def _shortest(contents: list[str]) -> tuple[str, ...]:
    """Those that hold no other: a text without these is without the rest."""
    return tuple(c for c in contents if not any(o != c and o in c for o in contents))
