"""Quantisation schemes, one a file."""
