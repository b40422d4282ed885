"""Runs a flow in this process: embedded server, plain log lines, errors as one sentence."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import seamount
from seamount.cli import prefect_server, services
from seamount.core import settings
from seamount.core.errors import Preempted, SeamountError, UserError

_DRAIN_S = 15.0
# OpenMP threads that wait must sleep: with one core busy, spinning ones cost fifty times.
_PATIENT_THREADS = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}
_RUN_LOGGERS = ("prefect.flow_runs", "prefect.task_runs")
_ENGINE = ("task_engine", "flow_engine")


def run_flow(name: str, parameters: dict[str, Any]) -> Any:
    """Run the flow `name` of flows/ and return its result.

    Uses the server of PREFECT_API_URL or of `seamount services up`, else starts one that ends
    with this process. Raises UserError for parameters the flow refuses, whatever SeamountError the
    flow raised, and Preempted after Ctrl-C or SIGTERM.
    """
    settings.export_environment(**prefect_server.environment(), **_PATIENT_THREADS)
    with ExitStack() as stack:
        stack.enter_context(_stoppable())
        api_url = settings.prefect_api_url() or services.running_api_url()
        server = None if api_url else stack.enter_context(prefect_server.embedded())
        flow = _load(name)
        _plain_log()
        parameters = _checked(flow, parameters)
        if server is not None:
            prefect_server.wait_until_up(server)
        stack.enter_context(_connected(api_url or server.api_url))  # type: ignore[union-attr]
        return _call(flow, parameters)


class _Stopped(BaseException):
    """SIGTERM or SIGHUP arrived."""


@contextmanager
def _stoppable() -> Iterator[None]:
    def stop(number: int, _frame: Any) -> None:
        raise _Stopped(signal.Signals(number).name)

    before = {n: signal.signal(n, stop) for n in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    except (KeyboardInterrupt, _Stopped) as error:
        raise _preempted() from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _preempted() -> Preempted:
    return Preempted("stopped on request: run the same command again to continue where it was")


def _load(name: str) -> Any:
    root = str(Path(seamount.__file__).resolve().parent.parent)
    found = importlib.util.find_spec("flows")
    if found is None or not str(found.origin).startswith(root):
        sys.path.insert(0, root)  # the working folder has a package of that name
        importlib.invalidate_caches()
    return getattr(importlib.import_module(f"flows.{name}"), name)


def _checked(flow: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    from prefect.exceptions import ParameterTypeError, SignatureMismatchError

    try:
        flow.validate_parameters(parameters)
        return parameters
    except SignatureMismatchError as error:
        known = ", ".join(flow.parameters.properties)
        unknown = sorted(set(parameters) - set(flow.parameters.properties))
        raise UserError(f"unknown parameter {', '.join(unknown)}: known are {known}") from error
    except ParameterTypeError as error:
        raise UserError(_one_sentence(flow, parameters, error)) from error


def _one_sentence(flow: Any, parameters: dict[str, Any], error: Exception) -> str:
    """Pydantic's own account, by key; Prefect's message is a list over many lines."""
    from pydantic import ValidationError

    cause = error.__cause__ or error.__context__
    if not isinstance(cause, ValidationError):
        return " ".join(str(error).split())
    problem = cause.errors()[0]
    key = ".".join(str(part) for part in problem["loc"])
    return f"parameter {key} is {problem['input']!r}: {problem['msg'].lower()}"


@contextmanager
def _connected(api_url: str) -> Iterator[None]:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: api_url}):
        try:
            yield
        finally:
            _drain()


def _drain() -> None:
    # What Prefect's threads still hold must go out before the server does: their exit hooks
    # otherwise wait, with retries, for a server that is gone.
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    APILogWorker.drain_all(timeout=_DRAIN_S)
    EventsWorker.drain_all(timeout=_DRAIN_S)


def _call(flow: Any, parameters: dict[str, Any]) -> Any:
    from prefect.exceptions import TerminationSignal

    try:
        return flow(**parameters)
    except SeamountError:
        raise
    except TerminationSignal as error:
        raise _preempted() from error
    except OSError as error:
        raise SeamountError(f"the run failed: {error}") from error
    except Exception as error:
        text = (str(error).strip().splitlines() or ["no message"])[0]
        raise SeamountError(
            f"the run failed with {type(error).__name__}: {text} (seamount --verbose run ... "
            "shows the whole traceback)"
        ) from error


class _Console(logging.Handler):
    """Log lines on standard error, wherever that points now (a progress bar redirects it)."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line, without the engine's own chatter."""
        text = _wording(record)
        if text is not None:
            clock = "" if settings.is_terminal() else time.strftime("%H:%M:%S  ")
            sys.stderr.write(f"{clock}{text}\n")
            sys.stderr.flush()


def _wording(record: logging.LogRecord) -> str | None:
    """None for lines that a person need not see; tells in words that a task was reused.

    Prefect's own errors are told by the exception they accompany.
    """
    message = record.getMessage()
    if not record.name.startswith("prefect"):
        return message
    if not record.name.startswith(_RUN_LOGGERS):
        return message if record.levelno >= logging.CRITICAL else None
    if record.module not in _ENGINE:
        return message
    task = str(getattr(record, "task_run_name", "task")).rpartition("-")[0].replace("_", " ")
    if "Cached(" in message:
        return f"{task}: unchanged, reused from an earlier run"
    return f"{task}: {message.splitlines()[0]}" if "Retry " in message else None


def _plain_log() -> None:
    """One plain handler for people; Prefect's own go on sending to its server."""
    root = logging.getLogger()
    root.handlers = [_Console()]
    for name in (*_RUN_LOGGERS, "seamount"):
        logging.getLogger(name).setLevel(logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("prefect").handlers = []
