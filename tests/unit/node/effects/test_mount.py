"""Mounting and unmounting one volume: calls in order, what is believed, what is told."""

from pathlib import Path

import pytest

from mooring.errors import HostError, NotFound, WrongFilesystem
from mooring.model.event import EventType
from mooring.model.node_selector import (
    NodeOperator,
    NodeRequirement,
    NodeSelectorTerm,
)
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import VolumeNodeAffinity
from mooring.plugins.contract import VolumeError
from mooring.plugins.layout import Layout
from tests.fakes.plugins import Backend, FakeDisk, FakePlugin, Outcome
from tests.unit.node.effects.stories import (
    HAS,
    MAYBE,
    MOUNTED,
    NOT_MOUNTED,
    UNSURE,
    Event,
    Story,
    at_last,
    drop,
    later,
    play,
    refresh,
    restart,
    swap,
    want,
)
from tests.unit.node.effects.world import (
    OTHER_ZONE,
    NodeWorld,
    Picture,
    Told,
    a_pod,
    a_use,
    affinity_for,
)

FAILED_DEVICE: Event = (
    "FailedMount",
    'MountVolume.MountDevice failed for volume "pv" : mount_device timed out',
)
REFUSED_DEVICE: Event = (
    "FailedMount",
    'MountVolume.MountDevice failed for volume "pv" : mount_device refused',
)
FAILED_SET_UP: Event = (
    "FailedMount",
    'MountVolume.SetUp failed for volume "pv" : set_up timed out',
)
REFUSED_SET_UP: Event = (
    "FailedMount",
    'MountVolume.SetUp failed for volume "pv" : set_up refused',
)
FAILED_TEAR_DOWN: Event = (
    "FailedUnmount",
    'UnmountVolume.TearDown failed for volume "example.com/disk/pv" : tear_down refused',
)
IN_USE: Event = (
    "FailedMount",
    'MountVolume.SetUp failed for volume "pv" : volume uses the ReadWriteOncePod access mode and '
    "is already in use by another pod",
)

BRING = ("mount_device pv", "set_up pv p1")
TAKE = ("tear_down pv p1", "unmount_device pv")
ONE_POD = a_use("pv", AccessMode.ONCE_POD)


def an_optionless_plugin(backend: Backend, layout: Layout) -> FakePlugin:
    return FakeDisk(backend, layout, takes_mount_options=False)


STORIES = {
    "a volume comes in this order": Story(
        acts=[want()], calls=BRING, left=Picture(MOUNTED, {"p1": HAS})
    ),
    "a volume goes in the reverse order, and nobody detaches it": Story(
        acts=[want(), drop()], calls=[*BRING, *TAKE], left=None
    ),
    "files of a pod alone have no device": Story(
        acts=[want(), drop()],
        calls=["set_up pv p1", "tear_down pv p1"],
        left=None,
        make_plugin=FakePlugin,
    ),
    "a mount of the device that timed out leaves the device uncertain": Story(
        script={"mount_device": [Outcome.LOST]},
        acts=[want()],
        calls=["mount_device pv"],
        left=Picture(UNSURE),
        events=[FAILED_DEVICE],
    ),
    "an uncertain device is unmounted when the pod goes": Story(
        script={"mount_device": [Outcome.LOST]},
        acts=[want(), drop()],
        calls=["mount_device pv", "unmount_device pv"],
        left=None,
        events=[FAILED_DEVICE],
    ),
    "an uncertain device is mounted again while the pod waits": Story(
        script={"mount_device": [Outcome.LOST]},
        acts=[want(), later],
        calls=["mount_device pv", *BRING],
        left=Picture(MOUNTED, {"p1": HAS}),
        events=[FAILED_DEVICE],
    ),
    "a device that certainly was not mounted is not unmounted": Story(
        script={"mount_device": [Outcome.FINAL]},
        acts=[want(), drop()],
        calls=["mount_device pv"],
        left=None,
        events=[REFUSED_DEVICE],
    ),
    "a device that the host refused to mount is not unmounted": Story(
        script={"mount_device": [HostError("no such device")]},
        acts=[want(), drop()],
        calls=["mount_device pv"],
        left=None,
        events=[
            ("FailedMount", 'MountVolume.MountDevice failed for volume "pv" : no such device'),
        ],
    ),
    "an uncertain device that then is refused is not unmounted": Story(
        script={"mount_device": [Outcome.LOST, Outcome.FINAL]},
        acts=[want(), later, drop()],
        calls=["mount_device pv", "mount_device pv"],
        left=None,
        events=[FAILED_DEVICE, REFUSED_DEVICE],
    ),
    "a remount does not touch the device": Story(
        acts=[want(), refresh()],
        calls=[*BRING, "set_up pv p1"],
        left=Picture(MOUNTED, {"p1": HAS}),
    ),
    "a remount that timed out leaves the volume mounted": Story(
        script={"set_up": [Outcome.DONE, Outcome.LOST]},
        acts=[want(), refresh()],
        calls=[*BRING, "set_up pv p1"],
        left=Picture(MOUNTED, {"p1": HAS}),
        events=[FAILED_SET_UP],
    ),
    "a remount that is refused leaves the volume mounted, and is tried again": Story(
        script={"set_up": [Outcome.DONE, Outcome.FINAL]},
        acts=[want(), refresh(), later],
        calls=[*BRING, "set_up pv p1", "set_up pv p1"],
        left=Picture(MOUNTED, {"p1": HAS}),
        events=[REFUSED_SET_UP],
    ),
    "a volume whose remount was refused goes in one tear-down": Story(
        script={"set_up": [Outcome.DONE, Outcome.FINAL]},
        acts=[want(), refresh(), drop()],
        calls=[*BRING, "set_up pv p1", *TAKE],
        left=None,
        events=[REFUSED_SET_UP],
    ),
    "an uncertain mount is not for use": Story(
        script={"set_up": [Outcome.LOST]},
        acts=[want()],
        calls=BRING,
        left=Picture(MOUNTED, {"p1": MAYBE}),
        events=[FAILED_SET_UP],
    ),
    "an uncertain mount is torn down when the pod goes": Story(
        script={"set_up": [Outcome.LOST]},
        acts=[want(), drop()],
        calls=[*BRING, *TAKE],
        left=None,
        events=[FAILED_SET_UP],
    ),
    "a mount that was refused leaves nothing to tear down": Story(
        script={"set_up": [Outcome.FINAL]},
        acts=[want(), drop()],
        calls=[*BRING, "unmount_device pv"],
        left=None,
        events=[REFUSED_SET_UP],
    ),
    "an uncertain mount that then is refused leaves nothing to tear down": Story(
        script={"set_up": [Outcome.LOST, Outcome.FINAL]},
        acts=[want(), later, drop()],
        calls=[*BRING, "set_up pv p1", "unmount_device pv"],
        left=None,
        events=[FAILED_SET_UP, REFUSED_SET_UP],
    ),
    "an operation that cannot begin changes nothing": Story(
        script={"mount_device": [Outcome.TRANSIENT]},
        acts=[want()],
        calls=["mount_device pv"],
        left=Picture(NOT_MOUNTED),
        events=[
            (
                "FailedMount",
                'MountVolume.MountDevice failed for volume "pv" : mount_device cannot begin',
            )
        ],
    ),
    "an operation that cannot begin leaves an uncertain mount uncertain": Story(
        script={"set_up": [Outcome.LOST, Outcome.TRANSIENT]},
        acts=[want(), later],
        calls=[*BRING, "set_up pv p1"],
        left=Picture(MOUNTED, {"p1": MAYBE}),
        events=[
            FAILED_SET_UP,
            ("FailedMount", 'MountVolume.SetUp failed for volume "pv" : set_up cannot begin'),
        ],
    ),
    "an operation that could not begin mounts once it can": Story(
        script={"mount_device": [Outcome.TRANSIENT], "set_up": [Outcome.TRANSIENT]},
        acts=[want(), at_last],
        calls=["mount_device pv", *BRING, "set_up pv p1"],
        left=Picture(MOUNTED, {"p1": HAS}),
        events=[
            (
                "FailedMount",
                'MountVolume.MountDevice failed for volume "pv" : mount_device cannot begin',
            ),
            ("FailedMount", 'MountVolume.SetUp failed for volume "pv" : set_up cannot begin'),
        ],
    ),
    "an object that is missing leaves a doubt": Story(
        script={"set_up": [NotFound('configmaps "c" not found')]},
        acts=[want()],
        calls=BRING,
        left=Picture(MOUNTED, {"p1": MAYBE}),
        events=[
            ("FailedMount", 'MountVolume.SetUp failed for volume "pv" : configmaps "c" not found')
        ],
    ),
    "a bug leaves the mount uncertain, and no event is recorded": Story(
        script={"set_up": [Outcome.BUG]},
        acts=[want()],
        calls=BRING,
        left=Picture(MOUNTED, {"p1": MAYBE}),
    ),
    "a pod whose volume cannot be torn down gets an event": Story(
        script={"tear_down": [Outcome.FINAL]},
        acts=[want(), drop()],
        calls=[*BRING, "tear_down pv p1"],
        left=Picture(MOUNTED, {"p1": MAYBE}),
        events=[FAILED_TEAR_DOWN],
    ),
    "a volume that cannot be torn down for one pod is set up for another": Story(
        script={"tear_down": [Outcome.FINAL]},
        acts=[want(), drop(), want("p2")],
        calls=[*BRING, "tear_down pv p1", "set_up pv p2"],
        left=Picture(MOUNTED, {"p1": MAYBE, "p2": HAS}),
        events=[FAILED_TEAR_DOWN],
    ),
    "a tear-down that failed is tried again": Story(
        script={"tear_down": [Outcome.FINAL]},
        acts=[want(), drop(), want("p2"), later],
        calls=[*BRING, "tear_down pv p1", "set_up pv p2", "tear_down pv p1"],
        left=Picture(MOUNTED, {"p2": HAS}),
        events=[FAILED_TEAR_DOWN],
    ),
    "a tear-down that timed out is one that failed": Story(
        script={"tear_down": [Outcome.LOST]},
        acts=[want(), drop(), at_last],
        calls=[*BRING, "tear_down pv p1", *TAKE],
        left=None,
        events=[
            (
                "FailedUnmount",
                "UnmountVolume.TearDown failed for volume "
                '"example.com/disk/pv" : tear_down timed out',
            )
        ],
    ),
    "what could not be torn down is not gone because mounting it again is refused": Story(
        script={"tear_down": [Outcome.FINAL], "set_up": [Outcome.DONE, Outcome.FINAL]},
        acts=[want(), drop(), want(), drop()],
        calls=[*BRING, "tear_down pv p1", "set_up pv p1", *TAKE],
        left=None,
        events=[FAILED_TEAR_DOWN, REFUSED_SET_UP],
    ),
    "nor is a device that could not be unmounted": Story(
        script={"unmount_device": [Outcome.FINAL], "mount_device": [Outcome.DONE, Outcome.FINAL]},
        acts=[want(), drop(), want(), drop(), at_last],
        calls=[*BRING, *TAKE, "mount_device pv", "unmount_device pv"],
        left=None,
        events=[REFUSED_DEVICE],
    ),
    "an unmount of the device that failed is tried again, and no event is recorded": Story(
        script={"unmount_device": [Outcome.FINAL]},
        acts=[want(), drop(), at_last],
        calls=[*BRING, *TAKE, "unmount_device pv"],
        left=None,
    ),
    "a ReadWriteOncePod volume is refused to a second pod": Story(
        acts=[want("p1", ONE_POD), want("p2", ONE_POD)],
        calls=BRING,
        left=Picture(MOUNTED, {"p1": HAS}),
        events=[IN_USE],
    ),
    "a ReadWriteOncePod volume is refused to a second pod while the first may still have it": Story(
        script={"tear_down": [Outcome.FINAL]},
        acts=[want("p1", ONE_POD), swap("p1", "p2", ONE_POD)],
        calls=[*BRING, "tear_down pv p1"],
        left=Picture(MOUNTED, {"p1": MAYBE}),
        events=[FAILED_TEAR_DOWN, IN_USE],
    ),
    "a ReadWriteOncePod volume goes to the second pod once the first is gone": Story(
        acts=[want("p1", ONE_POD), want("p2", ONE_POD), drop("p1"), at_last],
        calls=[*BRING, "tear_down pv p1", "set_up pv p2"],
        left=Picture(MOUNTED, {"p2": HAS}),
        events=[IN_USE],
    ),
    "two pods share one device": Story(
        acts=[want("p1"), want("p2")],
        calls=[*BRING, "set_up pv p2"],
        left=Picture(MOUNTED, {"p1": HAS, "p2": HAS}),
    ),
    "the first pod that goes leaves the shared device there": Story(
        acts=[want("p1"), want("p2"), drop("p1")],
        calls=[*BRING, "set_up pv p2", "tear_down pv p1"],
        left=Picture(MOUNTED, {"p2": HAS}),
    ),
    "a volume of another node is not touched": Story(
        acts=[want("p1", a_use(node_affinity=OTHER_ZONE))],
        calls=[],
        left=Picture(NOT_MOUNTED),
        events=[
            (
                "FailedMount",
                'MountVolume.NodeAffinity check failed for volume "pv" : '
                "no matching NodeSelectorTerms",
            )
        ],
    ),
    "mount options are refused by a plugin that takes none": Story(
        make_plugin=an_optionless_plugin,
        acts=[want("p1", a_use(mount_options=("ro",)))],
        calls=[],
        left=Picture(NOT_MOUNTED),
        events=[
            (
                "FailedMount",
                'MountVolume.MountOptionSupport check failed for volume "pv" : '
                "mount options are not supported for this volume type",
            )
        ],
    ),
    "a mounter that cannot be made": Story(
        script={"mounter": [VolumeError("no path")]},
        acts=[want()],
        calls=[],
        left=Picture(NOT_MOUNTED),
        events=[
            (
                "FailedMount",
                'MountVolume.NewMounter initialization failed for volume "pv" : no path',
            )
        ],
    ),
    "a device whose place cannot be told": Story(
        script={"device_mount_path": [VolumeError("no path")]},
        acts=[want()],
        calls=[],
        left=Picture(NOT_MOUNTED),
        events=[("FailedMount", 'MountVolume.GetDeviceMountPath failed for volume "pv" : no path')],
    ),
    "an unmounter that cannot be made waits as well": Story(
        script={"unmounter": [VolumeError("unreadable")]},
        acts=[want(), drop()],
        calls=BRING,
        left=Picture(MOUNTED, {"p1": HAS}),
        events=[
            (
                "FailedUnmount",
                'UnmountVolume.NewUnmounter failed for volume "example.com/disk/pv" : unreadable',
            )
        ],
    ),
    "after a restart a volume in use is set up again": Story(
        acts=[want(), restart],
        calls=[*BRING, *BRING],
        left=Picture(MOUNTED, {"p1": HAS}),
    ),
    "a mount found on disk stays uncertain when it cannot be set up again": Story(
        script={"set_up": [Outcome.DONE, Outcome.FINAL]},
        acts=[want(), restart],
        calls=[*BRING, *BRING],
        left=Picture(MOUNTED, {"p1": MAYBE}),
        events=[REFUSED_SET_UP],
    ),
    "a device found on disk stays uncertain when it cannot be mounted again": Story(
        script={"mount_device": [Outcome.DONE, Outcome.FINAL]},
        acts=[want(), restart, drop()],
        calls=[*BRING, "mount_device pv", *TAKE],
        left=None,
        events=[REFUSED_DEVICE],
    ),
    "a device found on disk stays uncertain even when the pod that had it has gone": Story(
        script={"mount_device": [Outcome.DONE, Outcome.FINAL, Outcome.FINAL]},
        acts=[want(), restart, swap("p1", "p2"), drop("p2")],
        calls=[
            *BRING,
            "mount_device pv",
            "tear_down pv p1",
            "mount_device pv",
            "unmount_device pv",
        ],
        left=None,
        events=[REFUSED_DEVICE],
    ),
    "two pods found on disk, both gone: each is torn down, then the device": Story(
        acts=[want("p1"), want("p2"), drop("p1"), drop("p2"), restart],
        calls=[*BRING, "set_up pv p2", "tear_down pv p1", "tear_down pv p2", "unmount_device pv"],
        left=None,
    ),
}


@pytest.mark.poisons
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
async def test_story(story: Story, tmp_path: Path) -> None:
    assert await play(story, tmp_path) == story.end


async def test_a_foreign_file_system_is_told_to_the_volume_too(tmp_path: Path) -> None:
    text = "local: failed to mount device"
    async with NodeWorld(tmp_path) as world:
        world.backend.script("mount_device", WrongFilesystem(text))
        world.want("p1", a_use())
        await world.once()
        told = world.recorder.told
    mount = 'MountVolume.MountDevice failed for volume "pv" : local: failed to mount device'
    warning = EventType.WARNING.value
    assert told == [
        Told(
            "PersistentVolume pv",
            warning,
            "FailedMountOnFilesystemMismatch",
            'MountVolume failed for volume "pv" local: failed to mount device',
        ),
        Told("Pod p1", warning, "FailedMount", mount),
    ]


BY_NAME = NodeRequirement(key="metadata.name", operator=NodeOperator.IN, values=("n1",))
HERE = {
    "by a label": ({"zone": "other"}, OTHER_ZONE),
    "by its name": ({}, affinity_for(NodeSelectorTerm(match_fields=(BY_NAME,)))),
}


@pytest.mark.parametrize(("labels", "affinity"), HERE.values(), ids=HERE)
async def test_a_volume_of_this_node_is_mounted(
    labels: dict[str, str], affinity: VolumeNodeAffinity, tmp_path: Path
) -> None:
    async with NodeWorld(tmp_path) as world:
        world.own_node.has = labels
        world.want("p1", a_use(node_affinity=affinity))
        await world.once()
        assert world.picture() == Picture(MOUNTED, {"p1": HAS})


async def test_a_pod_that_has_vanished_is_not_mounted_for(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.want("p1", a_use())
        await world.once()
        world.backend.calls.clear()
        world.want("p2", a_use())
        world.start()
        world.drop("p2")
        await world.idle()
        assert world.backend.calls == []


async def test_the_pod_is_remembered_for_what_it_is_told(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.want("p1", a_use(), pod=a_pod("p1"))
        await world.once()
        regarding = world.here().pods["p1"].regarding
        assert regarding is not None
        assert (regarding.kind, regarding.namespace, regarding.name) == ("Pod", "default", "p1")
