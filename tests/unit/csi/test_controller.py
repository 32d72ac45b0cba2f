"""The controller client: what is sent, and what is made of the answer."""

import pytest

from mooring.csi.capability import Block, ControllerCapability, Mount, VolumeCapability, WireMode
from mooring.csi.channel import Connection
from mooring.csi.controller import Controller
from mooring.csi.outcome import Code, Done, Refused, Uncertain
from mooring.csi.pages import Page
from mooring.csi.proto import csi_pb2 as pb
from mooring.csi.requests import (
    AttachVolume,
    Capacity,
    CreateVolume,
    Expanded,
    ExpandVolume,
    ValidateVolume,
    Validation,
)
from mooring.csi.secrets import Secrets
from mooring.csi.topology import Topology, TopologyRequirement
from mooring.csi.volume import (
    CapacityRange,
    Condition,
    FromSnapshot,
    FromVolume,
    Volume,
    VolumeState,
)
from tests.fakes.csi_calls import CAPABILITY, GIB
from tests.fakes.csi_driver import FakeCsiDriver, Replies, wrong_volume_id

SECRETS = Secrets.of_text({"token": "abcdef"})


@pytest.fixture
def controller(connection: Connection) -> Controller:
    return Controller(connection)


def a_volume(driver: FakeCsiDriver, name: str = "vol-1") -> None:
    driver.state.volumes[name] = pb.Volume(volume_id=name, capacity_bytes=1 << 30)


async def test_create_sends_all_and_reads_all(
    driver: FakeCsiDriver, controller: Controller
) -> None:
    a_volume(driver, "vol-0")
    driver.state.topology = {"zone": "a"}
    here = Topology({"zone": "a"})
    block = VolumeCapability(Block(), WireMode.MULTI_NODE_MULTI_WRITER)
    files = VolumeCapability(Mount("xfs", ("noatime",), "1000"), WireMode.SINGLE_NODE_WRITER)
    outcome = await controller.create(
        CreateVolume(
            name="pvc-1",
            capabilities=(files, block),
            capacity=CapacityRange(10, 20),
            parameters={"kind": "fast"},
            secrets=SECRETS,
            source=FromVolume("vol-0"),
            topology=TopologyRequirement((here, Topology({"zone": "b"})), (here,)),
            mutable_parameters={"iops": "7"},
        ),
        within=5,
    )
    assert outcome == Done(
        Volume(
            "vol-pvc-1",
            10,
            {"made-by": "fake.csi.mooring.dev"},
            FromVolume("vol-0"),
            (here,),
        )
    )
    wanted = pb.CreateVolumeRequest(
        name="pvc-1",
        capacity_range=pb.CapacityRange(required_bytes=10, limit_bytes=20),
        parameters={"kind": "fast"},
        secrets={"token": "abcdef"},
        mutable_parameters={"iops": "7"},
    )
    one = wanted.volume_capabilities.add()
    one.mount.fs_type = "xfs"
    one.access_mode.mode = pb.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
    one.mount.mount_flags.append("noatime")
    one.mount.volume_mount_group = "1000"
    two = wanted.volume_capabilities.add()
    two.block.SetInParent()
    two.access_mode.mode = pb.VolumeCapability.AccessMode.MULTI_NODE_MULTI_WRITER
    wanted.volume_content_source.volume.volume_id = "vol-0"
    for zone in "ab":
        wanted.accessibility_requirements.requisite.add(segments={"zone": zone})
    wanted.accessibility_requirements.preferred.add(segments={"zone": "a"})
    assert driver.requests("CreateVolume") == [wanted]


async def test_what_is_not_asked_for_is_not_sent(
    driver: FakeCsiDriver, controller: Controller
) -> None:
    await controller.create(CreateVolume("pvc-1", (CAPABILITY,)), within=5)
    (sent,) = driver.requests("CreateVolume")
    assert {field.name for field, _ in sent.ListFields()} == {"name", "volume_capabilities"}


async def test_a_source_that_is_a_snapshot(driver: FakeCsiDriver, controller: Controller) -> None:
    driver.state.snapshots["snap-1"] = pb.Snapshot(snapshot_id="snap-1")
    outcome = await controller.create(
        CreateVolume("pvc-1", (CAPABILITY,), source=FromSnapshot("snap-1")), within=5
    )
    assert isinstance(outcome, Done)
    assert outcome.value.source == FromSnapshot("snap-1")


BAD_VOLUMES = {
    "no volume": (pb.Volume(), "the driver returned a volume without an id"),
    "a negative size": (
        pb.Volume(volume_id="x", capacity_bytes=-1),
        "the driver returned a volume of -1 bytes",
    ),
}


@pytest.mark.parametrize(("volume", "message"), BAD_VOLUMES.values(), ids=BAD_VOLUMES)
async def test_an_answer_that_makes_no_sense_leaves_a_volume_behind_perhaps(
    volume: pb.Volume, message: str, driver: FakeCsiDriver, controller: Controller
) -> None:
    driver.next("CreateVolume", Replies(lambda _: pb.CreateVolumeResponse(volume=volume)))
    assert await controller.create(CreateVolume("pvc-1", (CAPABILITY,)), within=5) == Uncertain(
        None, message
    )


async def test_a_wrong_id_is_told_as_it_is(driver: FakeCsiDriver, controller: Controller) -> None:
    driver.next("CreateVolume", wrong_volume_id("other"))
    outcome = await controller.create(CreateVolume("pvc-1", (CAPABILITY,)), within=5)
    assert isinstance(outcome, Done)
    assert outcome.value.volume_id == "other"


async def test_attach_and_detach(driver: FakeCsiDriver, controller: Controller) -> None:
    a_volume(driver)
    volume = AttachVolume(
        "vol-1", "node-1", CAPABILITY, readonly=True, volume_context={"share": "x"}
    )
    assert await controller.attach(volume, within=5) == Done({"device": "/dev/fake"})
    assert driver.state.attachments == {("vol-1", "node-1"): True}
    (sent,) = driver.requests("ControllerPublishVolume")
    assert isinstance(sent, pb.ControllerPublishVolumeRequest)
    assert (sent.readonly, dict(sent.volume_context)) == (True, {"share": "x"})
    assert await controller.detach("vol-1", "node-1", within=5) == Done(None)
    assert await controller.detach("vol-1", "node-1", within=5) == Done(None)
    assert driver.state.attachments == {}


async def test_detach_never_means_every_node(driver: FakeCsiDriver, controller: Controller) -> None:
    with pytest.raises(ValueError, match="needs the id of a node"):
        await controller.detach("vol-1", "", within=5)
    assert driver.calls == []


async def test_delete(driver: FakeCsiDriver, controller: Controller) -> None:
    a_volume(driver)
    driver.state.attachments["vol-1", "node-1"] = False
    assert await controller.delete("vol-1", within=5) == Refused(
        Code.FAILED_PRECONDITION, "vol-1 is in use"
    )
    driver.state.attachments.clear()
    assert await controller.delete("vol-1", SECRETS, within=5) == Done(None)
    assert driver.state.volumes == {}
    assert driver.secrets_seen == [("DeleteVolume", {"token": "abcdef"})]


BLOCK = VolumeCapability(Block(), WireMode.SINGLE_NODE_WRITER)
ECHOED = pb.ValidateVolumeCapabilitiesResponse()
ECHOED.confirmed.volume_capabilities.add().block.SetInParent()

VALIDATIONS = {
    "all is repeated": (None, Validation(confirmed=True)),
    "nothing is confirmed": (
        pb.ValidateVolumeCapabilitiesResponse(message="no block"),
        Validation(confirmed=False, message="no block"),
    ),
    "something else is repeated": (ECHOED, Validation(confirmed=False)),
}


@pytest.mark.parametrize(("reply", "expected"), VALIDATIONS.values(), ids=VALIDATIONS)
async def test_validation_when(
    reply: pb.ValidateVolumeCapabilitiesResponse | None,
    expected: Validation,
    driver: FakeCsiDriver,
    controller: Controller,
) -> None:
    a_volume(driver)
    if reply is not None:
        driver.next("ValidateVolumeCapabilities", Replies(lambda _: reply))
    volume = ValidateVolume("vol-1", (BLOCK, CAPABILITY))
    assert await controller.validate(volume, within=5) == Done(expected)


async def test_lists_page_by_page(driver: FakeCsiDriver, controller: Controller) -> None:
    for number in range(5):
        a_volume(driver, f"vol-{number}")
    driver.state.attachments["vol-1", "node-9"] = False
    driver.state.conditions["vol-1"] = "bad disk"
    page = await controller.list_page(max_entries=2, within=5)
    well = Condition(abnormal=False, message="all is well")
    ill = Condition(abnormal=True, message="bad disk")
    assert page == Done(
        Page(
            (
                VolumeState(Volume("vol-0", 1 << 30), (), well),
                VolumeState(Volume("vol-1", 1 << 30), ("node-9",), ill),
            ),
            "2",
        )
    )
    everything = await controller.list_all(within=5)
    assert isinstance(everything, Done)
    assert [state.volume.volume_id for state in everything.value] == [*driver.state.volumes]


async def test_a_bad_token_is_refused(controller: Controller) -> None:
    assert await controller.list_page("nonsense", within=5) == Refused(
        Code.ABORTED, "nonsense is no starting_token"
    )


async def test_a_list_without_end_is_not_followed(
    driver: FakeCsiDriver, controller: Controller
) -> None:
    driver.always("ListVolumes", Replies(lambda _: pb.ListVolumesResponse(next_token="0")))
    assert await controller.list_all(within=5) == Uncertain(
        None, "the driver's list does not end: a token came twice"
    )


async def test_a_page_that_fails_fails_the_list(
    driver: FakeCsiDriver, controller: Controller
) -> None:
    driver.next("ListVolumes", Replies(lambda _: pb.ListVolumesResponse(next_token="77")))
    assert isinstance(await controller.list_all(within=5), Refused)


async def test_an_empty_node_name_in_a_list_is_no_node(
    driver: FakeCsiDriver, controller: Controller
) -> None:
    a_volume(driver)
    driver.state.attachments["vol-1", ""] = False
    state = await controller.get("vol-1", within=5)
    assert isinstance(state, Done)
    assert state.value.published_node_ids == ()


async def test_capacity(driver: FakeCsiDriver, controller: Controller) -> None:
    driver.state.available = 99
    outcome = await controller.get_capacity(
        capabilities=(CAPABILITY,),
        parameters={"kind": "fast"},
        topology=Topology({"zone": "a"}),
        within=5,
    )
    assert outcome == Done(Capacity(99, maximum_volume_bytes=99, minimum_volume_bytes=None))
    (sent,) = driver.requests("GetCapacity")
    assert isinstance(sent, pb.GetCapacityRequest)
    assert dict(sent.accessible_topology.segments) == {"zone": "a"}
    driver.next("GetCapacity", Replies(lambda _: pb.GetCapacityResponse(available_capacity=-1)))
    assert isinstance(await controller.get_capacity(within=5), Uncertain)


async def test_expand(driver: FakeCsiDriver, controller: Controller) -> None:
    a_volume(driver)
    volume = ExpandVolume("vol-1", CapacityRange(2 << 30))
    assert await controller.expand(volume, within=5) == Done(
        Expanded(2 << 30, node_expansion_required=True)
    )
    smaller = ExpandVolume("vol-1", GIB)
    outcome = await controller.expand(smaller, within=5)
    assert outcome == Done(Expanded(2 << 30, node_expansion_required=True))


async def test_modify(driver: FakeCsiDriver, controller: Controller) -> None:
    a_volume(driver)
    assert await controller.modify("vol-1", {"iops": "7"}, SECRETS, within=5) == Done(None)
    assert driver.state.parameters == {"vol-1": {"iops": "7"}}


async def test_capabilities(driver: FakeCsiDriver, controller: Controller) -> None:
    driver.state.controller = {ControllerCapability.GET_VOLUME}
    assert await controller.capabilities(within=5) == Done(
        frozenset({ControllerCapability.GET_VOLUME})
    )
    assert isinstance(await controller.delete("vol-1", within=5), Refused)
