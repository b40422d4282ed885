"""The started services, shared with the tests of flows and pages."""

from __future__ import annotations

from prefect_services import hostile_folder, marked_processes, services

__all__ = ["hostile_folder", "marked_processes", "services"]
