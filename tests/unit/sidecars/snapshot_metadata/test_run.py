"""The service over real sockets and TLS: who is answered, with what, and for how long."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring.csi.outcome import Code
from mooring.csi.proto import csi_pb2, health_pb2
from mooring.errors import ServerError
from mooring.model.keys import Key
from mooring.model.secret import Secret
from mooring.model.snapshot import Snapshot, SnapshotClass, SnapshotContent
from mooring.model.snapshot_metadata_service import SnapshotMetadataService
from mooring.sidecars.snapshot_metadata.calls import Limits
from mooring.sidecars.snapshot_metadata.run import MetadataOptions
from tests.fakes import objects
from tests.fakes.csi_driver import Fails, Hangs
from tests.unit.sidecars.snapshot_metadata.metadata_world import (
    DRIVER,
    TOKEN,
    Failed,
    World,
    a_world,
    service_of,
)

ONE, CONTENT = Key("default", "one"), Key("", "of-one")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


async def test_what_is_allocated_and_what_has_changed(world: World) -> None:
    assert await world.allocated() == [(0, 10), (20, 5), (40, 1)]
    assert await world.changed() == [(20, 6)]


async def test_a_stream_goes_on_where_it_ended(world: World) -> None:
    assert await world.allocated(starting_offset=25) == [(40, 1)]
    assert await world.allocated(max_results=1) == [(0, 10), (20, 5), (40, 1)]


async def test_clients_find_the_service(world: World) -> None:
    found = service_of(world)
    assert (found.name, found.spec.audience) == (DRIVER, "blocks")
    assert found.spec.address == f"127.0.0.1:{world.role.port}"
    assert found.spec.ca_cert == world.pki.ca_certificate


async def test_the_health_check_of_grpc(world: World) -> None:
    async with world.channel() as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        answer = await check(health_pb2.HealthCheckRequest())
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def unready(world: World) -> None:
    world.patch(Snapshot, ONE, {}, {"readyToUse": False})


def unbound(world: World) -> None:
    world.patch(Snapshot, ONE, {}, {"boundVolumeSnapshotContentName": None})


def without_status(world: World) -> None:
    seen = world.server.get(Snapshot, ONE)
    world.server.delete(seen)
    made = objects.a_snapshot("one")
    made["metadata"]["namespace"] = "default"
    world.server.create(Snapshot, made)


def content_gone(world: World) -> None:
    world.server.delete(world.server.get(SnapshotContent, CONTENT))


def content_unready(world: World) -> None:
    world.patch(SnapshotContent, CONTENT, {}, {"readyToUse": False})


def without_handle(world: World) -> None:
    world.patch(SnapshotContent, CONTENT, {}, {"snapshotHandle": None})


def of_another_driver(world: World) -> None:
    world.patch(SnapshotContent, CONTENT, {"spec": {"driver": "other.example.com"}}, {})


def of_another_snapshot(world: World) -> None:
    ref = {"volumeSnapshotRef": {"namespace": "secret", "name": "one"}}
    world.patch(SnapshotContent, CONTENT, {"spec": ref}, {})


def class_gone(world: World) -> None:
    world.server.delete(world.server.get(SnapshotClass, Key("", "snappy")))


def two_defaults(world: World) -> None:
    world.patch(Snapshot, ONE, {"spec": {"volumeSnapshotClassName": None}}, {})
    for name in ("a", "b"):
        made = objects.a_snapshot_class(name) | {"driver": DRIVER}
        note = {"snapshot.storage.kubernetes.io/is-default-class": "true"}
        made["metadata"]["annotations"] = note
        world.server.create(SnapshotClass, made)


def half_a_secret(world: World) -> None:
    parameters = {"csi.storage.k8s.io/snapshotter-secret-name": "s"}
    world.patch(SnapshotClass, Key("", "snappy"), {"parameters": parameters}, {})


def secret_gone(world: World) -> None:
    prefix = "csi.storage.k8s.io/snapshotter-secret"
    parameters = {f"{prefix}-name": "s", f"{prefix}-namespace": "vault"}
    world.patch(SnapshotClass, Key("", "snappy"), {"parameters": parameters}, {})


def service_gone(world: World) -> None:
    world.server.delete(world.server.get(SnapshotMetadataService, Key("", DRIVER)))


def other_audience(world: World) -> None:
    spec = {"spec": {"audience": "other"}}
    world.patch(SnapshotMetadataService, Key("", DRIVER), spec, {})


def api_down(world: World) -> None:
    world.client.fail("get", ServerError("it is down"))


def nothing(_: World) -> None:
    pass


REFUSED: dict[str, tuple[Callable[[World], None], dict[str, Any], Code, str]] = {
    "no token": (nothing, {"security_token": ""}, Code(3), "securityToken is missing"),
    "no namespace": (nothing, {"namespace": ""}, Code(3), "namespace parameter cannot be empty"),
    "no snapshot": (nothing, {"snapshot_name": ""}, Code(3), "snapshotName cannot be empty"),
    "a wrong token": (nothing, {"security_token": "no"}, Code(16), "unauthenticated user"),
    "a token for others": (other_audience, {}, Code(16), "unauthenticated user"),
    "a service that nobody finds": (
        service_gone,
        {},
        Code(13),
        f"failed to find the SnapshotMetadataService CR for driver '{DRIVER}': ",
    ),
    "an API server that is down": (api_down, {}, Code(13), "it is down"),
    "a namespace without rights": (
        nothing,
        {"namespace": "secret"},
        Code(7),
        "user does not have permissions to perform the operation: no role allows it",
    ),
    "no such snapshot": (
        nothing,
        {"snapshot_name": "three"},
        Code(5),
        "failed to get VolumeSnapshot 'default/three': ",
    ),
    "not ready": (unready, {}, Code(14), "the VolumeSnapshot is not yet ready, name: one"),
    "no status": (without_status, {}, Code(14), "the VolumeSnapshot is not yet ready, name: one"),
    "not bound": (
        unbound,
        {},
        Code(14),
        "boundVolumeSnapshotContentName is not set in VolumeSnapshot status, name: one",
    ),
    "no content": (
        content_gone,
        {},
        Code(14),
        "failed to get VolumeSnapshotContent 'of-one': ",
    ),
    "a content that is not ready": (
        content_unready,
        {},
        Code(14),
        "the VolumeSnapshotContent is not yet ready, name: of-one",
    ),
    "a content without a handle": (
        without_handle,
        {},
        Code(14),
        "snapshotHandle is not set in VolumeSnapshotContent status, name: of-one",
    ),
    "another driver": (
        of_another_driver,
        {},
        Code(3),
        f"VolumeSnapshot 'one' does not belong to the CSI driver '{DRIVER}'",
    ),
    "the content of another snapshot": (
        of_another_snapshot,
        {},
        Code(9),
        "VolumeSnapshotContent 'of-one' belongs to another VolumeSnapshot",
    ),
    "no class": (class_gone, {}, Code(14), "failed to get VolumeSnapshotClass 'snappy': "),
    "two default classes": (
        two_defaults,
        {},
        Code(14),
        f"multiple default VolumeSnapshotClasses are set for the CSI driver '{DRIVER}'",
    ),
    "half a secret": (
        half_a_secret,
        {},
        Code(14),
        "invalid snapshotter secret parameters in VolumeSnapshotClass: ",
    ),
    "no secret": (secret_gone, {}, Code(14), "failed to get credentials: "),
}


@pytest.mark.parametrize(("prepare", "fields", "code", "text"), REFUSED.values(), ids=REFUSED)
async def test_a_call_is_refused(
    prepare: Callable[[World], None], fields: dict[str, Any], code: Code, text: str, world: World
) -> None:
    prepare(world)
    failed = await world.allocated(**fields)
    assert isinstance(failed, Failed)
    assert (failed.code, text in failed.text) == (code, True), failed
    assert "GetMetadataAllocated" not in world.driver.rpcs(asking=True)
    assert TOKEN not in failed.text


MISSING = {
    "the older snapshot": ({"base_snapshot_id": ""}, "baseSnapshotId cannot be empty"),
    "the newer snapshot": ({"target_snapshot_name": ""}, "targetSnapshotName cannot be empty"),
}


@pytest.mark.parametrize(("fields", "text"), MISSING.values(), ids=MISSING)
async def test_a_difference_needs_two(fields: dict[str, Any], text: str, world: World) -> None:
    assert await world.changed(**fields) == Failed(Code.INVALID_ARGUMENT, text)


async def test_the_older_snapshot_may_not_be_of_a_closed_namespace(world: World) -> None:
    world.add_snapshot("theirs", "s9", namespace="secret")
    while not isinstance(failed := await world.changed(base_snapshot_id="s9"), Failed):
        pass  # until the informer has it
    assert failed.code is Code.PERMISSION_DENIED
    world.client.readable = frozenset({"default", "secret"})
    assert await world.changed(base_snapshot_id="s9") == [(0, 10), (20, 6)]


async def test_an_older_snapshot_without_an_object_is_the_drivers_affair(world: World) -> None:
    assert await world.changed(base_snapshot_id="gone") == [(0, 10), (20, 6)]


async def test_the_secret_of_the_class_reaches_the_driver(world: World) -> None:
    prefix = "csi.storage.k8s.io/snapshotter-secret"
    parameters = {
        f"{prefix}-name": "${volumesnapshot.name}",
        f"{prefix}-namespace": "${volumesnapshot.namespace}",
    }
    world.patch(SnapshotClass, Key("", "snappy"), {"parameters": parameters}, {})
    secret = {"metadata": {"name": "one", "namespace": "default"}, "data": {"key": "aHVzaA=="}}
    world.server.create(Secret, secret)
    assert await world.allocated() == [(0, 10), (20, 5), (40, 1)]
    (asked,) = world.driver.requests("GetMetadataAllocated")
    assert isinstance(asked, csi_pb2.GetMetadataAllocatedRequest)
    assert dict(asked.secrets) == {"key": "hush"}


PASSED = {
    "the driver's code is passed on": (Code.OUT_OF_RANGE, Code.OUT_OF_RANGE, "scripted"),
    "an unknown one is internal": (
        Code.UNKNOWN,
        Code.INTERNAL,
        "failed to get response from CSI driver: scripted",
    ),
}


@pytest.mark.parametrize(("told", "code", "text"), PASSED.values(), ids=PASSED)
async def test_the_driver_fails(told: Code, code: Code, text: str, world: World) -> None:
    world.driver.next("GetMetadataAllocated", Fails(told))
    assert await world.allocated() == Failed(code, text)


async def test_a_session_has_an_end(tmp_path: Path) -> None:
    async with a_world(tmp_path, MetadataOptions(limits=Limits(session_seconds=0.3))) as world:
        world.driver.next("GetMetadataAllocated", Hangs())
        failed = await world.allocated()
        assert isinstance(failed, Failed)
        assert failed.code is Code.DEADLINE_EXCEEDED


async def test_there_are_only_so_many_at_once(tmp_path: Path) -> None:
    async with a_world(tmp_path, MetadataOptions(limits=Limits(most_at_once=1))) as world:
        world.driver.next("GetMetadataAllocated", Hangs())
        first = asyncio.create_task(world.allocated())
        await world.driver.arrived("GetMetadataAllocated")
        failed = await world.allocated()
        assert isinstance(failed, Failed)
        assert failed.code is Code.RESOURCE_EXHAUSTED
        first.cancel()
        await asyncio.wait([first])
        while isinstance(found := await world.allocated(), Failed):  # the cancelled call ends
            assert found.code is Code.RESOURCE_EXHAUSTED
        assert found == [(0, 10), (20, 5), (40, 1)]


async def test_a_stranger_is_not_trusted(world: World) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{world.role.port}") as channel:
        call = channel.unary_unary("/grpc.health.v1.Health/Check")
        with pytest.raises(grpc.aio.AioRpcError):
            await call(b"", timeout=5)


async def test_before_the_driver_answers(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.driver.state.ready = True
        await world.driver.stop()
        failed = await world.allocated()
        assert isinstance(failed, Failed)
        assert failed.code is Code.UNAVAILABLE
        await world.driver.start()
        while isinstance(found := await world.allocated(), Failed):
            assert found.code is Code.UNAVAILABLE
        assert found == [(0, 10), (20, 5), (40, 1)]
