"""What to exclude: whole components, documents by id, or all whose text matches a pattern."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from seamount.core.errors import UserError

PREFIX = "excluded: "


@dataclass(frozen=True)
class Rule:
    """One kind of choice: `components`, `ids`, or `match`, a Python regular expression that is
    searched for in the text. Raises UserError where it is none or more than one of them.
    """

    components: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    match: str | None = None

    def __post_init__(self) -> None:
        given = [bool(self.components), bool(self.ids), self.match is not None]
        if sum(given) != 1:
            raise UserError(
                "say what to exclude: by components, by ids or by a match, exactly one of them"
            )
        object.__setattr__(self, "components", tuple(sorted(set(self.components))))
        object.__setattr__(self, "ids", tuple(sorted(set(self.ids))))
        if self.match is not None:
            _refuse_empty_match(self.match, self.pattern)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled `match`."""
        try:
            return re.compile(self.match or "")
        except (re.error, RecursionError, OverflowError) as error:
            raise UserError(
                f"--match {self.match!r} is no regular expression: {error}; put a backslash "
                "before signs that are meant as they stand"
            ) from error

    def reason(self, component: str) -> str:
        """The ledger's reason for a document of `component`."""
        if self.components:
            return f"{PREFIX}component {component}"
        return f"{PREFIX}by id" if self.ids else f"{PREFIX}match {self.match}"

    def takes(self, component: str, name: str, text: str) -> bool:
        """Whether a document goes by this rule (its copies by epochs aside)."""
        if self.match is not None:
            return self.pattern.search(text) is not None
        return component in self.components if self.components else name in self.ids

    def as_dict(self) -> dict[str, Any]:
        """Plain values, only the kind that is given."""
        if self.match is not None:
            return {"match": self.match}
        if self.components:
            return {"components": list(self.components)}
        return {"ids": list(self.ids)}


def rule_from_dict(content: dict[str, Any]) -> Rule:
    """The inverse of `Rule.as_dict`."""
    return Rule(
        tuple(content.get("components", ())), tuple(content.get("ids", ())), content.get("match")
    )


def _refuse_empty_match(match: str, pattern: re.Pattern[str]) -> None:
    if pattern.search("") is not None:
        raise UserError(f"--match {match!r} fits an empty text, so it fits every document")
