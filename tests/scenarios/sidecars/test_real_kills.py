"""`mooring sidecar` beside a driver on a real socket and a real server, killed with -9 in a call.

The sidecar has a kubeconfig of its own role, so these stories also hold it to its rights.
"""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mooring.clock import RealClock
from mooring.csi.capability import PluginService
from tests.fakes.csi_driver import After, FakeCsiDriver, Hangs
from tests.fakes.objects import CLAIMS, CLASSES, VOLUMES, a_claim, a_class
from tests.fakes.real_server import RealServer, command, own_server  # noqa: F401  fixture

SECONDS = 20.0


@asynccontextmanager
async def sidecar(driver: FakeCsiDriver, kubeconfig: Path) -> AsyncIterator[None]:
    """Leaving kills it with -9."""
    process = await asyncio.create_subprocess_exec(
        *command("sidecar", "provisioner", "attacher"),
        *("--csi-address", str(driver.socket), "--kubeconfig", str(kubeconfig)),
        *("--no-leader-elect", "--log-level", "warning"),
        stdout=subprocess.DEVNULL,
        stderr=sys.stderr,
    )
    try:
        yield
    finally:
        process.kill()
        await process.wait()


async def until(look: Callable[[], bool]) -> None:
    clock = RealClock()
    async with asyncio.timeout(SECONDS):
        while not await asyncio.to_thread(look):
            await clock.sleep(0.05)


@pytest.fixture
async def driver(tmp_path: Path) -> AsyncIterator[FakeCsiDriver]:
    made = FakeCsiDriver(tmp_path / "csi.sock")
    made.state.plugin = {PluginService.CONTROLLER_SERVICE}
    async with made:
        yield made


@pytest.fixture
def kubeconfig(own_server: RealServer, tmp_path: Path) -> Path:  # noqa: F811  the fixture
    path = tmp_path / "sidecars.conf"
    flags = ("--data-dir", str(own_server.data_dir), "--role", "sidecars", "-o", str(path))
    subprocess.run(command("kubeconfig", *flags), check=True)  # noqa: S603  our own program
    return path


def volumes(server: RealServer) -> list[str]:
    items = server.ask("GET", VOLUMES).doc["items"]
    return [item["spec"]["csi"]["volumeHandle"] for item in items]


def phase(server: RealServer) -> str:
    answer = server.ask("GET", f"{CLAIMS}/data")
    return str(answer.doc["status"]["phase"]) if answer.code == 200 else "gone"


@pytest.mark.parametrize("done", [True, False], ids=["the deed was done", "nothing was done"])
@pytest.mark.parametrize("deleted", [True, False], ids=["claim deleted", "claim kept"])
async def test_a_kill_in_create_volume(
    own_server: RealServer,  # noqa: F811  the fixture
    driver: FakeCsiDriver,
    kubeconfig: Path,
    *,
    done: bool,
    deleted: bool,
) -> None:
    server = own_server
    provisioned = {**a_class(), "provisioner": driver.state.name}
    await asyncio.to_thread(server.ask, "POST", CLASSES, provisioned)
    driver.next("CreateVolume", After(Hangs()) if done else Hangs())
    async with sidecar(driver, kubeconfig):
        claim = a_claim(storageClassName="fast")
        await asyncio.to_thread(server.ask, "POST", CLAIMS, claim)
        async with asyncio.timeout(SECONDS):
            await driver.arrived("CreateVolume")
    assert len(driver.state.volumes) == int(done)
    if deleted:
        await asyncio.to_thread(server.ask, "DELETE", f"{CLAIMS}/data")
    async with sidecar(driver, kubeconfig):
        await until(lambda: phase(server) == ("gone" if deleted else "Bound"))
        assert await asyncio.to_thread(volumes, server) == list(driver.state.volumes)
        assert len(driver.state.volumes) == int(not deleted)


async def test_a_kill_in_delete_volume(
    own_server: RealServer,  # noqa: F811  the fixture
    driver: FakeCsiDriver,
    kubeconfig: Path,
) -> None:
    server = own_server
    provisioned = {**a_class(), "provisioner": driver.state.name}
    await asyncio.to_thread(server.ask, "POST", CLASSES, provisioned)
    driver.next("DeleteVolume", After(Hangs()))
    async with sidecar(driver, kubeconfig):
        claim = a_claim(storageClassName="fast")
        await asyncio.to_thread(server.ask, "POST", CLAIMS, claim)
        await until(lambda: phase(server) == "Bound")
        await asyncio.to_thread(server.ask, "DELETE", f"{CLAIMS}/data")
        async with asyncio.timeout(SECONDS):
            await driver.arrived("DeleteVolume")
    assert not driver.state.volumes
    assert await asyncio.to_thread(volumes, server)
    async with sidecar(driver, kubeconfig):
        await until(lambda: not volumes(server))
