"""Waiting for a pod's volumes, and saying what is missing."""

import asyncio

import pytest

from mooring.model.container import Container
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodSpec
from mooring.model.pod_volume import EmptyDirSource, PodVolume, VolumeMount
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import Actual, ActualVolume, PodMount, PodState
from mooring.node.desired import Desired, WantedBy, WantedVolume
from mooring.node.waits import PATIENCE, NotMounted, StillMounted, Waits
from tests.fakes.clock import VirtualClock, settle

UID = "p1"


def a_pod(*names: str) -> Pod:
    mounts = tuple(VolumeMount(name, f"/{name}") for name in names)
    return Pod(
        metadata=ObjectMeta(name="web", namespace="ns", uid=UID),
        spec=PodSpec(
            volumes=tuple(PodVolume(name=name, empty_dir=EmptyDirSource()) for name in names),
            containers=(Container("main", volume_mounts=mounts),),
        ),
    )


USE = VolumeUse(inline=PodVolume(name="v", empty_dir=EmptyDirSource()))


class World:
    """Both pictures; a volume is called after its names in the pod, as in `a+b`."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.desired = Desired(lambda name: None)
        self.actual = Actual(lambda name, pod_uid: self.waits.wake(pod_uid))
        self.waits = Waits(self.clock, self.desired, self.actual)

    def want(self, *volumes: str, is_attachable: bool = False) -> None:
        for name in volumes:
            by = WantedBy(a_pod(), USE, frozenset(name.split("+")), 0.0)
            self.desired.want(WantedVolume(name, "p", USE, is_attachable=is_attachable), by)

    def attach(self, *volumes: str) -> None:
        for name in volumes:
            self.actual.attached(ActualVolume(name, "p", USE))

    def mount(self, *volumes: str) -> None:
        self.attach(*volumes)
        for name in volumes:
            self.actual.mounted(name, PodMount(UID, USE, PodState.MOUNTED))

    def doubt(self, *volumes: str) -> None:
        self.attach(*volumes)
        for name in volumes:
            self.actual.mount_uncertain(name, PodMount(UID, USE, PodState.UNCERTAIN))

    def unmount(self, *volumes: str) -> None:
        for name in volumes:
            self.actual.unmounted(name, UID)

    async def waiting(self, pod: Pod) -> "asyncio.Task[None]":
        task = asyncio.create_task(self.waits.mounted(pod))
        await settle()
        return task


async def test_a_pod_that_uses_no_volume_waits_for_none() -> None:
    await World().waits.mounted(a_pod())


async def test_a_wait_ends_with_the_last_volume() -> None:
    world = World()
    world.want("a", "b")
    waiting = await world.waiting(a_pod("a", "b"))
    world.mount("a")
    await settle()
    assert not waiting.done()
    world.mount("b")
    await waiting


async def test_one_volume_under_two_names_is_mounted_once() -> None:
    world = World()
    world.want("a+b")
    world.mount("a+b")
    await world.waits.mounted(a_pod("a", "b"))


async def test_an_uncertain_volume_is_not_mounted() -> None:
    world = World()
    world.want("a")
    waiting = await world.waiting(a_pod("a"))
    world.doubt("a")
    await settle()
    assert not waiting.done()
    world.mount("a")
    await waiting


async def test_what_cannot_be_found_out_is_told_at_once() -> None:
    world = World()
    waiting = await world.waiting(a_pod("v"))
    world.waits.failed(UID, ["error processing PVC ns/c: PVC is not bound"])
    with pytest.raises(NotMounted) as refusal:
        await waiting
    assert str(refusal.value) == (
        "unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: "
        "error processing PVC ns/c: PVC is not bound"
    )
    assert not refusal.value.has_timed_out


async def test_an_error_is_told_once() -> None:
    world = World()
    world.waits.failed(UID, ["no"])
    with pytest.raises(NotMounted):
        await world.waits.mounted(a_pod("v"))
    again = await world.waiting(a_pod("v"))
    assert not again.done()
    again.cancel()


async def test_several_errors_are_one_sentence() -> None:
    world = World()
    world.waits.failed(UID, ["one", "two"])
    with pytest.raises(NotMounted, match=r": one; two$"):
        await world.waits.mounted(a_pod("v"))


async def test_an_error_does_not_matter_when_all_is_mounted() -> None:
    world = World()
    world.want("v")
    world.mount("v")
    world.waits.failed(UID, ["the API is away"])
    await world.waits.mounted(a_pod("v"))


async def test_all_that_is_missing_is_listed_in_order() -> None:
    world = World()
    world.want("e")
    world.attach("e")  # and its mount fails
    world.want("d", "a", is_attachable=True)
    world.waits.failed(UID, ["no volume plugin matched"])
    with pytest.raises(NotMounted) as refusal:
        await world.waits.mounted(a_pod("e", "d", "c", "b", "a"))
    assert str(refusal.value) == (
        "unmounted volumes=[a b c d e], unattached volumes=[a d], "
        "failed to process volumes=[b c]: no volume plugin matched"
    )
    assert [wanted.name for wanted in refusal.value.missing.unattached] in (["a", "d"], ["d", "a"])


async def test_after_two_minutes_and_three_seconds_a_wait_gives_up() -> None:
    world = World()
    world.want("v")
    waiting = await world.waiting(a_pod("v"))
    await world.clock.advance(PATIENCE - 0.1)
    assert not waiting.done()
    await world.clock.advance(0.1)
    with pytest.raises(NotMounted) as refusal:
        await waiting
    assert PATIENCE == 123
    assert refusal.value.has_timed_out
    assert str(refusal.value) == (
        "unmounted volumes=[v], unattached volumes=[], failed to process volumes=[]: "
        "context deadline exceeded"
    )


async def test_two_may_wait_for_the_same_pod() -> None:
    world = World()
    world.want("v")
    first, second = await world.waiting(a_pod("v")), await world.waiting(a_pod("v"))
    world.mount("v")
    await asyncio.gather(first, second)


async def test_a_wait_for_the_end_lasts_as_long_as_anything_is_mounted() -> None:
    world = World()
    world.mount("a", "b")
    waiting = asyncio.create_task(world.waits.unmounted(UID))
    await settle()
    world.unmount("a")
    await settle()
    assert not waiting.done()
    world.unmount("b")
    await waiting


async def test_doubt_does_not_hold_up_the_first_wait_but_the_second() -> None:
    world = World()
    world.doubt("a")
    await world.waits.unmounted(UID)
    waiting = asyncio.create_task(world.waits.gone(UID))
    await settle()
    assert not waiting.done()
    world.unmount("a")
    await waiting


async def test_what_is_under_way_for_a_pod_is_not_over() -> None:
    world = World()
    world.waits.began(UID)
    world.waits.began(UID)
    waiting = asyncio.create_task(world.waits.gone(UID))
    await settle()
    world.waits.ended(UID)
    await settle()
    assert not waiting.done()
    world.waits.ended(UID)
    await waiting


async def test_volumes_that_stay_are_listed() -> None:
    world = World()
    world.mount("b", "a")
    waiting = asyncio.create_task(world.waits.unmounted(UID))
    await world.clock.advance(PATIENCE)
    with pytest.raises(StillMounted) as refusal:
        await waiting
    assert str(refusal.value) == "mounted volumes=[a b]: context deadline exceeded"
