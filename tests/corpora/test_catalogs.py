"""The catalogs that the project ships, and mistakes in a person's own."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from seamount.core.errors import UserError
from seamount.corpora.text.audit import composition
from seamount.corpora.text.catalog import load_catalog
from seamount.corpora.text.filters import load_rules

# The Pile paper's Table 1, typed from the paper: weight, epochs, effective size in GiB.
TABLE_1 = {
    "Pile-CC": (18.11, 1.0, 227.12),
    "PubMed Central": (14.40, 2.0, 180.55),
    "Books3": (12.07, 1.5, 151.44),
    "OpenWebText2": (10.01, 2.0, 125.54),
    "ArXiv": (8.96, 2.0, 112.42),
    "Github": (7.59, 1.0, 95.16),
    "FreeLaw": (6.12, 1.5, 76.73),
    "StackExchange": (5.13, 2.0, 64.39),
    "USPTO Backgrounds": (3.65, 2.0, 45.81),
    "PubMed Abstracts": (3.07, 2.0, 38.53),
    "Gutenberg (PG-19)": (2.17, 2.5, 27.19),
    "OpenSubtitles": (1.55, 1.5, 19.47),
    "Wikipedia (en)": (1.53, 3.0, 19.13),
    "DM Mathematics": (1.24, 2.0, 15.49),
    "Ubuntu IRC": (0.88, 2.0, 11.03),
    "BookCorpus2": (0.75, 1.5, 9.45),
    "EuroParl": (0.73, 2.0, 9.17),
    "HackerNews": (0.62, 2.0, 7.80),
    "YoutubeSubtitles": (0.60, 2.0, 7.47),
    "PhilPapers": (0.38, 2.0, 4.76),
    "NIH ExPorter": (0.30, 2.0, 3.79),
    "Enron Emails": (0.14, 2.0, 1.76),
}


def test_pile_is_table_1_of_the_paper() -> None:
    pile = load_catalog("pile")
    shown = {n: (c.weight, c.epochs, c.effective_gib) for n, c in pile.components.items()}
    assert shown == TABLE_1
    whole = sum(c.effective_gib or 0 for c in pile.components.values())
    for component in pile.components.values():
        assert component.raw_gib is not None and component.effective_gib is not None
        assert component.effective_gib == pytest.approx(
            component.raw_gib * component.epochs, abs=0.02
        )
        assert component.weight == pytest.approx(100 * component.effective_gib / whole, abs=0.01)
        assert component.kind and component.licence
    assert sum(c.documents or 0 for c in pile.components.values()) == 146_340_692
    assert [n for n, c in pile.components.items() if c.generated] == ["DM Mathematics"]


def test_synonyms_lead_to_the_released_names() -> None:
    names = load_catalog("pile").canonical
    assert names["Bibliotik"] == "Books3" and names["CommonCrawl"] == "Pile-CC"
    assert names["USPTO"] == "USPTO Backgrounds" and names["BookCorpus"] == "BookCorpus2"
    assert len(set(names.values())) == 22


def test_prose_rules_touch_prose_only() -> None:
    pile = load_catalog("pile")
    prose = {n for n, c in pile.components.items() if "gopher_quality" in c.filters}
    assert prose == {"Pile-CC", "OpenWebText2"}


def test_presets_are_parts_of_the_pile() -> None:
    pile = load_catalog("pile")
    without = {"Books3", "BookCorpus2", "OpenSubtitles", "YoutubeSubtitles", "OpenWebText2"}
    presets = {n: load_catalog(n) for n in ("uncopyrighted", "code-and-papers", "books", "web")}
    assert set(presets["uncopyrighted"].components) == set(TABLE_1) - without
    for name, preset in presets.items():
        assert preset.name == name and preset.extends == "pile" and len(preset.components) >= 3
        assert all(preset.components[n] == pile.components[n] for n in preset.components)
        assert sum((preset.weights() or {}).values()) == pytest.approx(1)
    # Typed from Table 1: 18.11 of the 75.02 that are left.
    weights = presets["uncopyrighted"].weights() or {}
    assert weights["Pile-CC"] == pytest.approx(18.11 / 75.02)


def test_a_catalog_that_extends_another(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    found = load_catalog(
        own(
            path,
            extends="pile",
            only=["Github", "ArXiv"],
            components={"ArXiv": {"weight": 3}, "Notes": {"weight": 1}},
        )
    )
    assert list(found.components) == ["ArXiv", "Github", "Notes"]
    assert found.components["ArXiv"].weight == 3 and found.components["ArXiv"].epochs == 2
    for message, content in {
        "did you mean 'Github'": {"extends": "pile", "without": ["Gitub"]},
        "extends itself": {"extends": str(path)},
        "no file and no name": {"extends": "piles-of"},
        "of another type": {"extends": "pile", "only": 3},
    }.items():
        with pytest.raises(UserError, match=message):
            load_catalog(own(path, **content))


def test_local_is_complete() -> None:
    local = load_catalog("local")
    assert all(c.reader and c.weight and c.licence for c in local.components.values())
    assert [n for n, c in local.components.items() if c.generated] == ["Generated Mathematics"]


def own(path: Path, **content: object) -> str:
    whole = {"name": "mine", "components": {"A": {"weight": 1}}} | content
    path.write_text(yaml.safe_dump(whole))
    return str(path)


def test_mistakes_name_the_key_and_the_value(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    cases = {
        "did you mean 'gopher_quality'": {"components": {"A": {"filters": ["gopher_qualty"]}}},
        "did you mean 'python_sources'": {"components": {"A": {"reader": "python_source"}}},
        "components.A.weight.*greater than 0": {"components": {"A": {"weight": -1}}},
        "components.A.wieght": {"components": {"A": {"wieght": 1}}},
        "mixture.*'strict', 'fill' or 'natural'.*'exact'": {"mixture": "exact"},
        "components": {"components": {}},
    }
    for message, content in cases.items():
        with pytest.raises(UserError, match=message) as caught:
            load_catalog(own(path, **content))
        assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    path.write_text("a: [1")
    with pytest.raises(UserError, match="not valid YAML"):
        load_catalog(str(path))
    with pytest.raises(UserError, match=r"one of .*local, pile"):
        load_catalog("pill")
    with pytest.raises(UserError, match="no parameter 'letters'"):
        load_rules(({"minimum_length": {"letters": 3}},))


def test_effective_number_of_components() -> None:
    assert composition.effective_number([5, 5, 5, 5]) == pytest.approx(4)
    assert composition.effective_number([7, 0]) == pytest.approx(1)
    # by hand: e^0.5623
    assert composition.effective_number([3, 1]) == pytest.approx(
        1.7547, abs=1e-4
    )  # by hand: e^0.5623
    assert composition.effective_number([]) == 0


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "\x1b[31m", "", "x" * 201])
def test_a_component_name_no_document_can_have_is_refused(tmp_path: Path, name: str) -> None:
    for components in ({name: {}}, {"A": {"synonyms": [name]}}):
        with pytest.raises(UserError, match=r"component name .* rename it") as told:
            load_catalog(own(tmp_path / "c.yaml", components=components))
        assert len(str(told.value).splitlines()) == 1
    load_catalog(own(tmp_path / "c.yaml", components={"x" * 200: {}, "東京 \u200f": {}}))
