"""Readers of raw sources, found by file name; a catalog component names its reader.

A reader module has two functions:

    items(limit_bytes: int) -> list[Item]
        What this machine has, in a fixed order, cut off once limit_bytes are named.
    read(item: Item, component: str) -> Iterator[Document | Quarantined]
        The documents of one item; their ids depend on the item's name only.
"""
