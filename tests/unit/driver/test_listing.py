from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.csi.capability import ControllerCapability, NodeCapability
from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.listing import _page
from mooring.driver.records import AccessType, Blank, VolumeRecord
from mooring.driver.refusal import ABORTED, INVALID, NOT_FOUND
from mooring.driver.serve import services
from mooring.driver.settings import MIB, TOPOLOGY_KEY
from mooring.testing.csi_state import GATES
from tests.unit.driver.calls import NODE, Driver, a_capability, refused


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def test_what_the_driver_answers_it_announces_and_nothing_else(driver: Driver) -> None:
    controller = driver.ControllerGetCapabilities(csi.ControllerGetCapabilitiesRequest())
    node = driver.NodeGetCapabilities(csi.NodeGetCapabilitiesRequest())
    announced = {
        (kind, one.rpc.type)
        for kind, answer in ((ControllerCapability, controller), (NodeCapability, node))
        for one in answer.capabilities
    }
    answered = {
        call for calls in services(driver.core).values() for one in calls for call in dir(one)
    }
    wrong = [
        rpc
        for rpc, gate in GATES.items()
        if (rpc in answered) != ((type(gate), gate.value) in announced)
    ]
    assert wrong == []


def a_record(number: int) -> VolumeRecord:
    return VolumeRecord(f"{number:04}", "", AccessType.BLOCK, "", 0, {}, None, Blank())


@given(
    numbers=st.lists(st.integers(0, 999), unique=True),
    most=st.integers(1, 9),
    gone=st.sets(st.integers(0, 999)),
)
def test_pages_show_everything_once_whatever_goes_meanwhile(
    numbers: list[int], most: int, gone: set[int]
) -> None:
    records = [a_record(number) for number in sorted(numbers)]
    seen: list[str] = []
    token = ""
    while True:
        page, token = _page(records, most, token, lambda _: True)
        assert len(page) <= most
        seen += [record.id for record in page]
        records = [record for record in records if int(record.id) not in gone]
        if not token:
            break
    stayed = [f"{number:04}" for number in sorted(numbers) if number not in gone]
    assert seen == sorted(set(seen))
    assert set(stayed) <= set(seen)


def test_volumes_come_in_pages(driver: Driver) -> None:
    made = sorted(driver.make(str(number)).volume_id for number in range(5))
    first = driver.ListVolumes(csi.ListVolumesRequest(max_entries=2))
    rest = driver.ListVolumes(csi.ListVolumesRequest(starting_token=first.next_token))
    listed = [entry.volume.volume_id for entry in (*first.entries, *rest.entries)]
    assert (listed, rest.next_token) == (made, "")


def test_snapshots_are_picked_and_come_in_pages(driver: Driver) -> None:
    one, two = driver.make("1").volume_id, driver.make("2").volume_id
    of_one = sorted(driver.snap(one, f"s{number}").snapshot_id for number in range(3))
    of_two = driver.snap(two, "t").snapshot_id

    def ids(**wanted: object) -> list[str]:
        answer = driver.ListSnapshots(csi.ListSnapshotsRequest(**wanted))  # type: ignore[arg-type]  # fields by name
        return [entry.snapshot.snapshot_id for entry in answer.entries]

    assert ids() == sorted([*of_one, of_two])
    assert ids(source_volume_id=one) == of_one
    assert ids(snapshot_id=of_two) == [of_two]
    assert ids(snapshot_id=of_two, source_volume_id=one) == []
    assert ids(snapshot_id="unknown") == ids(source_volume_id="../x") == []
    assert ids(source_volume_id=one, max_entries=2) == of_one[:2]
    assert ids(source_volume_id=one, starting_token=of_one[1]) == of_one[2:]


def test_tokens_that_were_never_given_out(driver: Driver) -> None:
    with refused(ABORTED, "starting_token"):
        driver.ListVolumes(csi.ListVolumesRequest(starting_token="5"))
    with refused(ABORTED, "starting_token"):
        driver.ListSnapshots(csi.ListSnapshotsRequest(starting_token=f"vol-{'0' * 32}"))
    with refused(INVALID, "-1"):
        driver.ListVolumes(csi.ListVolumesRequest(max_entries=-1))


def test_the_condition_of_a_volume(driver: Driver) -> None:
    volume = driver.make()
    request = csi.ControllerGetVolumeRequest(volume_id=volume.volume_id)
    whole = driver.ControllerGetVolume(request)
    assert whole.volume == volume
    assert not whole.status.volume_condition.abnormal
    with driver.image(volume.volume_id).open("r+b") as file:
        file.truncate(MIB)
    cut = driver.ControllerGetVolume(request).status.volume_condition
    assert (cut.abnormal, cut.message) == (True, f"its image has {MIB} bytes of {16 * MIB}")
    driver.image(volume.volume_id).unlink()
    lost = driver.ListVolumes(csi.ListVolumesRequest()).entries[0].status.volume_condition
    assert (lost.abnormal, lost.message) == (True, "its image is missing")
    with refused(NOT_FOUND):
        driver.ControllerGetVolume(csi.ControllerGetVolumeRequest(volume_id="../x"))


def test_capacity_is_of_this_machine(driver: Driver) -> None:
    here = driver.GetCapacity(csi.GetCapacityRequest())
    assert 0 < here.maximum_volume_size.value <= here.available_capacity
    named = csi.GetCapacityRequest(accessible_topology=csi.Topology(segments={TOPOLOGY_KEY: NODE}))
    assert driver.GetCapacity(named).available_capacity > 0
    other = csi.GetCapacityRequest(accessible_topology=csi.Topology(segments={TOPOLOGY_KEY: "n2"}))
    assert driver.GetCapacity(other).available_capacity == 0
    xfs = csi.GetCapacityRequest(volume_capabilities=[a_capability(fs_type="xfs")])
    assert driver.GetCapacity(xfs).minimum_volume_size.value == 300 * MIB
    with refused(INVALID):
        driver.GetCapacity(csi.GetCapacityRequest(parameters={"x": "y"}))
