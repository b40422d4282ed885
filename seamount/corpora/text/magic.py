"""What a file is by its first bytes, where its name says something else."""

from __future__ import annotations

from seamount.core.errors import CorruptData

ZSTD, GZIP, PARQUET, PLAIN = "zstd", "gzip", "parquet", "plain JSON lines"
_SKIPPABLE = [bytes([0x50 + n]) for n in range(16)]
_MAGIC = {
    b"\x1f\x8b": GZIP,
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"PK\x03\x04": "zip",
    b"PAR1": PARQUET,
    b"{": PLAIN,
}


class WrongFormat(CorruptData):
    """The file is of another format than its name says: the wrong file was given; exit code 2."""

    exit_code = 2


def begins_zstd(head: bytes) -> bool:
    """Whether these first four bytes begin a zstd frame, or a skippable one (RFC 8878, 3.1)."""
    return head == b"\x28\xb5\x2f\xfd" or (head[:1] in _SKIPPABLE and head[1:] == b"\x2a\x4d\x18")


def refuse_others(head: bytes, url: str, own: str) -> None:
    """Raise WrongFormat where a file that is called `own` begins like another format."""
    found = ZSTD if begins_zstd(head[:4]) else None
    found = found or next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if found not in (None, own):
        raise WrongFormat(
            f"{url} is {found}, not {own}, whatever its name says: rename it, or convert it"
        )
