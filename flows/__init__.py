"""Prefect flows: compositions of tasks, one file a flow."""
