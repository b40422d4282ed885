"""Which words stand near which, by component: co-occurrence counts, a report that drops nothing.

Method: a text is its row of words (runs of letters and digits, case folded). A pair is counted for
every occurrence of a target word and every occurrence of a word of a group at most `window` words
before or after it in the same document. The lift of a target and a group in a component is

    observed pairs / (pairs of all target words with the group x the target's share of all places)

that is, how much more often the group stands near this target than near a target word taken at
random there; pmi is its logarithm of base 2 (pointwise mutual information within the windows). 1
and 0 mean no association; few pairs mean little, so counts stand beside. `lift` uses the
component's own rates, `lift_to_corpus` puts the component's rate (pairs per place near the target)
against that of the whole corpus.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from seamount.core import yaml_file
from seamount.core.errors import UserError
from seamount.corpora.text.located import located_documents

METHOD = "pairs within the window; lift = observed / expected from the component's own rates"
WINDOW = 10
_MOST_WINDOW = 1_000
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class WordList:
    """Word -> its group, word -> its target, and the window in words."""

    groups: dict[str, str]
    targets: dict[str, str]
    window: int = WINDOW


def read_words(url: str) -> WordList:
    """A word list: YAML with `groups: {name: [words]}`, `targets` (a list, or names with lists)
    and, if wanted, `window`. Raises UserError for anything else, and for a word in two groups.
    """
    content = yaml_file.read(url, f"word list {url}")
    if not isinstance(content, dict) or not {"groups", "targets"} <= set(content):
        raise UserError(f"word list {url} needs the keys groups and targets")
    if extra := sorted(map(str, set(content) - {"groups", "targets", "window"})):
        raise UserError(f"word list {url} has the key {extra[0]!r}: only groups, targets, window")
    window = content.get("window", WINDOW)
    if not isinstance(window, int) or isinstance(window, bool) or not 1 <= window <= _MOST_WINDOW:
        raise UserError(f"word list {url}: window is {window!r}: give 1 to {_MOST_WINDOW} words")
    targets = content["targets"]
    if isinstance(targets, list):
        targets = {str(word): [word] for word in targets}
    return WordList(
        _words(content["groups"], "groups", url), _words(targets, "targets", url), window
    )


def _words(content: Any, key: str, url: str) -> dict[str, str]:
    if not isinstance(content, dict) or not content:
        raise UserError(f"word list {url}: {key} must be names with lists of words")
    found: dict[str, str] = {}
    for name, words in content.items():
        if not isinstance(words, list) or not words:
            raise UserError(f"word list {url}: {key}.{name} must be a list of words")
        for word in words:
            folded = str(word).casefold()
            # YAML reads a bare `no` or `1e3` as no text: such a word must stand in quotes
            if not isinstance(word, str) or not _WORD.fullmatch(folded):
                raise UserError(
                    f"word list {url}: {key}.{name} has {word!r}: one word of letters and digits, "
                    "in quotes if YAML takes it for something else"
                )
            if found.setdefault(folded, str(name)) != str(name):
                raise UserError(f"word list {url}: {word!r} stands in two of {key}")
    return found


def bias(url: str, words: WordList) -> dict[str, Any]:
    """Co-occurrence by component in the corpus (or files) at `url`.

    Result: method, window, components {name: {words, targets {name: occurrences}, groups {name:
    occurrences}, pairs {target: {group: {count, lift, pmi, lift_to_corpus}}}}} and `all`, the same
    of everything together. A lift is None where nothing is expected, pmi also where none was seen.
    """
    counts: dict[str, _Counts] = {}
    for one in located_documents(url):
        mine = counts.setdefault(one.document.component, _Counts())
        mine.add(one.document.text, words)
    together = _Counts()
    for mine in counts.values():
        together.merge(mine)
    return {
        "method": METHOD,
        "window": words.window,
        "components": {
            name: _described(mine, together, words) for name, mine in sorted(counts.items())
        },
        "all": _described(together, together, words),
    }


class _Counts:
    """Words, occurrences of targets and groups, pairs, and places (words near each target)."""

    def __init__(self) -> None:
        self.words = 0
        self.targets: Counter[str] = Counter()
        self.groups: Counter[str] = Counter()
        self.places: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()

    def add(self, text: str, words: WordList) -> None:
        row = _WORD.findall(text.casefold())
        self.words += len(row)
        here = [(n, words.groups[w]) for n, w in enumerate(row) if w in words.groups]
        self.groups.update(group for _, group in here)
        first = 0
        for place, word in enumerate(row):
            target = words.targets.get(word)
            if target is None:
                continue
            self.targets[target] += 1
            low, high = place - words.window, place + words.window
            self.places[target] += min(high, len(row) - 1) - max(low, 0)
            while first < len(here) and here[first][0] < low:
                first += 1
            for other, group in here[first:]:
                if other > high:
                    break
                if other != place:
                    self.pairs[target, group] += 1

    def merge(self, other: _Counts) -> None:
        self.words += other.words
        for name in ("targets", "groups", "places", "pairs"):
            getattr(self, name).update(getattr(other, name))


def _described(mine: _Counts, together: _Counts, words: WordList) -> dict[str, Any]:
    targets, groups = (sorted(set(part.values())) for part in (words.targets, words.groups))
    return {
        "words": mine.words,
        "targets": {name: mine.targets[name] for name in targets},
        "groups": {name: mine.groups[name] for name in groups},
        "pairs": {
            target: {group: _association(mine, together, target, group) for group in groups}
            for target in targets
        },
    }


def _association(mine: _Counts, together: _Counts, target: str, group: str) -> dict[str, Any]:
    count, places = mine.pairs[target, group], mine.places[target]
    near_any = sum(n for (_, other), n in mine.pairs.items() if other == group)
    all_places = sum(mine.places.values())
    expected = near_any * places / all_places if all_places else 0.0
    rate = together.pairs[target, group] / max(1, together.places[target])
    lift = count / expected if expected else None
    return {
        "count": count,
        "lift": lift,
        "pmi": math.log2(lift) if lift else None,
        "lift_to_corpus": count / places / rate if places and rate else None,
    }
