"""The node client: what is sent, and what is made of the answer."""

from pathlib import Path

import pytest

from mooring.csi.capability import Block, VolumeCapability, WireMode
from mooring.csi.channel import Connection
from mooring.csi.node import Node
from mooring.csi.outcome import Code, Done, Refused, Uncertain
from mooring.csi.proto import csi_pb2 as pb
from mooring.csi.requests import ExpandOnNode, NodeInfo, PublishVolume, StageVolume
from mooring.csi.secrets import Secrets
from mooring.csi.topology import Topology
from mooring.csi.volume import CapacityRange, Condition, Unit, Usage, VolumeStats
from tests.fakes.csi_calls import CAPABILITY
from tests.fakes.csi_driver import FakeCsiDriver, Replies

SECRETS = Secrets.of_text({"token": "abcdef"})


@pytest.fixture
def node(connection: Connection) -> Node:
    return Node(connection)


async def test_stage_and_unstage(driver: FakeCsiDriver, node: Node) -> None:
    volume = StageVolume("vol-1", "/staging", CAPABILITY, {"device": "d"}, {"share": "s"}, SECRETS)
    assert await node.stage(volume, within=5) == Done(None)
    wanted = pb.NodeStageVolumeRequest(
        volume_id="vol-1",
        publish_context={"device": "d"},
        staging_target_path="/staging",
        secrets={"token": "abcdef"},
        volume_context={"share": "s"},
    )
    wanted.volume_capability.mount.fs_type = "ext4"
    wanted.volume_capability.access_mode.mode = pb.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
    assert driver.requests("NodeStageVolume") == [wanted]
    assert await node.unstage("vol-1", "/staging", within=5) == Done(None)
    assert await node.unstage("vol-1", "/staging", within=5) == Done(None)
    assert driver.state.stages == {}


async def test_publish_and_unpublish(driver: FakeCsiDriver, node: Node, tmp_path: Path) -> None:
    target = tmp_path / "mount"
    volume = PublishVolume(
        "vol-1",
        str(target),
        CAPABILITY,
        readonly=True,
        staging_path="/staging",
        publish_context={"device": "d"},
        volume_context={"share": "s"},
        secrets=SECRETS,
    )
    assert await node.publish(volume, within=5) == Done(None)
    assert await node.publish(volume, within=5) == Done(None)
    (sent, again) = driver.requests("NodePublishVolume")
    assert isinstance(sent, pb.NodePublishVolumeRequest)
    assert sent == again
    assert (sent.target_path, sent.staging_target_path) == (str(target), "/staging")
    assert (dict(sent.publish_context), dict(sent.volume_context)) == (
        {"device": "d"},
        {"share": "s"},
    )
    assert (sent.readonly, dict(sent.secrets)) == (True, {"token": "abcdef"})
    assert target.is_dir()
    assert await node.unpublish("vol-1", str(target), within=5) == Done(None)
    assert not target.exists()
    assert driver.state.publishes == {}


async def test_a_device_is_published_as_a_file(node: Node, tmp_path: Path) -> None:
    block = VolumeCapability(Block(), WireMode.SINGLE_NODE_WRITER)
    target = tmp_path / "device"
    volume = PublishVolume("vol-1", str(target), block, readonly=False, staging_path="/staging")
    assert await node.publish(volume, within=5) == Done(None)
    assert target.is_file()


async def test_publish_without_the_stage_is_refused(node: Node) -> None:
    volume = PublishVolume("vol-1", "/nowhere/x", CAPABILITY, readonly=False)
    assert await node.publish(volume, within=5) == Refused(
        Code.FAILED_PRECONDITION, "staging_target_path is required"
    )


async def test_stats(driver: FakeCsiDriver, node: Node) -> None:
    driver.state.publishes["vol-1", "/target"] = pb.NodePublishVolumeRequest()
    stats = VolumeStats(
        (Usage(Unit.BYTES, 1000, 600, 400), Usage(Unit.INODES, 10, 6, 4)),
        Condition(abnormal=False, message="all is well"),
    )
    assert await node.get_stats("vol-1", "/target", within=5) == Done(stats)
    assert stats.find(Unit.INODES) == Usage(Unit.INODES, 10, 6, 4)
    assert VolumeStats().find(Unit.BYTES) is None
    assert isinstance(await node.get_stats("vol-1", "/other", within=5), Refused)


async def test_a_unit_that_we_do_not_know_is_passed_over(driver: FakeCsiDriver, node: Node) -> None:
    driver.state.publishes["vol-1", "/target"] = pb.NodePublishVolumeRequest()
    reply = pb.NodeGetVolumeStatsResponse(usage=[pb.VolumeUsage(total=1)])
    driver.next("NodeGetVolumeStats", Replies(lambda _: reply))
    assert await node.get_stats("vol-1", "/target", within=5) == Done(VolumeStats())


async def test_expand(driver: FakeCsiDriver, node: Node) -> None:
    volume = ExpandOnNode("vol-1", "/target", CapacityRange(77), "/staging", CAPABILITY, SECRETS)
    assert await node.expand(volume, within=5) == Done(77)
    assert await node.expand(ExpandOnNode("vol-1", "/target"), within=5) == Done(0)
    (full, bare) = driver.requests("NodeExpandVolume")
    assert isinstance(full, pb.NodeExpandVolumeRequest)
    assert (full.staging_target_path, dict(full.secrets)) == ("/staging", {"token": "abcdef"})
    assert {field.name for field, _ in bare.ListFields()} == {"volume_id", "volume_path"}


async def test_info(driver: FakeCsiDriver, node: Node) -> None:
    assert await node.get_info(within=5) == Done(NodeInfo("node-1"))
    driver.state.topology, driver.state.max_volumes = {"zone": "a"}, 12
    assert await node.get_info(within=5) == Done(NodeInfo("node-1", 12, Topology({"zone": "a"})))
    driver.state.max_volumes = -4
    info = await node.get_info(within=5)
    assert isinstance(info, Done)
    assert info.value.max_volumes == 0
    driver.state.node_id = ""
    assert await node.get_info(within=5) == Uncertain(None, "the driver returned no node id")
