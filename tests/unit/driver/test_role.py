"""The bundled driver in `up`: what it is introduced by, and where it cannot be."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.user import SIDECARS
from mooring.client.local import LocalClient
from mooring.csi.channel import Connection
from mooring.csi.health import NodeHealth
from mooring.csi.node import Node
from mooring.driver.core import new_core
from mooring.driver.objects import CLASS
from mooring.driver.objects import CLASSES as MADE
from mooring.driver.role import Bundled, DriverRole, NoDriver, bundled_driver
from mooring.driver.settings import NAME, DriverSettings
from mooring.driver.state import open_state
from mooring.plugins.csi.drivers import Driver, Drivers
from mooring.plugins.layout import Layout
from tests.fakes.api import ApiUnderTest, make_pki, running_api
from tests.fakes.mounts import FakeMounts
from tests.fakes.waiting import until

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
DRIVERS = "/apis/storage.k8s.io/v1/csidrivers"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture
def short() -> Iterator[Path]:
    """The name of a socket in it is short enough, whatever the test is called."""
    with tempfile.TemporaryDirectory(prefix="m-") as directory:
        yield Path(directory)


@asynccontextmanager
async def running(api: ApiUnderTest, place: Path) -> AsyncIterator[Path]:
    """The role; where it offers itself."""
    registrations = place / "registry"
    registrations.mkdir(exist_ok=True)
    settings = DriverSettings("n1", place)
    core = new_core(settings, open_state(place), FakeMounts(), api.clock)
    client = LocalClient(InProcessApi(api.parts.backend, SIDECARS))
    role = DriverRole(client, api.clock, Bundled(core, place / "csi.sock", registrations))
    task = asyncio.create_task(role.run())
    try:
        yield registrations
    finally:
        task.cancel()
        await asyncio.wait([task])


def has(api: ApiUnderTest, plural: str, name: str) -> bool:
    return api.parts.backend.objects.find(plural, "", name, "storage.k8s.io") is not None


async def test_it_introduces_itself_with_a_default_class(keys: Pki, short: Path) -> None:
    async with running_api(keys, short) as api, running(api, short) as registrations:
        await until((registrations / f"{NAME}-reg.sock").exists)
        await until((short / "class-made").exists)
        made = (await api.get(f"{CLASSES}/{CLASS}")).doc
        assert made["provisioner"] == NAME
        assert made["metadata"]["annotations"] == {
            "storageclass.kubernetes.io/is-default-class": "true"
        }
        assert made["allowVolumeExpansion"] is True
        assert has(api, "csidrivers", NAME)
        for one in MADE:
            await until((short / one.made).exists)
            resource = one.kind.resource
            name = one.document["metadata"]["name"]
            path = f"/apis/{resource.group}/{resource.version}/{resource.plural}/{name}"
            assert (await api.get(path)).doc["metadata"]["name"] == name
        spec = (await api.get(f"{DRIVERS}/{NAME}")).doc["spec"]
        assert spec["volumeLifecycleModes"] == ["Persistent", "Ephemeral"]
        assert spec["podInfoOnMount"] is True
    assert not any(registrations.iterdir())


async def test_a_class_that_somebody_deleted_is_not_made_again(keys: Pki, short: Path) -> None:
    async with running_api(keys, short) as api:
        async with running(api, short):
            await until((short / "class-made").exists)
        assert (await api.delete(f"{CLASSES}/{CLASS}")).code == 200
        assert (await api.delete(f"{DRIVERS}/{NAME}")).code == 200
        async with running(api, short):
            await until(lambda: has(api, "csidrivers", NAME))
            assert not has(api, "storageclasses", CLASS)


def test_where_sockets_would_have_too_long_names_there_is_none(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 90)
    with bundled_driver("n1", tmp_path / "state", Layout(deep)) as driver:
        assert isinstance(driver, NoDriver)
        assert str(deep) in driver.because
        assert "choose a shorter --root-dir" in driver.because
    assert not (tmp_path / "state").exists()


async def test_who_follows_drivers_hears_of_one_that_goes_once(short: Path) -> None:
    drivers, gone = Drivers(), list[str]()
    drivers.on_go(gone.append)
    async with Connection(f"unix://{short}/csi.sock") as connection:
        drivers.put(Driver("a", connection.endpoint, Node(connection), NodeHealth(connection)))
    drivers.drop("a")
    drivers.drop("a")
    assert gone == ["a"]
