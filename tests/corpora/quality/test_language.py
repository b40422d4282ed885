"""Language identification on real parliament debates and on sentences of many scripts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamount.core.errors import UserError
from seamount.corpora.text import formats
from seamount.corpora.text.filters import load_rules
from seamount.corpora.text.filters.language import identify
from seamount.corpora.text.text_statistics import measure

NOTHING = measure(b"")
# Article 1 of the Universal Declaration of Human Rights.
SENTENCES = {
    "en": "All human beings are born free and equal in dignity and rights.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos.",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "iw": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_languages(code: str) -> None:
    language, share = identify(SENTENCES[code] * 2)
    assert language == code and share > 0.9


def test_debates(shared_data: Path) -> None:
    (_, rule), (_, french) = load_rules(
        [{"language": {"languages": ["en"]}}, {"language": {"languages": ["fr", "de"]}}]
    )
    kinds = {"en": 0, "fr": 0}
    for url in formats.list_inputs(str(shared_data / "pile_sample")):
        for document in formats.read(url):
            if getattr(document, "component", "") != "EuroParl":
                continue
            counts = {
                "en": len(re.findall(r"\b(?:the|of|and|is)\b", document.text)),
                "fr": len(re.findall(r"\b(?:le|la|les|des|est)\b", document.text)),
            }
            wanted = max(counts, key=counts.__getitem__)
            kinds[wanted] += 1
            assert rule(document.text, NOTHING) == (None if wanted == "en" else "language fr")
            assert french(document.text, NOTHING) == (None if wanted == "fr" else "language en")
    assert min(kinds.values()) >= 10


@pytest.mark.parametrize(
    "text", ["", "   ", "12 345 6 !?", "\x9f\ufffe\ufdd0 \U0010ffff", "\0", "𝔘" * 9]
)
def test_texts_without_language(text: str) -> None:
    ((_, rule),) = load_rules([{"language": {"languages": ["en"]}}])
    assert rule(text, NOTHING) in ("language un", "language en", "language uncertain")


def test_characters_that_the_library_refuses_change_nothing() -> None:
    damaged = SENTENCES["fr"].replace(" ", "\x9f ").replace("e", "e\uffff", 1) * 2
    assert identify(damaged)[0] == "fr"


@given(st.text() | st.lists(st.integers(0, 0x10FFFF).map(chr)).map("".join))
def test_any_text_has_an_answer(text: str) -> None:
    language, share = identify(text)
    assert language and 0 <= share <= 1


def test_half_and_half_is_uncertain() -> None:
    both = SENTENCES["en"] * 4 + "\n" + SENTENCES["fr"] * 4
    ((_, rule),) = load_rules([{"language": {"languages": ["en", "fr"], "confidence": 0.9}}])
    assert rule(both, NOTHING) == "language uncertain"


def test_unknown_language() -> None:
    with pytest.raises(UserError, match="unknown language 'xq'"):
        load_rules([{"language": {"languages": ["xq"]}}])
    load_rules([{"language": {"languages": ["he", "nb", "en"]}}])
    with pytest.raises(UserError, match="at least one language"):
        load_rules([{"language": {"languages": []}}])
