"""Volumes that are made, attached, grown and deleted; on any disk, and without root."""

from pathlib import Path

import grpc
import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.backends.image import allocated_bytes
from mooring.driver.refusal import (
    ABORTED,
    DATA_LOSS,
    EXHAUSTED,
    EXISTS,
    INVALID,
    NOT_FOUND,
    OUT_OF_RANGE,
    PRECONDITION,
)
from mooring.driver.settings import MIB, TOPOLOGY_KEY
from tests.unit.driver.calls import NODE, Driver, Mode, a_capability, a_request, refused

FOREIGN = f"vol-{'0' * 32}"
HOSTILE = "../../../etc"


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path / "state")


def test_a_volume_is_a_sparse_file_of_its_size(driver: Driver) -> None:
    volume = driver.make(size=64 * MIB)
    image = driver.image(volume.volume_id)
    assert volume.capacity_bytes == image.stat().st_size == 64 * MIB
    assert allocated_bytes(image) < MIB
    assert [dict(each.segments) for each in volume.accessible_topology] == [{TOPOLOGY_KEY: NODE}]


def test_the_same_call_again_is_the_same_volume_also_after_a_restart(tmp_path: Path) -> None:
    first = Driver(tmp_path).make()
    again = Driver(tmp_path)
    assert again.make() == first
    assert again.ids() == [first.volume_id]


SAME_NAME = {
    "a larger size": (a_request(size=32 * MIB), EXISTS),
    "a limit below its size": (a_request(size=0, limit=8 * MIB), EXISTS),
    "another file system": (a_request(fs_type="xfs"), EXISTS),
    "another access type": (a_request(is_block=True), EXISTS),
    "other parameters": (a_request(parameters={"provisioning": "sparse"}), EXISTS),
    "a source": (a_request(snapshot_id="snap-1"), EXISTS),
}


@pytest.mark.parametrize(("request_", "code"), SAME_NAME.values(), ids=SAME_NAME)
def test_one_name_is_one_volume(
    driver: Driver, request_: csi.CreateVolumeRequest, code: grpc.StatusCode
) -> None:
    driver.make()
    with refused(code, "'data' exists"):
        driver.CreateVolume(request_)


COMPATIBLE = {
    "a smaller size": a_request(size=8 * MIB),
    "the default file system by its name": a_request(fs_type="ext4"),
    "another mode of access": a_request(mode=Mode.SINGLE_NODE_MULTI_WRITER),
    "a parameter of Kubernetes": a_request(parameters={"csi.storage.k8s.io/pvc/name": "c"}),
}


@pytest.mark.parametrize("request_", COMPATIBLE.values(), ids=COMPATIBLE)
def test_what_fits_the_volume_of_a_name_gets_it(
    driver: Driver, request_: csi.CreateVolumeRequest
) -> None:
    volume = driver.make()
    assert driver.CreateVolume(request_).volume == volume


def elsewhere() -> csi.CreateVolumeRequest:
    request = a_request()
    request.accessibility_requirements.requisite.add(segments={TOPOLOGY_KEY: "n2"})
    return request


def two_kinds() -> csi.CreateVolumeRequest:
    request = a_request()
    request.volume_capabilities.append(a_capability(is_block=True))
    return request


REFUSED = {
    "no name": (a_request(""), INVALID, "name"),
    "no capability": (csi.CreateVolumeRequest(name="data"), INVALID, "volume_capabilities"),
    "a parameter that is not known": (
        a_request(parameters={"replicas": "3"}),
        INVALID,
        "'replicas'",
    ),
    "a value that is not known": (
        a_request(parameters={"provisioning": "thick"}),
        INVALID,
        "'thick'",
    ),
    "a device and a file system at once": (two_kinds(), INVALID, "capabilities differ"),
    "another machine": (elsewhere(), EXHAUSTED, "n1 only"),
    "a snapshot that is not there": (a_request(snapshot_id="snap-1"), NOT_FOUND, "snap-1"),
    "a snapshot with a hostile id": (a_request(snapshot_id=HOSTILE), NOT_FOUND, HOSTILE),
    "a volume that is not there": (a_request(volume_id=FOREIGN), NOT_FOUND, FOREIGN),
    "more than the limit": (a_request(limit=8 * MIB), OUT_OF_RANGE, "limit_bytes"),
}


@pytest.mark.parametrize(("request_", "code", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_made(
    driver: Driver, request_: csi.CreateVolumeRequest, code: grpc.StatusCode, words: str
) -> None:
    with refused(code, words):
        driver.CreateVolume(request_)
    assert driver.ids() == []
    assert list((driver.core.state.root / "making").iterdir()) == []


def test_a_preferred_topology_is_only_a_wish(driver: Driver) -> None:
    request = a_request()
    request.accessibility_requirements.preferred.add(segments={TOPOLOGY_KEY: "n2"})
    request.accessibility_requirements.requisite.add(segments={TOPOLOGY_KEY: "n2"})
    request.accessibility_requirements.requisite.add(segments={TOPOLOGY_KEY: NODE})
    assert driver.CreateVolume(request).volume.volume_id


def test_a_hostile_name_stays_in_the_state_directory(driver: Driver, tmp_path: Path) -> None:
    volume = driver.make("../../../../x")
    assert driver.image(volume.volume_id).is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state"]


def test_full_provisioning_takes_all_blocks_at_once(driver: Driver) -> None:
    volume = driver.make(size=8 * MIB, parameters={"provisioning": "full"})
    image = driver.image(volume.volume_id)
    assert allocated_bytes(image) >= 8 * MIB
    driver.expand(volume.volume_id, 12 * MIB)
    assert allocated_bytes(image) >= 12 * MIB


def modify(driver: Driver, volume_id: str, **parameters: str) -> None:
    request = csi.ControllerModifyVolumeRequest(volume_id=volume_id, mutable_parameters=parameters)
    driver.ControllerModifyVolume(request)


def test_a_volume_is_given_its_blocks_later(driver: Driver) -> None:
    volume = driver.make(size=8 * MIB)
    modify(driver, volume.volume_id, provisioning="full")
    assert allocated_bytes(driver.image(volume.volume_id)) >= 8 * MIB
    assert driver.make(size=8 * MIB) == volume
    modify(driver, volume.volume_id, provisioning="sparse")
    driver.expand(volume.volume_id, 64 * MIB)
    assert allocated_bytes(driver.image(volume.volume_id)) < 16 * MIB


def test_mutable_parameters_win_when_a_volume_is_made(driver: Driver) -> None:
    request = a_request(size=8 * MIB, parameters={"provisioning": "sparse"})
    request.mutable_parameters["provisioning"] = "full"
    volume = driver.CreateVolume(request).volume
    assert allocated_bytes(driver.image(volume.volume_id)) >= 8 * MIB


def test_what_is_not_modified(driver: Driver) -> None:
    volume = driver.make()
    with refused(INVALID, "'iops'"):
        modify(driver, volume.volume_id, iops="5")
    with refused(INVALID, "mutable_parameters"):
        modify(driver, volume.volume_id)
    with refused(NOT_FOUND):
        modify(driver, FOREIGN, provisioning="full")


def test_deleting_is_done_once_and_repeated_for_ever(driver: Driver) -> None:
    volume = driver.make()
    for _ in range(2):
        driver.delete(volume.volume_id)
        assert driver.ids() == []
    for unknown in (FOREIGN, HOSTILE, "no-such-id"):
        driver.delete(unknown)
    with refused(INVALID, "volume_id"):
        driver.delete("")


def test_a_volume_whose_record_is_damaged_is_neither_deleted_nor_made_again(
    driver: Driver, tmp_path: Path
) -> None:
    image = driver.image(driver.make().volume_id)
    (image.parent / "record.json").write_bytes(b"{")
    again = Driver(tmp_path / "state")
    with refused(DATA_LOSS):
        again.delete(image.parent.name)
    with refused(DATA_LOSS):
        again.make()
    assert image.exists()


class TestAttaching:
    def test_is_remembered_and_can_be_repeated(self, driver: Driver, tmp_path: Path) -> None:
        volume = driver.make()
        for _ in range(2):
            driver.attach(volume.volume_id)
        again = Driver(tmp_path / "state")
        request = csi.ControllerGetVolumeRequest(volume_id=volume.volume_id)
        assert list(again.ControllerGetVolume(request).status.published_node_ids) == [NODE]
        with refused(PRECONDITION, NODE):
            again.delete(volume.volume_id)
        for _ in range(2):
            again.detach(volume.volume_id)
        again.delete(volume.volume_id)

    def test_of_what_is_not_there(self, driver: Driver) -> None:
        volume = driver.make()
        with refused(NOT_FOUND, FOREIGN):
            driver.attach(FOREIGN)
        with refused(NOT_FOUND, "no node 'n2'"):
            driver.attach(volume.volume_id, "n2")
        for missing in (("", NODE), (volume.volume_id, "")):
            with refused(INVALID, "missing"):
                driver.attach(*missing)
        driver.detach(FOREIGN)
        driver.detach(volume.volume_id, "n2")

    def test_in_two_ways_is_refused(self, driver: Driver) -> None:
        volume = driver.make()
        driver.attach(volume.volume_id)
        with refused(EXISTS, "in another way"):
            driver.attach(volume.volume_id, readonly=True)
        with refused(EXISTS, "in another way"):
            driver.attach(volume.volume_id, mode=Mode.SINGLE_NODE_SINGLE_WRITER)

    def test_as_what_it_is_not_is_refused(self, driver: Driver) -> None:
        with refused(INVALID, "mount, not block"):
            driver.attach(driver.make().volume_id, is_block=True)

    def test_of_one_writer_is_to_one_node(self, driver: Driver, tmp_path: Path) -> None:
        volume = driver.make()
        driver.attach(volume.volume_id)
        renamed = Driver(tmp_path / "state", node_id="n2")
        with refused(PRECONDITION, NODE):
            renamed.attach(volume.volume_id, "n2")
        renamed.detach(volume.volume_id, "")
        renamed.attach(volume.volume_id, "n2")

    def test_of_readers_is_to_many_nodes(self, driver: Driver, tmp_path: Path) -> None:
        volume = driver.make(mode=Mode.MULTI_NODE_READER_ONLY)
        driver.attach(volume.volume_id, mode=Mode.MULTI_NODE_READER_ONLY)
        other = Driver(tmp_path / "state", node_id="n2")
        other.attach(volume.volume_id, "n2", mode=Mode.MULTI_NODE_READER_ONLY)

    def test_ends_at_the_limit_of_the_node(self, tmp_path: Path) -> None:
        driver = Driver(tmp_path, max_volumes=1)
        first, second = driver.make("a").volume_id, driver.make("b").volume_id
        driver.attach(first)
        driver.attach(first)
        with refused(EXHAUSTED, "limit"):
            driver.attach(second)
        driver.detach(first)
        driver.attach(second)


class TestGrowing:
    def test_grows_the_image_and_asks_the_node_for_the_rest(self, driver: Driver) -> None:
        volume = driver.make()
        for _ in range(2):
            answer = driver.expand(volume.volume_id, 32 * MIB)
            assert (answer.capacity_bytes, answer.node_expansion_required) == (32 * MIB, True)
        assert driver.image(volume.volume_id).stat().st_size == 32 * MIB

    def test_of_a_device_is_done_at_once(self, driver: Driver) -> None:
        volume = driver.make(is_block=True)
        assert not driver.expand(volume.volume_id, 32 * MIB).node_expansion_required

    def test_never_shrinks(self, driver: Driver) -> None:
        volume = driver.make()
        assert driver.expand(volume.volume_id, 8 * MIB).capacity_bytes == 16 * MIB
        request = csi.ControllerExpandVolumeRequest(volume_id=volume.volume_id)
        request.capacity_range.limit_bytes = 8 * MIB
        with refused(OUT_OF_RANGE, "smaller"):
            driver.ControllerExpandVolume(request)

    def test_of_what_is_not_there_or_not_asked(self, driver: Driver) -> None:
        volume = driver.make()
        with refused(NOT_FOUND):
            driver.expand(FOREIGN, MIB)
        with refused(INVALID, "capacity_range"):
            request = csi.ControllerExpandVolumeRequest(volume_id=volume.volume_id)
            driver.ControllerExpandVolume(request)
        request = csi.ControllerExpandVolumeRequest(
            volume_id=volume.volume_id, volume_capability=a_capability(is_block=True)
        )
        request.capacity_range.required_bytes = 32 * MIB
        with refused(INVALID, "not block"):
            driver.ControllerExpandVolume(request)


def validate(driver: Driver, volume_id: str, *capabilities: csi.VolumeCapability) -> str:
    request = csi.ValidateVolumeCapabilitiesRequest(
        volume_id=volume_id, volume_capabilities=capabilities
    )
    answer = driver.ValidateVolumeCapabilities(request)
    assert answer.HasField("confirmed") != bool(answer.message)
    assert list(answer.confirmed.volume_capabilities) == (
        [] if answer.message else list(capabilities)
    )
    message: str = answer.message
    return message


def test_what_a_volume_can_be_used_for(driver: Driver) -> None:
    volume = driver.make().volume_id
    assert validate(driver, volume, a_capability(), a_capability(Mode.MULTI_NODE_READER_ONLY)) == ""
    assert "not xfs" in validate(driver, volume, a_capability(), a_capability(fs_type="xfs"))
    assert "MULTI_WRITER" in validate(driver, volume, a_capability(Mode.MULTI_NODE_MULTI_WRITER))
    with refused(NOT_FOUND):
        validate(driver, FOREIGN, a_capability())
    with refused(INVALID):
        validate(driver, volume)


def test_two_calls_for_one_volume_at_once(driver: Driver) -> None:
    volume = driver.make()
    with driver.core.in_flight.holding(volume.volume_id):
        for call in (
            driver.make,
            lambda: driver.delete(volume.volume_id),
            lambda: driver.attach(volume.volume_id),
            lambda: driver.detach(volume.volume_id),
            lambda: driver.expand(volume.volume_id, 32 * MIB),
            lambda: driver.snap(volume.volume_id),
            lambda: driver.make("clone", volume_id=volume.volume_id),
        ):
            with refused(ABORTED, volume.volume_id):
                call()
