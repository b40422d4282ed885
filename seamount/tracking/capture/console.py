"""What is printed, line by line, as string series of a run; the terminal sees it as before.

"text" hooks `write` and `flush` of sys.stdout and sys.stderr as they are when the run is opened: it
costs a few microseconds a line, and does not see what goes around Python. "descriptors" puts a pipe
in the place of the file descriptors 1 and 2, so that C code and child processes are kept too.

A line is what a terminal would show of it: of a progress bar that returns with `\\r` the last
state, without the escape sequences that colour it. An unfinished line is logged when it is flushed
(at most once a second), so that the watcher knows a killed process's last words.
"""

from __future__ import annotations

import codecs
import contextlib
import logging
import os
import re
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, TextIO

from seamount.tracking.names import unicode_text

log = logging.getLogger("seamount.tracking")

TEXT, DESCRIPTORS = "text", "descriptors"
MAX_LINE_CHARS = 8192
BURST_LINES, LINES_A_SECOND = 10_000, 20.0
_PARTIAL_S = 1.0
_PIECE_BYTES = 1 << 16
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

Say = Callable[[str, str, bool], None]  # (series, line, whether the line is finished)


class LineAssembler:
    """Turns pieces of text into finished lines and hands them to `say`; safe for threads.

    `say` is called without our lock: it takes the segment's, whose holder may print a warning.
    """

    def __init__(self, series: str, say: Say) -> None:
        self._series, self._say = series, say
        self._lock = threading.RLock()
        self._open = ""
        self._partial_at = 0.0
        self._room, self._filled_at = float(BURST_LINES), time.monotonic()
        self._left_out = 0

    def feed(self, text: str) -> None:
        """Take a piece of text."""
        with self._lock:
            whole, newline, rest = (self._open + text).rpartition("\n")
            self._open = _bounded(rest)
            finished = whole.split("\n") if newline else []
            lines = [kept for line in finished for kept in self._kept(line)]
        for line in lines:
            self._say(self._series, line, True)

    def flush(self) -> None:
        """The unfinished line was made visible: log its state, at most once a second."""
        with self._lock:
            now, text = time.monotonic(), self._open
            if not text or now - self._partial_at < _PARTIAL_S:
                return
            self._partial_at = now
        self._say(self._series, shown(text), False)

    def end(self) -> None:
        """Nothing more comes: an unfinished line is a line."""
        if self._open:
            self.feed("\n")
        if self._left_out:
            self._say(self._series, f"[seamount: {self._left_out} lines left out]", True)

    def forked(self) -> None:
        """In a forked child: what the parent had begun is the parent's."""
        self._lock = threading.RLock()
        self._open = ""

    def _kept(self, line: str) -> list[str]:
        """The line as it is logged, none where too many came at once."""
        now = time.monotonic()
        self._room += (now - self._filled_at) * LINES_A_SECOND
        self._room, self._filled_at = min(self._room, BURST_LINES), now
        if self._room < 1:
            self._left_out += 1
            return []
        self._room -= 1
        missing, self._left_out = self._left_out, 0
        return [f"[seamount: {missing} lines left out]"] * bool(missing) + [shown(line)]


def shown(line: str) -> str:
    """What a terminal shows of a line: after the last return, without escapes, bounded."""
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part.strip()), "")
    if "\x1b" in line:
        line = _SEQUENCE.sub("", line)
    line = _CONTROL.sub("", line)
    if len(line) > MAX_LINE_CHARS:
        line = f"{line[:MAX_LINE_CHARS]} [seamount: cut, {len(line)} characters]"
    return unicode_text(line)


def _bounded(text: str) -> str:
    """An unfinished line may be a bar of hours: keep what can still be seen of it."""
    if len(text) <= 4 * MAX_LINE_CHARS:
        return text
    before, returned, after = text.rstrip("\r").rpartition("\r")
    return "\r" + after if returned else before + after[: 4 * MAX_LINE_CHARS]


class ConsoleCapture:
    """Captures both streams from `__init__` to `close`, in the mode given."""

    def __init__(self, mode: str, namespace: str, say: Say) -> None:
        self._failed = False
        self._inner = say
        self._assemblers = {
            name: LineAssembler(f"{namespace}/{name}", self._guarded)
            for name in ("stdout", "stderr")
        }
        kind: Any = _Descriptor if mode == DESCRIPTORS else _Stream
        self._hooks: list[Any] = []
        for name, assembler in self._assemblers.items():
            with contextlib.suppress(AttributeError, OSError, ValueError):
                # No console (pythonw, a closed descriptor), or one that cannot be hooked.
                self._hooks.append(kind(name, assembler))
        this = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _forked(this))

    def _guarded(self, series: str, line: str, finished: bool) -> None:
        """Nothing that goes wrong in logging may reach a print()."""
        if self._failed:
            return
        try:
            self._inner(series, line, finished)
        except Exception as error:
            self._failed = True
            log.warning("the console is not kept any more: %s", error)

    def close(self) -> None:
        """Put the streams back as they were."""
        for hook in reversed(self._hooks):
            hook.close()
        for assembler in self._assemblers.values():
            assembler.end()
        self._failed, self._hooks = True, []


def _forked(this: weakref.ReferenceType[ConsoleCapture]) -> None:
    capture = this()
    if capture is None:
        return
    for assembler in capture._assemblers.values():
        assembler.forked()


class _Stream:
    """Hooks `write` and `flush` on the stream object itself: whoever holds it is heard."""

    def __init__(self, name: str, assembler: LineAssembler) -> None:
        self._stream: TextIO = getattr(sys, name)
        self._assembler: LineAssembler | None = assembler
        self._write, self._flush = self._stream.write, self._stream.flush
        self._own = {"write": self._hooked_write, "flush": self._hooked_flush}
        self._before = {k: v for k, v in vars(self._stream).items() if k in self._own}
        for method, hook in self._own.items():
            setattr(self._stream, method, hook)

    def _hooked_write(self, text: str) -> int:
        count = self._write(text)
        if self._assembler is not None and isinstance(text, str):
            self._assembler.feed(text)
        return count

    def _hooked_flush(self) -> None:
        self._flush()
        if self._assembler is not None:
            self._assembler.flush()

    def close(self) -> None:
        """Take the hooks off; where another lies on top of them they only pass through."""
        self._assembler = None
        for method, hook in self._own.items():
            if vars(self._stream).get(method) != hook:
                continue
            if method in self._before:
                setattr(self._stream, method, self._before[method])
            else:
                delattr(self._stream, method)


class _Descriptor:
    """A pipe in place of a descriptor; a thread passes on what comes, and keeps a copy."""

    def __init__(self, name: str, assembler: LineAssembler) -> None:
        self._fd = {"stdout": 1, "stderr": 2}[name]
        self._assembler = assembler
        self._name = name
        self._saved = os.dup(self._fd)
        self._reader, writer = os.pipe()
        self._flush()
        os.dup2(writer, self._fd)
        os.close(writer)
        self._thread = threading.Thread(target=self._run, name=f"seamount-{name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")("backslashreplace").decode
        while content := os.read(self._reader, _PIECE_BYTES):
            with contextlib.suppress(OSError):
                _write_all(self._saved, content)
            self._assembler.feed(decode(content))
            self._assembler.flush()
        self._assembler.feed(decode(b"", True))

    def _flush(self) -> None:
        stream = getattr(sys, self._name, None)
        if stream is not None:
            with contextlib.suppress(ValueError, OSError):
                stream.flush()

    def close(self) -> None:
        """Put the descriptor back and take in what is still in the pipe.

        A child that goes on writing into the pipe is passed on by the thread until we exit.
        """
        self._flush()
        os.dup2(self._saved, self._fd)
        self._thread.join(1.0)
        if not self._thread.is_alive():
            os.close(self._reader)
            os.close(self._saved)


def _write_all(fd: int, content: bytes) -> None:
    while content:
        content = content[os.write(fd, content) :]
