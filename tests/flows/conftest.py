"""The started services and small inputs."""

from __future__ import annotations

from prefect_services import corpus_file, hostile_folder, marked_processes, services

__all__ = ["corpus_file", "hostile_folder", "marked_processes", "services"]
