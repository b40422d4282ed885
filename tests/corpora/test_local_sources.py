"""The text of this machine: enough, the same every time, none of our own, and the maths right."""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

from seamount.core import registry
from seamount.core.records import Document
from seamount.corpora.text import inputs
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.catalog import READERS, load_catalog
from seamount.corpora.text.manifest import load_manifest
from seamount.corpora.text.readers import (
    _python_files,
    generated_mathematics,
    python_documentation,
    python_sources,
)


@pytest.fixture(scope="module")
def found() -> list[inputs.Input]:
    return inputs.expand(("local",), None)


def test_it_is_enough_whatever_is_installed(found: list[inputs.Input]) -> None:
    size: dict[str, int] = defaultdict(int)
    for one in found:
        size[one.component] += one.size_bytes
    assert set(size) == set(load_catalog("local").components)
    assert size["Github"] > 15e6 and sum(size.values()) > 22e6


def test_it_is_the_same_every_time(found: list[inputs.Input]) -> None:
    assert inputs.expand(("local",), None) == found
    one = next(i for i in found if i.component == "Licence Texts")
    assert list(inputs.read(one)) == list(inputs.read(one))


def test_ids_are_unique_and_nothing_is_ours(found: list[inputs.Input], root: Path) -> None:
    items = [item for one in found for item in one.items]
    assert len({i.name for i in items}) == len(items)
    own = [p for name in _python_files.OWN_PACKAGES for p in (root / name).rglob("*.py")]
    assert not {i.location for i in items} & {str(p) for p in own}
    assert not [i for i in items if "site-packages/seamount" in i.location]
    sources = {i.location for o in found if o.reader == "python_sources" for i in o.items}
    prose = {i.location for o in found if o.reader == "python_documentation" for i in o.items}
    assert sources and prose and not sources & prose


def test_a_small_corpus_is_small_and_whole(tmp_path: Path) -> None:
    request = CorpusRequest(("local",), str(tmp_path / "c"), max_bytes=1_000_000)
    reference = build_corpus(request)
    assert 900_000 < reference.bytes <= 1_000_000
    content = load_manifest(str(tmp_path / "c"))
    assert set(content["components"]) == set(load_catalog("local").components)
    assert build_corpus(request).reused


def test_every_reader_reads(found: list[inputs.Input]) -> None:
    known = {name: registry.load(READERS, name, "reader") for name in registry.available(READERS)}
    local = {name for name, module in known.items() if not hasattr(module, "COMPONENT")}
    assert {i.reader for i in found} == local
    for reader in local:
        one = next(i for i in found if i.reader == reader)
        first = next(r for r in inputs.read(one) if isinstance(r, Document))
        assert first.component == one.component and first.text.strip()


def test_a_source_that_is_no_utf8_is_quarantined(tmp_path: Path) -> None:
    path = tmp_path / "latin.py"
    path.write_bytes("# coding: latin-1\nx = 'é'\n".encode("latin-1"))
    item = inputs.Item("latin.py", str(path), path.stat().st_size, "")
    (record,) = python_sources.read(item, "Github")
    assert "invalid UTF-8" in record.reason  # type: ignore[union-attr]


def test_docstrings_come_out_as_prose(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(
        '"""About the module."""\nclass Sea:\n    """Deep water."""\n\n'
        '    def dive(\n        self,\n    ):\n        """Go\n        down."""\n'
        '        return """no"""\n'
    )
    item = inputs.Item("m.py", str(path), path.stat().st_size, "")
    (document,) = python_documentation.read(item, "Python Documentation")
    assert document.text == (  # type: ignore[union-attr]
        "About the module.\n\nSea\n\nDeep water.\n\ndive\n\nGo\ndown."
    )


def check_answer(question: str, answer: str) -> bool | None:
    """Solve a question by another way than the generator did; None where this does not know it."""
    numbers = [int(n) for n in re.findall(r"(?<![\w*])-?\d+", question)]
    if re.match(r"What is -?\d+ plus|Add|Total", question):
        return int(answer) == numbers[0] + numbers[1]
    if re.match(r"What is -?\d+ minus|-?\d+ take away", question):
        return int(answer) == numbers[0] - numbers[1]
    if question.startswith("Subtract"):
        return int(answer) == numbers[1] - numbers[0]
    if re.match(r"Multiply|Product|What is -?\d+ times", question):
        return int(answer) == numbers[0] * numbers[1]
    if question.startswith("Divide"):
        return Fraction(answer) == Fraction(*numbers)
    if "greatest common" in question:
        both = [n for n in range(1, 3_000) if not numbers[0] % n and not numbers[1] % n]
        return int(answer) == both[-1]
    if "prime factors" in question:
        factors = [n for n in range(2, numbers[0] + 1) if numbers[0] % n == 0]
        primes = [n for n in factors if not any(n % f == 0 for f in factors if f < n)]
        return answer == ", ".join(map(str, primes))
    if solved := re.match(r"Solve (.*) = (.*) for (\w)\.", question):
        left, right, letter = solved.groups()
        values = {letter: int(answer)}
        return eval(left, {}, values) == eval(right, {}, values)
    if called := re.match(r"Let (\w)\((\w)\) = (.*)\. Determine \w\((-?\d+)\)", question):
        return int(answer) == eval(called[3], {}, {called[2]: int(called[4])})
    if derived := re.match(r"What is the derivative of (.*) wrt (\w)\?", question):
        at = {derived[2]: Fraction(3)}
        step = {derived[2]: Fraction(3) + Fraction(1, 10**9)}
        slope = (eval(derived[1], {}, step) - eval(derived[1], {}, at)) * 10**9
        return abs(float(slope) - float(eval(answer, {}, at))) < 1e-4
    if based := re.match(r"(\w+) \(base (\d+)\) to base 10", question):
        return int(based[1], int(based[2])) == int(answer)
    return None


def test_mathematics_is_right() -> None:
    checked = 0
    (item, *_) = generated_mathematics.items(12 * 8_192)
    for record in generated_mathematics.read(item, "Generated Mathematics"):
        assert isinstance(record, Document) and len(record.text) <= 8_192
        lines = record.text.splitlines()
        for question, answer in zip(lines[::2], lines[1::2], strict=True):
            verdict = check_answer(question, answer)
            assert verdict is not False, (question, answer)
            checked += verdict is True
    assert checked > 1_000
