"""A whole node with a CSI driver on a real socket: it registers, its volumes come and go.

Time stands still: whatever happens here happens because something woke it.
"""

import json
from collections.abc import AsyncIterator

import pytest

from mooring.apiserver.auth.pki import Pki
from mooring.csi.outcome import Code
from mooring.csi.plugin_info import RegistrationStatus
from mooring.csi.proto import csi_pb2 as pb
from tests.fakes.api import make_pki, running_api
from tests.fakes.csi_driver import After, Dies, Fails, FakeCsiDriver
from tests.fakes.csi_node import NODE, CsiNodeWorld
from tests.fakes.mounts import FakeMounts
from tests.fakes.objects import CSI_NODES, DRIVERS, NODES, a_driver
from tests.fakes.waiting import until

DRIVER = "fake.csi.mooring.dev"
LIFE = ["NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume"]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


class World(CsiNodeWorld):
    driver: FakeCsiDriver


@pytest.fixture
async def world(keys: Pki, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    place = tmp_path_factory.mktemp("n")  # short: a socket's path must be
    async with (
        running_api(keys, place / "api") as api,
        FakeCsiDriver(place / "csi.sock") as driver,
    ):
        world = World(api, place / "node", FakeMounts(), DRIVER, driver.socket)
        world.driver = driver
        yield world


async def test_a_volume_is_staged_published_and_taken_back(world: World) -> None:
    await world.a_claimed_volume()
    async with world.node(), world.registrar():
        assert world.told == [RegistrationStatus(registered=True)]
        uid = await world.a_pod()
        await world.attach({"device": "/dev/x"})
        await world.driver.arrived("NodePublishVolume")
        stage = world.driver.requests("NodeStageVolume")[0]
        publish = world.driver.requests("NodePublishVolume")[0]
        assert isinstance(stage, pb.NodeStageVolumeRequest)
        assert isinstance(publish, pb.NodePublishVolumeRequest)
        assert dict(stage.publish_context) == {"device": "/dev/x"}
        assert publish.staging_target_path == stage.staging_target_path
        volumes = world.root / "pods" / uid / "volumes"
        assert publish.target_path == str(volumes / "kubernetes.io~csi/disk/mount")
        await world.delete_pod()
        await world.pod_gone()
        await world.driver.arrived("NodeUnstageVolume")
        assert world.driver.rpcs() == LIFE
        assert (world.driver.state.stages, world.driver.state.publishes) == ({}, {})


async def test_with_the_rights_of_a_node_it_tells_of_its_driver(world: World) -> None:
    world.driver.state.topology = {"topology.fake.csi/node": "here"}
    async with world.node(), world.registrar():
        csi_node = (await world.api.get(f"{CSI_NODES}/{NODE}")).doc
        node = (await world.api.get(f"{NODES}/{NODE}")).doc["metadata"]
        assert csi_node["spec"]["drivers"] == [
            {"name": DRIVER, "nodeID": "node-1", "topologyKeys": ["topology.fake.csi/node"]}
        ]
        assert csi_node["metadata"]["ownerReferences"][0]["uid"] == node["uid"]
        assert node["labels"]["topology.fake.csi/node"] == "here"
        told = json.loads(node["annotations"]["csi.volume.kubernetes.io/nodeid"])
        assert told == {DRIVER: "node-1"}


async def test_a_pod_that_came_before_its_driver_waits_for_nothing_else(world: World) -> None:
    await world.create(DRIVERS, a_driver(DRIVER, attachRequired=False))
    await world.a_claimed_volume()
    async with world.node():
        uid = await world.a_pod()
        await until((world.root / "pods" / uid / "volumes").is_dir)
        await world.api.settle()
        async with world.registrar():
            await world.driver.arrived("NodePublishVolume")


async def test_an_object_that_says_that_nothing_need_be_attached_wakes_who_waits(
    world: World,
) -> None:
    await world.a_claimed_volume()
    async with world.node(), world.registrar():
        uid = await world.a_pod()
        await until((world.root / "pods" / uid).is_dir)
        assert world.driver.rpcs() == []
        await world.create(DRIVERS, a_driver(DRIVER, attachRequired=False))
        await world.driver.arrived("NodePublishVolume")


async def test_an_inline_volume_is_the_pods_own(world: World) -> None:
    modes = ["Ephemeral"]
    spec = {"volumeLifecycleModes": modes, "podInfoOnMount": True, "attachRequired": False}
    await world.create(DRIVERS, a_driver(DRIVER, **spec))
    async with world.node(), world.registrar():
        await world.a_pod({"name": "scratch", "csi": {"driver": DRIVER}})
        await world.driver.arrived("NodePublishVolume")
        await world.delete_pod()
        await world.pod_gone()
        assert world.driver.rpcs() == ["NodePublishVolume", "NodeUnpublishVolume"]


async def test_tokens_are_asked_for_with_the_rights_of_a_node(world: World) -> None:
    spec = {"attachRequired": False, "tokenRequests": [{"audience": "vault"}]}
    await world.create(DRIVERS, a_driver(DRIVER, **spec))
    await world.a_claimed_volume()
    await world.create(
        "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}}
    )
    async with world.node(), world.registrar():
        await world.a_pod(serviceAccountName="robot")
        await world.driver.arrived("NodePublishVolume")
        publish = world.driver.requests("NodePublishVolume")[0]
        assert isinstance(publish, pb.NodePublishVolumeRequest)
        tokens = json.loads(publish.volume_context["csi.storage.k8s.io/serviceAccount.tokens"])
        assert tokens["vault"]["token"].count(".") == 2


async def test_a_driver_that_dies_after_the_deed_has_done_it_once(world: World) -> None:
    await world.create(DRIVERS, a_driver(DRIVER, attachRequired=False))
    await world.a_claimed_volume()
    world.driver.next("NodePublishVolume", After(Dies()))
    async with world.node(), world.registrar():
        await world.a_pod()
        await world.driver.arrived("NodePublishVolume")
        await world.driver.start()
        while len(world.driver.requests("NodePublishVolume")) < 2:
            await world.api.clock.advance(1)
        assert len(world.driver.state.publishes) == 1
        await world.delete_pod()
        await world.pod_gone()
        await world.driver.arrived("NodeUnstageVolume")
        assert (world.driver.state.stages, world.driver.state.publishes) == ({}, {})


@pytest.mark.parametrize("is_wanted", [True, False], ids=["the pod runs", "the pod was deleted"])
async def test_after_a_restart_a_volume_is_published_again_or_unstaged(
    world: World, *, is_wanted: bool
) -> None:
    await world.create(DRIVERS, a_driver(DRIVER, attachRequired=False))
    await world.a_claimed_volume()
    async with world.node(), world.registrar():
        await world.a_pod()
        await world.driver.arrived("NodePublishVolume")
        await until(lambda: len(world.driver.state.publishes) == 1)
    if not is_wanted:
        await world.delete_pod()
    async with world.node(), world.registrar():
        if is_wanted:
            await world.driver.arrived("NodePublishVolume", 2)
            assert len(world.driver.state.publishes) == 1
            await world.delete_pod()
        await world.pod_gone()
        await world.driver.arrived("NodeUnstageVolume")
        assert world.driver.rpcs()[-2:] == LIFE[-2:]
        assert (world.driver.state.stages, world.driver.state.publishes) == ({}, {})


async def test_a_failure_is_told_to_the_pod(world: World) -> None:
    await world.create(DRIVERS, a_driver(DRIVER, attachRequired=False))
    await world.a_claimed_volume()
    world.driver.always("NodeStageVolume", Fails(Code.NOT_FOUND, "no such volume"))
    async with world.node(), world.registrar():
        await world.a_pod()
        await world.driver.arrived("NodeStageVolume")
        expected = (
            'MountVolume.MountDevice failed for volume "disk" : '
            "rpc error: code = NotFound desc = no such volume"
        )
        while expected not in await world.said("FailedMount"):
            await world.api.clock.advance(1)
