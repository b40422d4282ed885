"""Quantise, export, verify, publish."""
