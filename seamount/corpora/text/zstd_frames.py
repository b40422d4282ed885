"""Where the frames of a zstd file begin and end, told by their headers alone (RFC 8878, section 3).

No content is looked at, so this costs next to nothing; it is how a file that was cut short is told
from a whole one, about which the usual stream readers say nothing.
"""

from __future__ import annotations

from seamount.core.errors import CorruptData

MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = (0x184D2A50, 0x184D2A5F)
_DICTIONARY_ID_BYTES = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES = (0, 2, 4, 8)
_RLE, _RESERVED = 1, 3


class FrameWalk:
    """Follows the frames of one file as its bytes come by.

    `started_at` is where the frame at hand (or the last one) begins, `inside` whether one is open,
    `position` how many bytes have come by, `settled` where the last whole block or header ended.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.position = self.started_at = self.settled = 0
        self.inside = False
        self._parse, self._wanted = self._magic, 4
        self._head = b""  # of what is parsed next, as far as it has come
        self._skip = 0  # bytes of content to pass over first
        self._last = self._checksum = False

    def take(self, data: bytes) -> int:
        """Walk through `data` to the end of the frame at hand; returns how many bytes that are.

        All of `data` where the frame goes on. Raises CorruptData for what is no frame.
        """
        taken = 0
        while taken < len(data):
            if self._skip:
                step = min(self._skip, len(data) - taken)
                self._skip -= step
            else:
                step = min(self._wanted - len(self._head), len(data) - taken)
                self._head += data[taken : taken + step]
            taken += step
            self.position += step
            if not self._skip and not self._head:
                self.settled = self.position
            if not self._skip and len(self._head) == self._wanted:
                head, self._head = self._head, b""
                self._parse(head)
            if not self._skip and self._last:
                self._end()
                break
        return taken

    def finish(self) -> None:
        """Raise CorruptData where the file ends inside a frame."""
        if self.inside or self._head:
            raise CorruptData(
                f"{self.url} is cut short: the zstd frame that starts at byte {self.started_at} "
                f"has no end in a file of {self.position} bytes; fetch or write the file again"
            )

    def damage(self, what: str) -> CorruptData:
        """The error for the frame at hand."""
        return CorruptData(
            f"{self.url} is damaged in the zstd frame that starts at byte {self.started_at} "
            f"({what}); fetch or write the file again"
        )

    def _end(self) -> None:
        self.inside = self._last = False
        self._parse, self._wanted = self._magic, 4

    def _magic(self, head: bytes) -> None:
        self.started_at, self.inside = self.position - len(head), True
        least, most = _SKIPPABLE
        if head == MAGIC:
            self._parse, self._wanted = self._descriptor, 1
        elif least <= int.from_bytes(head, "little") <= most:
            self._parse, self._wanted = self._skippable_size, 4
        else:
            raise self.damage("it does not begin like one")

    def _skippable_size(self, head: bytes) -> None:
        self._skip, self._last = int.from_bytes(head, "little"), True

    def _descriptor(self, head: bytes) -> None:
        flags = head[0]
        single_segment = bool(flags & 0x20)
        self._checksum = bool(flags & 0x04)
        content_size = _CONTENT_SIZE_BYTES[flags >> 6] or int(single_segment)
        self._skip = (not single_segment) + _DICTIONARY_ID_BYTES[flags & 0x03] + content_size
        self._parse, self._wanted = self._block, 3

    def _block(self, head: bytes) -> None:
        value = int.from_bytes(head, "little")
        kind, size = value >> 1 & 0x03, value >> 3
        if kind == _RESERVED:
            raise self.damage("a block of a kind that does not exist")
        self._skip = 1 if kind == _RLE else size
        if value & 1:
            self._skip += 4 * self._checksum
            self._last = True
