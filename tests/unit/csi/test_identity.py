"""Who the driver is, what it is made of, whether it is ready."""

import pytest

from mooring.csi.capability import Expansion, PluginService
from mooring.csi.channel import Connection
from mooring.csi.identity import Identity
from mooring.csi.outcome import Done, Uncertain
from mooring.csi.requests import DriverInfo, PluginCapabilities
from tests.fakes.csi_driver import FakeCsiDriver


async def test_the_driver_tells_its_name(driver: FakeCsiDriver, connection: Connection) -> None:
    assert await Identity(connection).get_info(within=5) == Done(
        DriverInfo("fake.csi.mooring.dev", "1.2.3")
    )
    driver.state.name = ""
    assert await Identity(connection).get_info(within=5) == Uncertain(None, "driver name is empty")


async def test_what_the_driver_is_made_of(driver: FakeCsiDriver, connection: Connection) -> None:
    driver.state.plugin = {PluginService.CONTROLLER_SERVICE}
    driver.state.expansion = {Expansion.OFFLINE}
    assert await Identity(connection).capabilities(within=5) == Done(
        PluginCapabilities(
            frozenset({PluginService.CONTROLLER_SERVICE}), frozenset({Expansion.OFFLINE})
        )
    )


READINESS = {
    "says so": (True, True),
    "is still starting": (False, False),
    "says nothing, which counts as ready": (None, True),
}


@pytest.mark.parametrize(("told", "ready"), READINESS.values(), ids=READINESS)
async def test_a_driver_that(
    told: bool | None,  # noqa: FBT001 - a column of the table
    ready: bool,  # noqa: FBT001 - a column of the table
    driver: FakeCsiDriver,
    connection: Connection,
) -> None:
    driver.state.ready = told
    assert await Identity(connection).probe(within=5) == Done(value=ready)
