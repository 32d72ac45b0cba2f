"""Health as CSI 1.13 reports it."""

from google.protobuf.message import Message

from mooring.csi.capability import Mount, VolumeCapability, WireMode
from mooring.csi.channel import Connection
from mooring.csi.health import ControllerHealth, NodeHealth
from mooring.csi.outcome import Done, Uncertain
from mooring.csi.proto import csi_pb2 as pb
from mooring.csi.volume_health import (
    HealthEntry,
    StorageEntry,
    StorageTrouble,
    VolumeHealth,
    VolumeTrouble,
)
from tests.fakes.csi_driver import FakeCsiDriver, Replies

HEALTHY = VolumeHealth("vol-1")


async def test_every_page_of_ailing_volumes(driver: FakeCsiDriver, connection: Connection) -> None:
    driver.state.health = {
        "a": [("DEGRADED", "Slow", "one path")],
        "b": [("DATA_LOSS", "Truncated", ""), ("INACCESSIBLE", "Gone", "")],
    }
    health = ControllerHealth(connection)
    page = await health.list_page(max_entries=1, within=5)
    assert isinstance(page, Done)
    assert page.value.next_token == "1"
    assert await health.list_all(within=5) == Done(
        (
            VolumeHealth("a", (HealthEntry(VolumeTrouble.DEGRADED, "Slow", "one path"),)),
            VolumeHealth(
                "b",
                (
                    HealthEntry(VolumeTrouble.DATA_LOSS, "Truncated"),
                    HealthEntry(VolumeTrouble.INACCESSIBLE, "Gone"),
                ),
            ),
        )
    )


async def test_a_known_volume_without_trouble_is_explicitly_healthy(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    driver.state.volumes["vol-1"] = pb.Volume(volume_id="vol-1")
    assert await ControllerHealth(connection).get("vol-1", within=5) == Done(HEALTHY)


async def test_on_a_node_the_paths_are_told(driver: FakeCsiDriver, connection: Connection) -> None:
    assert await NodeHealth(connection).get("vol-1", "/t", "/s", within=5) == Done(HEALTHY)
    assert driver.requests("NodeGetVolumeHealth") == [
        pb.NodeGetVolumeHealthRequest(
            volume_id="vol-1", volume_publish_path="/t", staging_target_path="/s"
        )
    ]


async def test_statuses_of_a_newer_specification_and_repeated_entries_are_passed_over(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    one = pb.VolumeHealth.VolumeHealthEntry

    def change(_: Message) -> Message:
        told = [one(status="DEGRADED", reason="Slow", message=text) for text in ("1", "2")]
        new = pb.VolumeHealth.VolumeHealthEntry.FromString(b"\x08\x63\x12\x01R")  # status 99
        health = pb.VolumeHealth(
            volume_id="v", health_statuses=[new, *told, one(status="DEGRADED")]
        )
        return pb.NodeGetVolumeHealthResponse(volume_health=health)

    driver.next("NodeGetVolumeHealth", Replies(change))
    assert await NodeHealth(connection).get("v", within=5) == Done(
        VolumeHealth("v", (HealthEntry(VolumeTrouble.DEGRADED, "Slow", "1"),))
    )


async def test_health_without_a_volume_is_no_answer(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    driver.next("NodeGetVolumeHealth", Replies(lambda _: pb.NodeGetVolumeHealthResponse()))
    text = "the driver returned the health of a volume without an id"
    assert await NodeHealth(connection).get("v", within=5) == Uncertain(None, text)


async def test_a_backend_by_capability(driver: FakeCsiDriver, connection: Connection) -> None:
    mode = pb.VolumeCapability.AccessMode(mode="SINGLE_NODE_WRITER")
    affected = pb.VolumeCapability(mount=pb.VolumeCapability.MountVolume(), access_mode=mode)
    one = pb.NodeGetStorageHealthResponse.StorageBackendHealth
    driver.next(
        "NodeGetStorageHealth",
        Replies(
            lambda _: pb.NodeGetStorageHealthResponse(
                backend_health=[
                    one(status="STORAGE_UNREACHABLE", reason="NoRoute"),
                    one(status="STORAGE_DEGRADED", reason="Full", volume_capability=affected),
                ]
            )
        ),
    )
    assert await NodeHealth(connection).get_storage(within=5) == Done(
        (
            StorageEntry(StorageTrouble.STORAGE_UNREACHABLE, "NoRoute"),
            StorageEntry(
                StorageTrouble.STORAGE_DEGRADED,
                "Full",
                capability=VolumeCapability(Mount(), WireMode.SINGLE_NODE_WRITER),
            ),
        )
    )


def test_the_numbers_on_the_wire() -> None:
    entry = pb.VolumeHealth.VolumeHealthEntry(status="INACCESSIBLE", reason="R")
    health = pb.VolumeHealth(volume_id="v", health_statuses=[entry])
    assert health.SerializeToString().hex(" ") == "0a 01 76 12 05 08 02 12 01 52"
    topology = pb.Topology(segments={"z": "a"})
    snapshot = pb.Snapshot(snapshot_id="s", accessible_topology=[topology])
    assert snapshot.SerializeToString().hex(" ") == "12 01 73 3a 08 0a 06 0a 01 7a 12 01 61"
