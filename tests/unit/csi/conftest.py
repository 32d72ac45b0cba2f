"""A driver that answers, and the way to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mooring.csi.channel import Connection
from tests.fakes.csi_driver import FakeCsiDriver


@pytest.fixture
async def driver(tmp_path: Path) -> AsyncIterator[FakeCsiDriver]:
    async with FakeCsiDriver(tmp_path / "csi.sock") as driver:
        yield driver


@pytest.fixture
async def connection(driver: FakeCsiDriver) -> AsyncIterator[Connection]:
    async with Connection(str(driver.socket)) as connection:
        yield connection
