"""Seamount: raw text and speech to trained, measured, exported models, as Prefect flows."""

__version__ = "0.1.0"
