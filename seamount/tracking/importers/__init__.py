"""Sources that `seamount track import` reads: one file a source, found by its name.

A source module has `recognises(address) -> bool` and `runs(origin) -> Iterator[SourceRun |
Unreadable]` (seamount.tracking.importing.records). It says what the source holds; how that gets
into a store is seamount.tracking.importing's part.
"""
