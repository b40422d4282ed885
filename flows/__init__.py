"""Prefect flows, one file a flow."""
