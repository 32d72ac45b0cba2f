"""The bundled driver under another driver's name: its ids outside, our own inside."""

from pathlib import Path

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.disks import Disk, make_disks, parse_disk
from mooring.driver.identifiers import volume_id_of
from mooring.driver.serve import services
from mooring.driver.settings import MIB, NAME, DriverSettings
from mooring.driver.stand_in import StandIn, check_stand_in, inner_id
from mooring.errors import UsageError
from tests.unit.driver.calls import Driver, a_request

CLOUD = "pd.csi.storage.gke.io"
DISKS = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/"


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


@pytest.fixture
def stand_in(driver: Driver) -> StandIn:
    return StandIn(CLOUD, driver.core.state.volumes)


@pytest.mark.parametrize(
    "place",
    ["projects/UNSPECIFIED/zones/UNSPECIFIED", "projects/p/zones/z", "projects/p/regions/r"],
)
def test_a_disk_is_known_by_its_name_wherever_it_is(place: str) -> None:
    assert inner_id(f"{place}/disks/mongodb") == volume_id_of("mongodb")


@pytest.mark.parametrize(
    "handle", ["", "x", "projects/p/zones/z/disks", f"{DISKS}\x00", f"{DISKS}{'x' * 200}", "vol-1"]
)
def test_other_ids_stay_as_they_are(handle: str) -> None:
    assert inner_id(handle) == handle


def test_answers_have_the_other_drivers_ids_and_no_places(
    driver: Driver, stand_in: StandIn
) -> None:
    made = stand_in.outward(driver.CreateVolume(a_request("mongodb")))
    assert isinstance(made, csi.CreateVolumeResponse)
    assert made.volume.volume_id == f"{DISKS}mongodb"
    assert not made.volume.accessible_topology
    listed = stand_in.outward(driver.ListVolumes(csi.ListVolumesRequest()))
    assert isinstance(listed, csi.ListVolumesResponse)
    assert [entry.volume.volume_id for entry in listed.entries] == [f"{DISKS}mongodb"]
    node = stand_in.outward(driver.NodeGetInfo(csi.NodeGetInfoRequest()))
    assert isinstance(node, csi.NodeGetInfoResponse)
    assert not node.HasField("accessible_topology")


def test_requests_have_the_drivers_own_ids_however_deep(stand_in: StandIn) -> None:
    own = volume_id_of("a")
    snapshot = csi.CreateSnapshotRequest(source_volume_id=f"{DISKS}a", name="s")
    group = csi.CreateVolumeGroupSnapshotRequest(source_volume_ids=[f"{DISKS}a"], name="g")
    copied = csi.VolumeContentSource.VolumeSource(volume_id=f"{DISKS}a")
    clone = csi.CreateVolumeRequest(volume_content_source=csi.VolumeContentSource(volume=copied))
    inside = [stand_in.inward(request) for request in (snapshot, group, clone)]
    assert isinstance(inside[0], csi.CreateSnapshotRequest)
    assert inside[0].source_volume_id == own
    assert isinstance(inside[1], csi.CreateVolumeGroupSnapshotRequest)
    assert list(inside[1].source_volume_ids) == [own]
    assert isinstance(inside[2], csi.CreateVolumeRequest)
    assert inside[2].volume_content_source.volume.volume_id == own
    assert snapshot.source_volume_id == f"{DISKS}a"


def test_parameters_of_the_other_driver_are_dropped_and_ours_are_not(stand_in: StandIn) -> None:
    given = {"type": "pd-ssd", "provisioning": "full", "csi.storage.k8s.io/fstype": "xfs"}
    request = stand_in.inward(csi.CreateVolumeRequest(parameters=given))
    assert isinstance(request, csi.CreateVolumeRequest)
    assert set(request.parameters) == {"provisioning", "csi.storage.k8s.io/fstype"}


def test_it_says_the_other_drivers_name_and_speaks_of_no_places(
    driver: Driver, stand_in: StandIn
) -> None:
    info = stand_in.outward(driver.GetPluginInfo(csi.GetPluginInfoRequest()))
    assert isinstance(info, csi.GetPluginInfoResponse)
    assert info.name == CLOUD
    able = stand_in.outward(driver.GetPluginCapabilities(csi.GetPluginCapabilitiesRequest()))
    assert isinstance(able, csi.GetPluginCapabilitiesResponse)
    kinds = {one.service.type for one in able.capabilities if one.HasField("service")}
    service = csi.PluginCapability.Service
    assert service.CONTROLLER_SERVICE in kinds
    assert service.VOLUME_ACCESSIBILITY_CONSTRAINTS not in kinds
    assert services(driver.core)


def test_only_drivers_whose_ids_are_known() -> None:
    assert check_stand_in("") == ""
    assert check_stand_in(CLOUD) == CLOUD
    with pytest.raises(UsageError, match="--stand-in-for 'x' is not known"):
        check_stand_in("x")
    assert DriverSettings("n1", Path("/s")).name == NAME
    assert DriverSettings("n1", Path("/s"), stands_in_for=CLOUD).name == CLOUD


def test_disks_are_made_once_and_stay(driver: Driver) -> None:
    make_disks(driver.core, [parse_disk("mongodb=64Mi")])
    volume = driver.core.get_volume(volume_id_of("mongodb"))
    assert (volume.size_bytes, volume.fs_type) == (64 * MIB, "ext4")
    make_disks(driver.core, [Disk("mongodb", 128 * MIB)])
    assert driver.core.get_volume(volume.id) == volume


def test_a_disk_that_cannot_be_made_is_said(driver: Driver) -> None:
    with pytest.raises(UsageError, match="the disk big cannot be made"):
        make_disks(driver.core, [Disk("big", 1 << 62)])


@pytest.mark.parametrize("text", ["x", "=1Gi", "a=", "a=much", "a/b=1Gi"])
def test_disks_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError, match="is not NAME=SIZE"):
        parse_disk(text)
