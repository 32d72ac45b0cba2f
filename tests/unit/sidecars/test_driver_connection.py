"""Who is behind a socket, found out on a real one."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mooring.clock import RealClock
from mooring.csi.capability import ControllerCapability, Expansion, PluginService
from mooring.csi.channel import Connection
from mooring.csi.outcome import Code
from mooring.sidecars import driver_connection
from mooring.sidecars.driver import Abilities
from mooring.sidecars.driver_connection import DriverConnection
from tests.fakes.csi_driver import Fails, FakeCsiDriver
from tests.fakes.waiting import until


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[tuple[FakeCsiDriver, DriverConnection]]:
    driver = FakeCsiDriver(tmp_path / "csi.sock")
    async with driver, Connection(str(driver.socket)) as connection:
        yield driver, DriverConnection(connection, RealClock())


async def test_a_driver_is_waited_for_until_it_is_ready(
    there: tuple[FakeCsiDriver, DriverConnection],
) -> None:
    driver, at = there
    driver.state.ready = False
    driver.next("GetPluginInfo", Fails(Code.UNAVAILABLE))
    waiting = asyncio.create_task(at.wait_ready())
    await driver.arrived("Probe", 2)
    assert not waiting.done()
    driver.state.ready = None  # unset counts as ready
    met = await asyncio.wait_for(waiting, 10)
    assert met.name == "fake.csi.mooring.dev"
    assert met.abilities.controller == frozenset(ControllerCapability)


async def test_a_driver_without_a_controller_is_not_asked_about_one(
    there: tuple[FakeCsiDriver, DriverConnection],
) -> None:
    driver, at = there
    driver.state.plugin = set()
    met = await asyncio.wait_for(at.wait_ready(), 10)
    online = frozenset({Expansion.ONLINE})
    assert met.abilities == Abilities(expansion=online, node_expands=True)
    assert not driver.requests("ControllerGetCapabilities")


async def test_for_its_name_a_driver_is_not_asked_what_it_can_do(
    there: tuple[FakeCsiDriver, DriverConnection],
) -> None:
    driver, at = there
    driver.next("GetPluginInfo", Fails(Code.UNAVAILABLE))
    assert await asyncio.wait_for(at.wait_named(), 10) == "fake.csi.mooring.dev"
    assert not driver.requests("GetPluginCapabilities")
    assert not driver.requests("ControllerGetCapabilities")


async def test_a_driver_whose_controller_expands_is_not_asked_about_its_node(
    there: tuple[FakeCsiDriver, DriverConnection],
) -> None:
    driver, at = there
    driver.state.plugin = {PluginService.CONTROLLER_SERVICE}
    met = await asyncio.wait_for(at.wait_ready(), 10)
    assert met.abilities.expands
    assert not met.abilities.node_expands
    assert not driver.requests("NodeGetCapabilities")


async def test_a_driver_without_a_node_part_at_its_socket_expands_nothing(
    there: tuple[FakeCsiDriver, DriverConnection],
) -> None:
    driver, at = there
    driver.state.plugin = {PluginService.CONTROLLER_SERVICE}
    driver.state.controller = {ControllerCapability.CREATE_DELETE_VOLUME}
    driver.next("NodeGetCapabilities", Fails(Code.UNIMPLEMENTED))
    met = await asyncio.wait_for(at.wait_ready(), 10)
    assert not met.abilities.node_expands
    assert not met.abilities.needs_resizer


async def test_a_driver_that_comes_back_the_same_is_the_same(
    there: tuple[FakeCsiDriver, DriverConnection],
) -> None:
    driver, at = there
    met = await asyncio.wait_for(at.wait_ready(), 10)
    changing = asyncio.create_task(at.changed(met))
    await driver.stop()
    await driver.start()
    await driver.arrived("ControllerGetCapabilities", 2)
    assert not changing.done()
    await driver.stop()
    driver.state.plugin = {PluginService.CONTROLLER_SERVICE}
    await driver.start()
    now = await asyncio.wait_for(changing, 10)
    assert not now.abilities.has_topology


async def test_that_nobody_listens_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(driver_connection, "SILENT_SECONDS", 0.05)
    caplog.set_level(logging.INFO)
    driver = FakeCsiDriver(tmp_path / "csi.sock")
    async with Connection(str(driver.socket)) as connection:
        waiting = asyncio.create_task(DriverConnection(connection, RealClock()).wait_ready())
        await until(lambda: "nobody listens there" in caplog.text)
        async with driver:
            met = await asyncio.wait_for(waiting, 10)
    assert met.name == "fake.csi.mooring.dev"
