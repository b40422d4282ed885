"""Result files read back, and how much of the weight the interval knows nothing about."""

from __future__ import annotations

import json

import pytest

from seamount.core.errors import UserError
from seamount.core.records import DocumentScore
from seamount.evaluation.bpb import BpbResult, bpb
from seamount.evaluation.comparison import compare, read_result


def scored(*names, **options):
    rows = [DocumentScore(f"{n}/{i}", n, 10, 5, 7.0 + i) for i, n in enumerate(names)]
    return bpb(rows, **options)


def test_the_scores_of_an_export_are_read_as_its_result(tmp_path):
    result = scored("A", "B")
    (tmp_path / "export.json").write_text(json.dumps({"after": result.to_dict(), "before": None}))
    (tmp_path / "model.json").write_text(json.dumps(result.to_dict()))
    pair = [read_result(str(tmp_path / name)) for name in ("model.json", "export.json")]
    assert all(difference == 0 for *_, difference in compare(*pair)["rows"])


@pytest.mark.parametrize("content", [{}, [], {"after": None, "path": "x"}, 3])
def test_a_file_that_is_no_result_is_named(content, tmp_path):
    path = str(tmp_path / "other.json")
    (tmp_path / "other.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"other\.json"):
        read_result(path)


def test_results_of_different_components_are_not_compared():
    with pytest.raises(UserError, match="no component in common"):
        compare(scored("A"), scored("B"))


def test_the_share_of_single_documents_is_told():
    result = scored("A", "A", "B", weights={"A": 3, "B": 1})
    assert result.headline.single_document_share == 0.25
    assert result.components["B"].low is None
    assert scored("A", "A").headline.single_document_share == 0
    content = result.to_dict()
    assert BpbResult.from_dict(content) == result
    del content["headline"]["single_document_share"]  # a result of an earlier version
    assert BpbResult.from_dict(content).weighted == result.weighted
