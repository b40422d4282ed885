"""Metrics, one a file, and the report."""
