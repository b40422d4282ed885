"""Segments: the append-only files a run is logged to; how they are written, read and owned."""
