"""Files of repositories: which ones, what of them, and whose licence."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from miniatures import MIT
from reading import documents, read, reasons, write

from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Quarantined
from seamount.corpora.text.readers import _git_index, _licences, git_tree


def git(folder: Path, *arguments: str) -> str:
    """Run git as nobody in particular."""
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    command = ["git", "-C", str(folder), "-c", "protocol.file.allow=always", *arguments]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    files: dict[str, bytes | str] = {
        f"src/module_{n}/file_{n % 7}.py": f"x = {n}\n" for n in range(50)
    }
    files |= {"LICENSE": MIT, ".github/x.yml": "a: 1\n", "naïve.txt": "ä\n", "gone.txt": "x"}
    write(folder, {**files, "latin.c": b"/* caf\xe9 */", "data.raw": b"\0" * 9, "e.txt": ""})
    (folder / "link.py").symlink_to("src/module_1/file_1.py")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "a")
    write(folder, {"untracked.py": "no\n", ".git/hooks/x.py": "no\n"})
    (folder / "gone.txt").unlink()
    return folder


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_the_index_names_what_git_names(repository: Path, version: str) -> None:
    if version == "3":  # git writes it where an entry needs extended flags
        git(repository, "add", "-N", "untracked.py")
    git(repository, "update-index", "--force-write-index", "--index-version", version)
    assert (repository / ".git/index").read_bytes()[7] == int(version)
    wanted = git(repository, "ls-files", "-z").strip("\0").split("\0")
    assert [path for path, _ in _git_index.entries(str(repository / ".git/index"))] == wanted


def test_tracked_files_of_a_repository(repository: Path) -> None:
    records = read("git_tree", repository)
    found = {d.meta["path"]: d for d in documents(records)}
    assert len(found) == 50 + 5 and "untracked.py" not in found and ".github/x.yml" in found
    assert found["latin.c"].text == "/* café */" and found["latin.c"].meta["encoding"] == "cp1252"
    assert {d.meta["licence"] for d in found.values()} == {"MIT"}
    assert sorted(reasons(records)) == ["binary", "link", "tracked, but not in the checkout"]
    (gone,) = (r for r in records if isinstance(r, Quarantined))
    assert gone.source.endswith("gone.txt")


def test_worktrees_submodules_and_several_repositories(repository: Path, tmp_path: Path) -> None:
    top = tmp_path / "top"
    git(repository, "worktree", "add", "-q", str(top / "worktree"))
    other = write(top / "other", {"a.py": "a\n", "LICENSE.txt": "Apache License\nVersion 2.0"})
    git(other, "init", "-q")
    git(other, "submodule", "add", "-q", str(repository), "sub")
    git(other, "add", "-A")
    write(top, {"loose.py": "loose\n"})
    records = read("git_tree", top)
    by_folder: dict[str, int] = {}
    for document in documents(records):
        folder = document.meta["path"].rpartition("/")[0].split("/src")[0]
        by_folder[folder] = by_folder.get(folder, 0) + 1
    assert by_folder == {"": 1, "other": 3, "other/sub": 55, "other/sub/.github": 1} | {
        "worktree": 55,
        "worktree/.github": 1,
    }
    licences = {d.meta["path"]: d.meta.get("licence") for d in documents(records)}
    assert licences["other/a.py"] == "Apache-2.0" and licences["other/sub/naïve.txt"] == "MIT"
    assert licences["loose.py"] is None
    assert "submodule" in reasons(records)


def test_a_plain_tree(tmp_path: Path) -> None:
    files = {
        "a.py": "é" * 99_999,
        "b.py": "é" * 100_000,
        "c.PNG": "text",
        "d.txt": b"\0",
        "e.txt": "x" * 400_000,
        ".env": "KEY=1",
        ".cache/x": "x",
    }
    write(tmp_path, files)
    records = read("git_tree", tmp_path)
    assert [d.meta for d in documents(records)] == [{"path": "a.py", "suffix": ".py"}]
    assert reasons(records) == [
        "100,000 characters or more",
        "binary by its suffix",
        "binary",
        "100,000 characters or more",
    ]


def test_a_foreign_configuration_runs_nothing(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "core.fsmonitor", f"touch {tmp_path}/owned; false")
    git(repository, "config", "core.pager", f"touch {tmp_path}/owned")
    read("git_tree", repository)
    assert not (tmp_path / "owned").exists()


def test_a_bare_repository_and_a_broken_index(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    with pytest.raises(UserError, match="bare repository: give a checkout"):
        git_tree.items(None, url=str(tmp_path / "bare.git"))
    index = repository / ".git/index"
    data = index.read_bytes()
    for broken in (b"", b"DIRC", data[:100], b"XXXX" + data[4:], data[:7] + b"\x09" + data[8:]):
        index.write_bytes(broken)
        with pytest.raises(CorruptData, match="git index"):
            git_tree.items(None, url=str(repository))
    index.write_bytes(data.replace(b"LICENSE", b"../../x"))
    with pytest.raises(CorruptData, match="leaves the repository"):
        git_tree.items(None, url=str(repository))


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("SPDX-License-Identifier: MIT-0", "MIT-0"),
        ("                 Apache License\n           Version 2.0, January 2004", "Apache-2.0"),
        ("GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007", "GPL-3.0"),
        ("GNU LESSER GENERAL PUBLIC LICENSE\n Version 2.1", "LGPL-2.1"),
        ("Redistribution and use in source and binary forms", "BSD-2-Clause"),
        ("All rights reserved.", "other"),
        ("", "other"),
    ],
)
def test_licences(text: str, licence: str) -> None:
    assert _licences.spdx(text.encode()) == licence


def test_this_machines_own_licence_texts() -> None:
    folder = Path("/usr/share/common-licenses")
    if not folder.is_dir():
        pytest.skip("no Debian here")
    for name in ("Apache-2.0", "GPL-2", "GPL-3", "LGPL-2.1", "LGPL-3", "MPL-2.0"):
        found = _licences.spdx((folder / name).read_bytes()[: _licences.ENOUGH_BYTES])
        assert found.startswith(name), name
