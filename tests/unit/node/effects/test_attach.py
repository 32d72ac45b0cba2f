"""Volumes that have to be attached: by a controller, or by the node itself."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.errors import ConnectionLost
from mooring.node.actual import Attachability
from mooring.node.plan import VerifyAttached
from tests.fakes.plugins import FakeCloudDisk, FakePlugin, Outcome
from tests.unit.node.effects.stories import HAS, MAYBE, MOUNTED, NOT_MOUNTED, later
from tests.unit.node.effects.world import NodeWorld, Picture, a_use

NAME = "example.com/disk/pv"


def a_cloud(root: Path) -> NodeWorld:
    return NodeWorld(root, FakeCloudDisk)


def attach(world: NodeWorld, device: str = "/dev/sdx") -> None:
    """A controller has attached it, and the node has heard of it."""
    world.own_node.status[NAME] = device
    world.own_node.heard[NAME] = device


async def test_nothing_is_done_before_the_api_knows_of_the_use(tmp_path: Path) -> None:
    async with a_cloud(tmp_path) as world:
        attach(world)
        world.want("p1", a_use(), reported_in_use=False)
        begun, pauses = world.start()
        assert (begun, pauses) == (0, [])
        world.report_in_use()
        await world.once()
        assert world.picture() == Picture(MOUNTED, {"p1": HAS})


async def test_nothing_is_done_before_the_node_hears_of_the_attachment(tmp_path: Path) -> None:
    async with a_cloud(tmp_path) as world:
        world.own_node.status[NAME] = "/dev/sdx"
        world.want("p1", a_use())
        begun, pauses = world.start()
        assert (begun, pauses) == (0, [])
        attach(world)
        await world.once()
        assert world.backend.calls == [
            "wait_for_attach pv /dev/sdx",
            "mount_device pv",
            "set_up pv p1",
        ]
        assert world.here().attachability is Attachability.YES


async def test_an_attachment_counts_only_once_the_api_server_shows_it(tmp_path: Path) -> None:
    async with a_cloud(tmp_path) as world:
        world.own_node.heard[NAME] = "/dev/sdx"
        world.want("p1", a_use())
        await world.once()
        assert (world.picture(), world.events()) == (None, ())
        attach(world)
        await later(world)
        assert world.picture() == Picture(MOUNTED, {"p1": HAS})


async def test_a_use_that_is_taken_back_meanwhile_is_seen(tmp_path: Path) -> None:
    async with a_cloud(tmp_path) as world:
        attach(world)
        world.want("p1", a_use())
        world.start()
        world.context.desired.report_in_use(frozenset())
        await world.idle()
        assert world.began == [VerifyAttached(NAME)]
        assert world.picture() is None


async def test_a_volume_is_not_here_while_the_api_cannot_be_asked(tmp_path: Path) -> None:
    async with a_cloud(tmp_path) as world:
        attach(world)
        world.claim()
        world.client.fail("get", ConnectionLost("offline"))
        world.want("p1", a_use(size="1Gi"))
        await world.once()
        assert (world.picture(), world.events()) == (None, ())
        await later(world)
        assert world.picture() == Picture(MOUNTED, {"p1": HAS})
        assert world.here().size == 1 << 30


async def test_a_device_that_is_wanted_again_is_waited_for_where_it_was(tmp_path: Path) -> None:
    async with a_cloud(tmp_path) as world:
        attach(world)
        world.want("p1", a_use())
        await world.once()
        world.backend.script("unmount_device", Outcome.HANG)
        world.drop("p1")
        world.start()
        await world.idle()
        world.start()
        world.backend.calls.clear()
        world.want("p2", a_use())
        assert world.start() == (0, [])
        world.backend.release()
        await world.idle()
        await world.once()
        assert world.backend.calls == [
            "unmount_device pv",
            "wait_for_attach pv /dev/sdx",
            "mount_device pv",
            "set_up pv p2",
        ]


async def test_waiting_for_a_device_that_does_not_come(tmp_path: Path) -> None:
    async with a_cloud(tmp_path) as world:
        attach(world)
        world.backend.script("wait_for_attach", Outcome.FINAL)
        world.want("p1", a_use())
        await world.once()
        assert world.events() == (
            (
                "FailedMount",
                'MountVolume.WaitForAttach failed for volume "pv" : wait_for_attach refused',
            ),
        )
        assert world.picture() == Picture(NOT_MOUNTED)


async def test_what_need_not_be_attached_is_here(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path, FakePlugin) as world:
        world.want("p1", a_use(), reported_in_use=False)
        await world.once()
        assert world.here().attachability is Attachability.NO


# a node that attaches itself


def alone(root: Path) -> NodeWorld:
    world = a_cloud(root)
    world.context = replace(world.context, attaches_itself=True)
    return world


ATTACH = ["attach pv n1", "wait_for_attach pv /dev/pv", "mount_device pv", "set_up pv p1"]
DETACH = ["tear_down pv p1", "unmount_device pv", "detach pv n1"]


async def test_a_node_that_attaches_itself_attaches_and_detaches(tmp_path: Path) -> None:
    async with alone(tmp_path) as world:
        world.want("p1", a_use(), reported_in_use=False)
        await world.once()
        assert world.backend.calls == ATTACH
        assert world.here().attachability is Attachability.YES
        assert world.events() == (
            ("SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "pv" '),
        )
        world.drop("p1")
        await world.once()
        assert world.backend.calls == [*ATTACH, *DETACH]
        assert (world.picture(), world.backend.there) == (None, {})


ATTACHING = {
    "an attachment in doubt is detached": (Outcome.LOST, "timed out", ["detach pv n1"]),
    "even if it never was": (Outcome.VOID, "timed out", ["detach pv n1"]),
    "one that was refused is not": (Outcome.FINAL, "refused", []),
    "nor one that was not begun": (Outcome.TRANSIENT, "cannot begin", []),
}


@pytest.mark.parametrize(("ending", "error", "then"), ATTACHING.values(), ids=ATTACHING)
async def test_a_failed_attachment(
    ending: Outcome, error: str, then: list[str], tmp_path: Path
) -> None:
    async with alone(tmp_path) as world:
        world.backend.script("attach", ending)
        world.want("p1", a_use())
        world.want("p2", a_use())
        await world.once()
        text = f'AttachVolume.Attach failed for volume "pv" : attach {error}'
        told = [(one.about, one.reason, one.message) for one in world.recorder.told]
        assert told == [(f"Pod {uid}", "FailedAttachVolume", text) for uid in ("p1", "p2")]
        world.drop("p1")
        world.drop("p2")
        await world.settle()
        assert world.backend.calls == ["attach pv n1", *then]
        assert (world.picture(), world.backend.there) == (None, {})


async def test_what_could_not_be_detached_is_attached_again_before_it_is_used(
    tmp_path: Path,
) -> None:
    async with alone(tmp_path) as world:
        world.backend.script("detach", Outcome.LOST)
        world.want("p1", a_use())
        await world.once()
        world.drop("p1")
        await world.once()
        assert world.here().attachability is Attachability.UNCERTAIN
        world.want("p1", a_use())
        await world.once()
        assert world.backend.calls == [*ATTACH, *DETACH, *ATTACH]
        assert world.here().attachability is Attachability.YES


async def test_what_could_not_be_detached_is_not_gone_because_attaching_it_is_refused(
    tmp_path: Path,
) -> None:
    async with alone(tmp_path) as world:
        world.backend.script("detach", Outcome.FINAL)
        world.backend.script("attach", Outcome.DONE, Outcome.FINAL)
        world.want("p1", a_use())
        await world.once()
        world.drop("p1")
        await world.once()
        world.want("p1", a_use())
        await world.once()
        assert world.here().attachability is Attachability.UNCERTAIN
        world.drop("p1")
        await world.settle()
        assert (world.picture(), world.backend.there) == (None, {})


async def test_after_a_restart_it_is_attached_again_before_it_is_mounted_again(
    tmp_path: Path,
) -> None:
    async with alone(tmp_path) as world:
        world.want("p1", a_use())
        await world.once()
        world.restart()
        assert world.picture() == Picture(world.here().device, {"p1": MAYBE})
        await world.once()
        assert world.backend.calls == [*ATTACH, *ATTACH]
        assert world.picture() == Picture(MOUNTED, {"p1": HAS})
