"""When an earlier result of a task may stand for a new one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seamount.core import lineage, storage
from seamount.core.errors import CorruptData, DiskFull, SeamountError, UserError
from tasks import caching
from tasks.parameters import CorpusOptions
from tasks.reference import Artefact, describe, existing


class Results(dict):
    """What Prefect's result store offers to a key function."""

    def exists(self, key: str) -> bool:
        return key in self

    def read(self, key: str) -> Any:
        return SimpleNamespace(result=self[key])


def context(results: Results, run: str = "r1") -> Any:
    task, task_run = SimpleNamespace(name="build"), SimpleNamespace(id=run)
    return SimpleNamespace(task=task, task_run=task_run, result_store=results)


@pytest.fixture
def artefact(tmp_path: Path) -> Artefact:
    folder = str(tmp_path / "made")
    storage.write_bytes(f"{folder}/data.bin", b"12345")
    lineage.write(folder, lineage.Lineage("corpus", "abc"))
    return describe("corpus", folder, documents=3)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "path" / "worker_library"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "work.py").write_text("VALUE = 2\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


def test_the_key_follows_inputs_and_code_and_nothing_else(package: Path, artefact: Artefact):
    key_of = caching.content_key("worker_library")
    inputs = {"corpus": artefact, "options": CorpusOptions(), "out": "x"}

    def key(**changes: Any) -> str:
        return key_of(context(Results()), inputs | changes)

    first = key(run=object())
    assert first == key(run=object()), "the tracked run must not count"
    assert first != key(options=CorpusOptions(seed=1))
    assert first != key(corpus=artefact.model_copy(update={"digest": "other"}))
    (package / "work.py").write_text("VALUE = 3\n")  # what TASK_SOURCE does not see
    assert first != key()
    assert "worker_library" not in sys.modules, "reading the sources must not import them"


def test_a_result_whose_files_changed_is_not_used(package: Path, artefact: Artefact):
    key_of = caching.content_key("worker_library")
    key = key_of(context(Results()), {"out": "x"})
    kept = Results({key: artefact})
    assert key_of(context(kept), {"out": "x"}) == key
    storage.write_bytes(f"{artefact.path}/data.bin", b"123")
    assert key_of(context(kept, "r2"), {"out": "x"}) == f"{key}-r2"
    storage.remove_tree(artefact.path)
    assert key_of(context(kept, "r3"), {"out": "x"}) == f"{key}-r3"


def test_an_artefact_survives_json_and_knows_whether_it_stands(artefact: Artefact):
    again = Artefact.model_validate_json(artefact.model_dump_json())
    assert again == artefact and again.stands()
    assert artefact.digest == "abc" and artefact.facts == {"documents": 3}
    assert existing("corpus", artefact.path).digest == "abc"
    storage.write_bytes(f"{artefact.path}/more.bin", b"")
    assert not artefact.stands()


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (UserError("x"), False),
        (CorruptData("x"), False),
        (DiskFull("x"), False),
        (TypeError("x"), False),
        (SeamountError("rank 0 was killed"), True),
        (ConnectionResetError("x"), True),
    ],
)
def test_only_what_may_pass_is_tried_again(error: Exception, again: bool):
    state = SimpleNamespace(result=lambda raise_on_failure: error)
    assert caching.worth_retrying(None, None, state) is again
