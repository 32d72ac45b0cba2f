"""A played node with a played driver."""

from pathlib import Path

import pytest

from tests.unit.plugins.csi.world import CsiWorld


@pytest.fixture
def world(tmp_path: Path) -> CsiWorld:
    return CsiWorld(tmp_path)
