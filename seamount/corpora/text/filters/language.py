"""Language identification by CLD2 (the identifier of the Pile, arXiv 2101.00027, C.1), through
pycld2, which brings its model along.
"""

from __future__ import annotations

import re
from typing import Any

from seamount.core import registry
from seamount.core.errors import UserError
from seamount.corpora.text.filters import Rule
from seamount.corpora.text.text_statistics import TextStatistics

# ISO 639-1 codes for which CLD2 has older or other ones.
_CODES = {"he": "iw", "jv": "jw", "fil": "tl", "nb": "no"}
# Characters that CLD2 refuses: controls, halves of pairs, and what Unicode promises never to assign
# (the last two of each plane among them).
_NEVER = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
_REFUSED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{_NEVER}]")


def prepare(*, languages: list[str], confidence: float = 0.65) -> Rule:
    """Keep texts of which at least the share `confidence` is in one of `languages` (ISO 639-1).

    CLD2 counts letters, so numbers and formulas do not speak against a language. Raises UserError
    for a language it does not know.
    """
    import pycld2

    known = {code for _, code in pycld2.LANGUAGES}
    wanted = set()
    for name in [languages] if isinstance(languages, str) else languages:
        code = _CODES.get(str(name), str(name))
        if code not in known:
            raise registry.unknown("language", name, sorted(known))
        wanted.add(code)
    if not wanted:
        raise UserError("filter 'language' needs at least one language, such as [en]")

    def reason(text: str, statistics: TextStatistics, document_id: str = "") -> str | None:
        language, share = identify(text)
        if language not in wanted:
            return f"language {language}"
        return "language uncertain" if share < confidence else None

    return reason


def identify(text: str) -> tuple[str, float]:
    """(CLD2's code of the language with most of the text, its share); `un` where none is found."""
    _, _, details = _detect(_REFUSED.sub(" ", text))
    _, code, percent, _ = details[0]
    return code, percent / 100


def _detect(text: str) -> Any:
    import pycld2

    return pycld2.detect(text.encode(), bestEffort=True, isPlainText=True)
