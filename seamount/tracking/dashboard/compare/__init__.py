"""Runs beside a baseline: metrics with their changes, configs, source, media."""
