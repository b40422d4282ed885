"""When a task's result may be taken from an earlier run, and when a failed task is tried again.

A key is made of the contents a task works on and of the code that does the work. Prefect's own
TASK_SOURCE sees the few lines of a thin task only, so it would miss a change in the library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from seamount import __version__
from seamount.core import storage
from seamount.core.code_version import code_digest
from seamount.core.errors import CorruptData, DiskFull, Preempted, SeamountError, UserError
from tasks.reference import Artefact

HOPELESS = (UserError, CorruptData, DiskFull, Preempted)
# Says nothing about a task's result: the tracked run it reports to.
_NOT_AN_INPUT = "run"


def content_key(*packages: str) -> Callable[[Any, dict[str, Any]], str]:
    """A `cache_key_fn`: digest of the task's inputs and of the sources of `packages`.

    An earlier result whose files are gone or changed is not used: the key then is this task
    run's own.
    """

    def key_of(context: Any, parameters: dict[str, Any]) -> str:
        inputs = {n: identity(v) for n, v in parameters.items() if n != _NOT_AN_INPUT}
        code = {name: code_digest(name) for name in packages}
        key = storage.digest_of([context.task.name, inputs, __version__, code])
        return key if _usable(context.result_store, key) else f"{key}-{context.task_run.id}"

    return key_of


def identity(value: Any) -> Any:
    """What stands for `value` in a key: an artefact's digest and place, a model's fields."""
    if isinstance(value, Artefact):
        return [value.kind, value.path, value.digest, value.shape]
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


def _usable(results: Any, key: str) -> bool:
    if not results.exists(key):
        return True
    found = results.read(key).result
    return not isinstance(found, Artefact) or found.stands()


def worth_retrying(_task: Any, _task_run: Any, state: Any) -> bool:
    """Whether a failed task may pass the second time: a network or disk fault, a killed child.

    A user's mistake, damaged data, a full disk and a stop on request stay what they are.
    """
    error = state.result(raise_on_failure=False)
    if isinstance(error, HOPELESS):
        return False
    return isinstance(error, OSError | RuntimeError | SeamountError)
