"""The only place that reads the environment, and where declarations are looked up by short name."""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path

from seamount.core.errors import UserError

_SUFFIX = ".yaml"
_PACKAGE_DIR = Path(__file__).resolve().parent.parent


def home() -> Path:
    """Folder for caches, the tracking store and servers' state (SEAMOUNT_HOME, ~/.seamount)."""
    return Path(os.environ.get("SEAMOUNT_HOME") or Path.home() / ".seamount").expanduser()


def tracking_uri() -> str:
    """URI of the tracking store (SEAMOUNT_TRACKING_URI, else a folder in `home()`)."""
    return os.environ.get("SEAMOUNT_TRACKING_URI") or f"seamount://{home() / 'tracking'}"


def tracking_project() -> str:
    """Project under which runs are logged (SEAMOUNT_PROJECT)."""
    return os.environ.get("SEAMOUNT_PROJECT") or "seamount"


def tracking_run_id() -> str | None:
    """Run that this process joins (SEAMOUNT_RUN_ID), or None for a new one."""
    return os.environ.get("SEAMOUNT_RUN_ID") or None


def tracking_watcher() -> bool:
    """Whether a Run starts its watcher process (SEAMOUNT_TRACKING_WATCHER, on unless "off")."""
    return _is_on("SEAMOUNT_TRACKING_WATCHER")


def tracking_console() -> bool:
    """Whether a Run keeps what is printed (SEAMOUNT_TRACKING_CONSOLE, on unless "off")."""
    return _is_on("SEAMOUNT_TRACKING_CONSOLE")


def tracking_deliver_to() -> str | None:
    """Address of the server that runs are delivered to (SEAMOUNT_TRACKING_DELIVER_TO), or None."""
    return os.environ.get("SEAMOUNT_TRACKING_DELIVER_TO") or None


def tracking_token() -> str | None:
    """Token that a tracking server of ours demands, and its clients send."""
    return os.environ.get("SEAMOUNT_TRACKING_TOKEN") or None


def mlflow_token() -> str | None:
    """Token that MLflow's own clients send (MLFLOW_TRACKING_TOKEN)."""
    return os.environ.get("MLFLOW_TRACKING_TOKEN") or None


def mlflow_login() -> tuple[str, str] | None:
    """(MLFLOW_TRACKING_USERNAME, MLFLOW_TRACKING_PASSWORD), as MLflow's own clients send them."""
    name = os.environ.get("MLFLOW_TRACKING_USERNAME")
    return (name, os.environ.get("MLFLOW_TRACKING_PASSWORD", "")) if name else None


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "").lower() not in ("off", "0", "false", "no")


def neptune_store() -> str | None:
    """Store of scripts written for Neptune: SEAMOUNT_TRACKING_URI, else the folder
    NEPTUNE_LOG_DIRECTORY, else None for the usual one."""
    return (
        os.environ.get("SEAMOUNT_TRACKING_URI") or os.environ.get("NEPTUNE_LOG_DIRECTORY") or None
    )


def neptune_project() -> str | None:
    """Project of scripts written for Neptune (NEPTUNE_PROJECT, as WORKSPACE/PROJECT)."""
    return os.environ.get("NEPTUNE_PROJECT") or None


def neptune_mode() -> str:
    """How scripts written for Neptune log (NEPTUNE_MODE): async, offline or disabled."""
    return os.environ.get("NEPTUNE_MODE") or "async"


def neptune_log_failure_action() -> str:
    """What happens to a value that cannot be logged (NEPTUNE_LOG_FAILURE_ACTION): drop or raise."""
    return os.environ.get("NEPTUNE_LOG_FAILURE_ACTION", "drop").lower()


def dask_scheduler() -> str | None:
    """Address of a running Dask scheduler (SEAMOUNT_DASK_SCHEDULER), or None for a local one."""
    return os.environ.get("SEAMOUNT_DASK_SCHEDULER") or None


def rank() -> int:
    """Rank of this process in its job (RANK, SLURM_PROCID), 0 when alone."""
    return int(os.environ.get("RANK") or os.environ.get("SLURM_PROCID") or 0)


def world_size() -> int:
    """Number of processes of the job (WORLD_SIZE, SLURM_NTASKS), 1 when alone."""
    return int(os.environ.get("WORLD_SIZE") or os.environ.get("SLURM_NTASKS") or 1)


def is_terminal() -> bool:
    """Whether a person watches: bars are drawn only on a terminal that can move its cursor."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def prefect_api_url() -> str | None:
    """Address of a Prefect server to use (PREFECT_API_URL), or None for an embedded one."""
    return os.environ.get("PREFECT_API_URL") or None


def export_environment(**changes: str) -> None:
    """Set variables of this process before it imports a library that reads them (Prefect)."""
    os.environ.update(changes)


def child_environment(**changes: str) -> dict[str, str]:
    """This process's environment with `changes` on top, for a child process."""
    return {**os.environ, **changes}


def declaration_roots() -> list[Path]:
    """Folders that may hold datasets/ and recipes/, nearest first.

    The project a person stands in (or a folder above), then the checkout or the wheel's own.
    """
    here = Path.cwd().resolve()
    project = [p for p in (here, *here.parents) if (p / "prefect.yaml").is_file()][:1]
    return [*project, _PACKAGE_DIR.parent, _PACKAGE_DIR / "declared"]


def find_declaration(folder: str, name: str, file_name: str | None = None) -> Path:
    """Path of a declaration given by a path or by the short name it has in datasets/ or recipes/.

    `find_declaration("datasets", "pile", "catalog.yaml")` or
    `find_declaration("recipes", "text/demo.yaml")`, whose suffix, and whose folder where no other
    has such a file, may be left out. Raises UserError naming what exists.
    """
    direct = Path(name)
    if direct.is_file():
        return direct
    known = _declared(folder, file_name)
    short = name.removesuffix(_SUFFIX)
    # `text/demo.yaml`, `text/demo`, or `demo` where no other folder has one of that name
    same = [found for found in known if found.removesuffix(_SUFFIX) == short]
    same = same or [found for found in known if Path(found).stem == short]
    if len(same) == 1:
        return known[same[0]]
    near = difflib.get_close_matches(name, [*known, *(k.removesuffix(_SUFFIX) for k in known)], n=1)
    hint = f"did you mean {near[0]!r}? Else " if near else ""
    raise UserError(
        f"no file and no name in {folder}/ matches {name!r}: {hint}give a path, or one of "
        f"{', '.join(sorted(known)) or '(none found)'}"
    )


def _declared(folder: str, file_name: str | None) -> dict[str, Path]:
    """Short name -> file of every declaration, the nearest root's where two have the name."""
    found: dict[str, Path] = {}
    for root in (root / folder for root in declaration_roots()):
        for path in root.glob(f"*/{file_name}" if file_name else f"**/*{_SUFFIX}"):
            named = path.parent if file_name else path
            found.setdefault(str(named.relative_to(root)), path)
    return found
