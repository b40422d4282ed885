"""An exclusion's new files beside the corpus, and the step that puts them in place.

    .exclude/files/...   new files under numbers, written while the old corpus stands
    .exclude/plan.json   written last: from now on a rerun only goes forward

Then the old manifest goes first, each file moves to its name, and the new manifest comes last:
until it stands, the folder holds no corpus. Killed before plan.json the old corpus stands as it
was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.corpora.text import manifest
from seamount.corpora.text.alone import alone as hold_alone
from seamount.corpora.text.manifest import EXCLUDE_FOLDER as FOLDER
from seamount.corpora.text.manifest import plan_url
from seamount.corpora.text.stages import stage


@contextmanager
def alone(url: str) -> Iterator[None]:
    """Hold the folder of a corpus against builds and other exclusions; UserError where one is."""
    if storage.is_local(url) and not storage.local_path(url).is_dir():
        raise UserError(f"{url} holds no finished corpus: check the path")
    with hold_alone(url):
        yield


def refuse_unfinished_build(url: str) -> None:
    """Raise UserError where a build was stopped in the folder: its end would undo an exclusion."""
    work = storage.join(url, stage.WORK)
    if storage.exists(work):
        raise UserError(
            f"a build into {url} was stopped or is at work: run the same build command to its end, "
            f"or remove {work}, and exclude then"
        )


class Staging:
    """Collects files; `commit` puts them in place."""

    def __init__(self, url: str) -> None:
        self.url, self.folder = url, storage.join(url, FOLDER)
        storage.remove_tree(self.folder)
        self.moves: list[list[str]] = []

    def place(self, name: str) -> str:
        """Where to write the new content of the corpus's file `name`."""
        staged = storage.join("files", f"{len(self.moves):06d}")
        self.moves.append([staged, name])
        return storage.join(self.folder, staged)

    def drop_last(self) -> None:
        """Forget the last place: its file stays as it is."""
        self.moves.pop()

    def discard(self) -> None:
        """Remove all that was written; the corpus stands as before."""
        storage.remove_tree(self.folder)

    def commit(self, content: dict[str, Any]) -> None:
        """Put everything in place, `content` as the manifest last of all."""
        storage.write_json(storage.join(self.folder, manifest.FILE_NAME), content)
        storage.write_json(plan_url(self.url), {"moves": self.moves})
        roll_forward(self.url)


def clear(url: str) -> bool:
    """Finish an exclusion that was decided (True), or remove what one left that was not."""
    done = roll_forward(url)
    storage.remove_tree(storage.join(url, FOLDER))
    return done


def roll_forward(url: str) -> bool:
    """Finish an exclusion that was decided; False where there is none."""
    if not storage.exists(plan_url(url)):
        return False
    folder = storage.join(url, FOLDER)
    final, staged = (storage.join(f, manifest.FILE_NAME) for f in (url, folder))
    if storage.exists(staged):
        if storage.exists(final):
            storage.remove_tree(final)
        for source, name in storage.read_json(plan_url(url))["moves"]:
            if storage.exists(storage.join(folder, source)):
                storage.move(storage.join(folder, source), storage.join(url, name))
        storage.move(staged, final)
    storage.remove_tree(folder)
    return True
