"""What is printed reaches the terminal unchanged and the run line by line."""

from __future__ import annotations

import io
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamount.tracking import Run
from seamount.tracking.capture import console
from seamount.tracking.capture.console import LineAssembler, shown
from seamount.tracking.capture.surroundings import Capture
from seamount.tracking.store import series
from seamount.tracking.store.verify import verify


def lines_of(store, run_id: str, name: str, rank: int = 0) -> list[str]:
    store.refresh()
    with store.index() as index:
        return [text for _, text in series.strings(index, run_id, name, rank)]


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"]) | st.just("\n"))))
def test_any_cutting_of_a_text_gives_the_same_lines(pieces):
    said: list[str] = []
    assembler = LineAssembler("s", lambda _, line, finished: said.append(line))
    for piece in pieces:
        assembler.feed(piece)
    assembler.end()
    text = "".join(pieces)
    assert said == (text.removesuffix("\n").split("\n") if text else [])


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("plain", "plain"),
        ("windows\r", "windows"),
        ("\r 10%|#   |\r 50%|##  |\r100%|####|", "100%|####|"),
        ("100%\r    \r", "100%"),  # a bar that is wiped keeps its last state
        ("\x1b[1;31mred\x1b[0m \x1b[2K\x1b]8;;http://a\x07link\x1b]8;;\x07", "red link"),
        ("bell\x07 and nul\x00", "bell and nul"),
        ("name \udcff", "name \\udcff"),
        ("naïve 日本 🌊", "naïve 日本 🌊"),
        ("x" * 9000, "x" * 8192 + " [seamount: cut, 9000 characters]"),
    ],
)
def test_a_line_is_what_a_terminal_shows(line, seen):
    assert shown(line) == seen


def test_a_flood_is_bounded_and_counted(monkeypatch):
    monkeypatch.setattr(console, "BURST_LINES", 5)
    monkeypatch.setattr(console, "LINES_A_SECOND", 0.0)
    said: list[str] = []
    assembler = LineAssembler("s", lambda _, line, finished: said.append(line))
    for number in range(12):
        assembler.feed(f"{number}\n")
    assembler.end()
    assert said == ["0", "1", "2", "3", "4", "[seamount: 7 lines left out]"]


def test_an_endless_bar_stays_small():
    assembler = LineAssembler("s", lambda *_: None)
    for step in range(20_000):
        assembler.feed(f"\r{step:>50}")
    assert len(assembler._open) <= 5 * console.MAX_LINE_CHARS
    said: list[str] = []
    assembler._say = lambda _, line, finished: said.append(line)
    assembler.feed("\n")
    assert said[0].strip() == "19999"


@pytest.fixture
def terminal(monkeypatch):
    """A function that puts text streams of our own in place of the real ones.

    To be called in the test itself: pytest sets its own after the fixtures.
    """

    def install() -> dict[str, io.TextIOWrapper]:
        made = {name: io.TextIOWrapper(io.BytesIO(), "utf-8") for name in ("stdout", "stderr")}
        for name, stream in made.items():
            monkeypatch.setattr(sys, name, stream)
        return made

    return install


def test_both_streams_are_kept_and_passed_on_in_order(store, terminal):
    streams = terminal()
    held = sys.stderr  # as a logging handler made earlier holds it
    with Run(store=store.uri, run_id="c", capture=Capture(console="text")):
        print("one", end="")
        print("error", file=held)
        print(" line")
        print("two\nthree")
        print("no newline", end="")
    print("after")
    for stream in streams.values():
        stream.flush()
    assert streams["stdout"].buffer.getvalue() == b"one line\ntwo\nthree\nno newlineafter\n"
    assert streams["stderr"].buffer.getvalue() == b"error\n"
    assert lines_of(store, "c", "runtime/stdout") == ["one line", "two", "three", "no newline"]
    assert lines_of(store, "c", "runtime/stderr") == ["error"]
    assert "write" not in vars(streams["stdout"])  # the hooks are off


def test_two_runs_closed_out_of_order_leave_nothing_behind(store, terminal):
    streams = terminal()
    first = Run(store=store.uri, run_id="a", capture=Capture(console="text"))
    second = Run(store=store.uri, run_id="b", capture=Capture(console="text"))
    print("both")
    first.close()
    print("second only")
    second.close()
    print("none")
    assert lines_of(store, "a", "runtime/stdout") == ["both"]
    assert lines_of(store, "b", "runtime/stdout") == ["both", "second only"]
    sys.stdout.flush()
    assert streams["stdout"].buffer.getvalue() == b"both\nsecond only\nnone\n"


def test_threads_lose_no_line(store, terminal):
    terminal()

    def work(number: int) -> None:
        for line in range(100):
            sys.stdout.write(f"{number} {line}\n")

    with Run(store=store.uri, run_id="t", capture=Capture(console="text")):
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    kept = lines_of(store, "t", "runtime/stdout")
    assert sorted(kept) == sorted(f"{n} {line}" for n in range(4) for line in range(100))
    assert verify(store, "t")["ok"]


def test_a_print_never_fails_for_the_logger(store, terminal, caplog):
    streams = terminal()
    run = Run(store=store.uri, run_id="f", capture=Capture(console="text"))

    def broken(*_):
        raise OSError("no")

    run._surroundings._console._inner = broken
    print("still printed")
    print("and again")
    run.close()
    sys.stdout.flush()
    assert streams["stdout"].buffer.getvalue() == b"still printed\nand again\n"
    assert [r.getMessage() for r in caplog.records] == ["the console is not kept any more: no"]


DESCRIPTORS = """
import os, subprocess, sys
from seamount.tracking import Run
from seamount.tracking.capture.surroundings import Capture
run = Run(store=sys.argv[1], run_id="d", capture=Capture(console="descriptors"))
print("python", flush=True)
os.write(1, b"raw \\xff bytes\\n")
os.write(1, "half a \\u65e5".encode()[:-1]); os.write(1, "\\u65e5\\n".encode()[-2:])
subprocess.run(["sh", "-c", "echo child; echo child error >&2"])
pid = os.fork()
if pid == 0:
    os.write(1, b"forked\\n")
    os._exit(0)
os.waitpid(pid, 0)
run.close()
print("after", flush=True)
"""


def test_descriptors_keep_c_code_and_child_processes(store, root):
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", DESCRIPTORS, store.uri], capture_output=True, cwd=root, check=True
    )
    text = "half a 日".encode()
    assert done.stdout == b"python\nraw \xff bytes\n" + text + b"\nchild\nforked\nafter\n"
    assert done.stderr == b"child error\n"
    kept = lines_of(store, "d", "runtime/stdout")
    assert kept == ["python", "raw \\xff bytes", "half a 日", "child", "forked"]
    assert lines_of(store, "d", "runtime/stderr") == ["child error"]


FORK = """
import os, sys
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id="k")
print("begun by the parent, ", end="", flush=True)
pid = os.fork()
if pid == 0:
    print("the child's")
    os._exit(0)
os.waitpid(pid, 0)
print("ended by the parent")
run.close()
"""


def test_a_forked_child_has_lines_of_its_own(store, spawn):
    process = spawn(FORK, store.uri)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    kept = lines_of(store, "k", "runtime/stdout")
    assert sorted(kept) == ["begun by the parent, ended by the parent", "the child's"]


def test_an_unfinished_line_is_known_once_it_is_flushed(store, terminal):
    terminal()
    from seamount.tracking.watcher.last_words import read_end

    run = Run(store=store.uri, run_id="u", capture=Capture(console="text"))
    print("done")
    print("loading", end="")
    path = store.run_folder("u") / run._writer.header.file_name
    with path.open("rb") as stream:
        assert read_end(stream.fileno(), "u") == (None, ["done"])
        sys.stdout.flush()
        assert read_end(stream.fileno(), "u") == (None, ["done", "loading"])
        print(" more", flush=True)
        seal, lines = read_end(stream.fileno(), "u")
        assert (seal, lines) == (None, ["done", "loading more"])
        run.close()
        seal, _ = read_end(stream.fileno(), "u")
    assert seal is not None and seal["state"] == "Completed"


def test_it_is_off_when_the_environment_says_so(store, terminal, monkeypatch):
    terminal()
    monkeypatch.setenv("SEAMOUNT_TRACKING_CONSOLE", "off")
    with Run(store=store.uri, run_id="off"):
        print("nothing")
    assert lines_of(store, "off", "runtime/stdout") == []


def test_lines_of_a_restart_follow_those_before(store, terminal):
    terminal()
    for word in ("first", "second"):
        with Run(store=store.uri, run_id="r", capture=Capture(console="text")):
            print(word, "a")
            print(word, "b")
        time.sleep(0.002)
    assert lines_of(store, "r", "runtime/stdout") == ["first a", "first b", "second a", "second b"]
