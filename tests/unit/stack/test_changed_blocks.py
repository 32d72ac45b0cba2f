"""The client of a snapshot metadata service, against the real service over TLS."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from mooring.client.contract import Action, T
from mooring.csi.outcome import Code
from mooring.csi.proto import csi_pb2
from mooring.errors import NotFound, UsageError
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.snapshot_metadata_service import SnapshotMetadataService
from mooring.stack.changed_blocks import MOST_RESUMED, Wish, changed_blocks
from tests.fakes.csi_driver import Fails
from tests.unit.sidecars.snapshot_metadata.metadata_world import (
    AUDIENCE,
    DRIVER,
    TOKEN,
    ReviewingClient,
    World,
    a_world,
)


class BackupClient(ReviewingClient):
    """Gives the good token to one service account."""

    async def post(self, kind: type[T], key: Key, action: Action, doc: Doc) -> Doc:
        assert (action, doc["spec"]["audiences"]) == (Action.TOKEN, [AUDIENCE])
        if key != Key("default", "default"):
            raise NotFound(f'serviceaccounts "{key.name}" not found')
        return {"status": {"token": TOKEN}}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


async def ask(world: World, wish: Wish) -> list[tuple[int, int]]:
    client = BackupClient(world.server, world.clock)
    found = [each async for each in changed_blocks(client, wish)]
    return [(each.byte_offset, each.size_bytes) for one in found for each in one.ranges]


async def test_what_is_allocated_and_what_has_changed(world: World) -> None:
    assert await ask(world, Wish("default", "one")) == [(0, 10), (20, 5), (40, 1)]
    assert await ask(world, Wish("default", "two", "one")) == [(20, 6)]


def base_of_another_driver(world: World) -> None:
    spec = {"spec": {"driver": "other.example.com"}}
    world.patch(SnapshotContent, Key("", "of-one"), spec, {})


def unready(world: World) -> None:
    world.patch(Snapshot, Key("default", "two"), {}, {"readyToUse": False})


def service_gone(world: World) -> None:
    world.server.delete(world.server.get(SnapshotMetadataService, Key("", DRIVER)))


def closed(world: World) -> None:
    world.client.readable = frozenset()


def elsewhere(world: World) -> None:
    spec = {"spec": {"address": "127.0.0.1:1"}}
    world.patch(SnapshotMetadataService, Key("", DRIVER), spec, {})


def other_authority(world: World) -> None:
    spec = {"spec": {"caCert": "UEVN"}}
    world.patch(SnapshotMetadataService, Key("", DRIVER), spec, {})


def driver_refuses(world: World) -> None:
    world.driver.next("GetMetadataDelta", Fails(Code.INVALID_ARGUMENT, "of different volumes"))


def nothing(_: World) -> None:
    pass


CHANGED = Wish("default", "two", "one")
REFUSED: dict[str, tuple[Callable[[World], None], Wish, str]] = {
    "no such snapshot": (
        nothing,
        Wish("default", "three"),
        "kubectl get volumesnapshots -n default lists those that exist",
    ),
    "not ready": (unready, CHANGED, "kubectl describe volumesnapshot two -n default says why"),
    "two drivers": (base_of_another_driver, CHANGED, "one and two are of different drivers"),
    "no service": (service_gone, CHANGED, "run `mooring sidecar snapshot-metadata` for it"),
    "no account": (
        nothing,
        Wish("default", "two", "one", Key("", "nobody")),
        "no token for the service account default/nobody",
    ),
    "no right": (closed, CHANGED, "let default/default get volumesnapshots in default"),
    "nobody listens": (elsewhere, CHANGED, f"check that the service of {DRIVER} runs at 127"),
    "another authority": (other_authority, CHANGED, "a certificate of spec.caCert"),
    "two volumes": (driver_refuses, CHANGED, "name two snapshots of one volume"),
}


@pytest.mark.parametrize(("prepare", "wish", "text"), REFUSED.values(), ids=REFUSED)
async def test_a_refusal_is_one_line_with_a_remedy(
    prepare: Callable[[World], None], wish: Wish, text: str, world: World
) -> None:
    prepare(world)
    with pytest.raises(UsageError) as refused:
        await ask(world, wish)
    line = str(refused.value)
    assert text in line
    assert "\n" not in line
    assert TOKEN not in line


async def test_a_broken_stream_is_taken_up_behind_its_last_range(world: World) -> None:
    """The union of the pieces is what one clean stream tells."""
    world.driver.state.blocks["s1"] = [(each * 10, 5) for each in range(6)]
    clean = await ask(world, Wish("default", "one"))
    world.driver.breaks.extend([2, 1, 0, 1])
    assert await ask(world, Wish("default", "one")) == clean
    offsets = [each.starting_offset for each in asked(world)]
    assert offsets == [0, 0, 15, 25, 25, 35]


async def test_a_stream_that_breaks_for_ever_is_given_up(world: World) -> None:
    world.driver.breaks.extend([1, *[0] * 20])
    with pytest.raises(UsageError, match="the stream broke"):
        await ask(world, Wish("default", "one"))
    assert len(asked(world)) == 1 + MOST_RESUMED


def asked(world: World) -> list[csi_pb2.GetMetadataAllocatedRequest]:
    found = world.driver.requests("GetMetadataAllocated")
    return [each for each in found if isinstance(each, csi_pb2.GetMetadataAllocatedRequest)]
