"""Readers of raw sources, found by file name; a catalog component names its reader.

A reader of a raw kind has

    COMPONENT: str
        The name its documents have in the Pile.
    items(limit_bytes: int | None, *, url: str) -> list[Item]
        What stands at the URL, sorted by name, cut off once limit_bytes are named; reads nothing.
    read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]
        The records of one item as a stream; ids depend on names below the URL only. A damaged
        record or single file is Quarantined, what the reader's own rule passes over is Skipped, and
        damage of a file with many records is CorruptData after the sound ones.

Readers of this machine's own text take no URL: items(limit_bytes: int).
"""
