"""No test of delivery leaves a server or a proxy behind, also where it fails."""

from __future__ import annotations

import pytest
import servers


@pytest.fixture(autouse=True)
def nothing_is_left_running():
    """Servers of the module's own fixtures, which came before, stay."""
    before = set(servers.living)
    yield
    for left in servers.living - before:
        left.kill()
