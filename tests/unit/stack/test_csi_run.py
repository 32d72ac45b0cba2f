"""The objects of `mooring csi run` come and go with it; those of others stay."""

import pytest

from mooring.errors import NotFound
from mooring.model.csi_driver import CsiDriver
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.model.wire import read_document
from mooring.stack.csi_run import introduced, users_of
from mooring.stack.driver_objects import BY, MANAGED_BY, Introduced
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock
from tests.fakes.fake_server import FakeServer

KEY = Key("", "d.example.com")
OURS = Introduced(
    CsiDriver,
    {"metadata": {"name": KEY.name, "labels": {MANAGED_BY: BY}}, "spec": {}},
    "it attaches volumes",
)


@pytest.fixture
def client() -> FakeClient:
    clock = VirtualClock()
    return FakeClient(FakeServer(clock), clock)


async def test_they_are_there_meanwhile_and_gone_after(client: FakeClient) -> None:
    said: list[str] = []
    async with introduced(client, [OURS], said.append):
        assert (await client.get(CsiDriver, KEY)).name == KEY.name
    with pytest.raises(NotFound):
        await client.get(CsiDriver, KEY)
    assert said == [
        "made CSIDriver d.example.com: it attaches volumes",
        "deleted CSIDriver d.example.com",
    ]


async def test_an_object_of_somebody_else_is_neither_changed_nor_deleted(
    client: FakeClient,
) -> None:
    said: list[str] = []
    theirs = await client.create(CsiDriver, {"metadata": {"name": KEY.name}, "spec": {}})
    async with introduced(client, [OURS], said.append):
        pass
    assert await client.get(CsiDriver, KEY) == theirs
    assert said == ["CSIDriver d.example.com is there already, and stays as it is"]


async def test_one_that_an_earlier_run_left_goes_with_this_one(client: FakeClient) -> None:
    await client.create(CsiDriver, OURS.document)
    async with introduced(client, [OURS], lambda _: None):
        pass
    with pytest.raises(NotFound):
        await client.get(CsiDriver, KEY)


async def test_what_fails_in_between_undoes_them_too(client: FakeClient) -> None:
    with pytest.raises(RuntimeError):
        async with introduced(client, [OURS], lambda _: None):
            raise RuntimeError
    with pytest.raises(NotFound):
        await client.get(CsiDriver, KEY)


def a_pod(name: str, node: str = "n1", **volume: object) -> Pod:
    spec = {"nodeName": node, "containers": [], "volumes": [{"name": "v", **volume}]}
    return read_document({"metadata": {"name": name, "namespace": "shop"}, "spec": spec}, Pod)


def test_pods_that_nobody_unmounts_without_the_driver_are_found() -> None:
    spec = {
        "csi": {"driver": KEY.name, "volumeHandle": "h"},
        "claimRef": {"namespace": "shop", "name": "data"},
    }
    volume = read_document({"metadata": {"name": "disk"}, "spec": spec}, Volume)
    claimed = {"claimName": "data"}
    pods = [
        a_pod("by-claim", persistentVolumeClaim=claimed),
        a_pod("of-its-own", csi={"driver": KEY.name}),
        a_pod("not-scheduled", "", persistentVolumeClaim=claimed),
        a_pod("of-another", csi={"driver": "other.example"}),
    ]
    found = users_of(KEY.name, [volume], pods)
    assert [pod.name for pod in found] == ["by-claim", "of-its-own"]
