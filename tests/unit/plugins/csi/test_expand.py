"""Growing on the node."""

from pathlib import Path

import pytest

from mooring.csi.capability import NodeCapability
from mooring.csi.outcome import Code
from mooring.csi.proto import csi_pb2 as pb
from mooring.model.reference import SecretReference
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import (
    GrowthRequest,
    Infeasible,
    NotStarted,
    NotSupported,
    StillInUse,
    Uncertain,
    VolumeError,
)
from tests.fakes.csi_played import Fault
from tests.unit.plugins.csi.world import DRIVER, HANDLE, CsiWorld, a_persistent_use

GIB = 1 << 30


def a_request(use: VolumeUse) -> GrowthRequest:
    return GrowthRequest(use, 2 * GIB, GIB, "/dev/x", Path("/pod/mount"), Path("/staged"))


async def test_files_grow_where_the_pod_has_them(world: CsiWorld) -> None:
    world.api.secrets["login"] = {"user": b"me"}
    use = a_persistent_use(node_expand_secret_ref=SecretReference("login", "default"))
    assert world.plugin.needs_node_growth(use)
    assert await world.plugin.grow_on_node(a_request(use))
    request = world.connection.of(pb.NodeExpandVolumeRequest)[0]
    assert (request.volume_id, request.volume_path) == (HANDLE, "/pod/mount")
    assert request.staging_target_path.endswith("/globalmount")
    assert request.capacity_range.required_bytes == 2 * GIB
    assert request.volume_capability.mount.fs_type == "ext4"
    assert dict(request.secrets) == {"user": "me"}


async def test_a_device_grows_where_it_is(world: CsiWorld) -> None:
    await world.plugin.grow_on_node(a_request(a_persistent_use(mode=VolumeMode.BLOCK)))
    request = world.connection.of(pb.NodeExpandVolumeRequest)[0]
    assert request.volume_path == "/dev/x"
    assert request.staging_target_path.endswith("volumeDevices/staging/pv1")
    assert request.volume_capability.HasField("block")


FAILED = "Expander.NodeExpand failed to expand the volume"
ANSWERS: dict[Code, tuple[type[VolumeError], str]] = {
    Code.FAILED_PRECONDITION: (StillInUse, f"{FAILED} : "),
    Code.INVALID_ARGUMENT: (Infeasible, f"{FAILED} "),
    Code.OUT_OF_RANGE: (Infeasible, f"{FAILED} "),
    Code.NOT_FOUND: (Infeasible, f"{FAILED} "),
    Code.INTERNAL: (VolumeError, f"{FAILED} : "),
    Code.UNAVAILABLE: (Uncertain, f"{FAILED} : "),
}


@pytest.mark.parametrize("code", ANSWERS, ids=lambda code: code.label)
async def test_what_an_answer_means(world: CsiWorld, code: Code) -> None:
    how, before = ANSWERS[code]
    world.connection.fail("NodeExpandVolume", Fault(code))
    with pytest.raises(how) as raised:
        await world.plugin.grow_on_node(a_request(a_persistent_use()))
    assert type(raised.value) is how
    assert str(raised.value) == f"{before}rpc error: code = {code.label} desc = scripted"


async def test_a_driver_that_cannot_is_not_asked(world: CsiWorld) -> None:
    world.state.node.discard(NodeCapability.EXPAND_VOLUME)
    with pytest.raises(NotSupported) as raised:
        await world.plugin.grow_on_node(a_request(a_persistent_use()))
    assert str(raised.value) == f"NodeExpand is not supported by the CSI driver {DRIVER}"
    assert world.connection.rpcs() == []


async def test_nothing_is_begun_without_driver_or_secret(world: CsiWorld) -> None:
    use = a_persistent_use(node_expand_secret_ref=SecretReference("login", "default"))
    with pytest.raises(NotStarted, match="fetching NodeExpandSecretRef default/login failed"):
        await world.plugin.grow_on_node(a_request(use))
    world.drivers.drop(DRIVER)
    with pytest.raises(NotStarted, match="not found in the list of registered CSI drivers"):
        await world.plugin.grow_on_node(a_request(a_persistent_use()))
