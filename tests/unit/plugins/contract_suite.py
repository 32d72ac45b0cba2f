"""What every plugin promises (`mooring.plugins.contract`), whatever its volumes are made of.

A test module makes a subclass with a fixture `new_world`: each call gives a volume on a disk of its
own, not yet set up, with mounts that can be cut.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from enum import Enum
from itertools import count

import pytest

from mooring.errors import HostError
from mooring.plugins.contract import VolumeError
from mooring.plugins.unique_name import unique_name
from tests.unit.plugins.cuts import Crash, CutMounts, cancel_at_call, file_cuts
from tests.unit.plugins.world import VolumeWorld

MOST_STEPS = 100


class Afterwards(Enum):
    """Whether the pod is still there when the node comes back."""

    WANTED_STILL = "wanted still"
    NOT_WANTED = "not wanted any more"


AFTERWARDS = tuple(Afterwards)

Act = Callable[[], Awaitable[None]]
NewWorld = Callable[[], tuple[VolumeWorld, CutMounts]]
"""Each call: a fresh disk."""


def steps() -> Iterator[int]:
    """Numbers to cut at, until the test finds that there is no such step."""
    for number in count(1):
        assert number < MOST_STEPS, "this operation never ends"
        yield number


class PluginContract:
    async def test_setting_up_twice_is_setting_up_once(self, new_world: NewWorld) -> None:
        world, _ = new_world()
        await world.set_up()
        once = world.picture()
        await world.set_up()
        assert world.picture() == once

    async def test_a_restart_finds_what_is_set_up_and_leaves_it(self, new_world: NewWorld) -> None:
        world, _ = new_world()
        await world.set_up()
        before = world.picture()
        world.restart()
        await world.set_up()
        assert world.picture() == before

    async def test_nothing_is_left_of_a_volume_torn_down_twice(self, new_world: NewWorld) -> None:
        world, _ = new_world()
        await world.set_up()
        await world.tear_down()
        assert world.leftovers() == ()
        await world.tear_down()
        assert world.leftovers() == ()

    async def test_what_never_was_is_torn_down(self, new_world: NewWorld) -> None:
        world, _ = new_world()
        await world.tear_down()
        assert world.leftovers() == ()

    async def test_a_volume_can_come_back_after_it_was_torn_down(self, new_world: NewWorld) -> None:
        world, _ = new_world()
        await world.set_up()
        first = world.picture()
        await world.tear_down()
        await world.set_up()
        assert world.picture() == first

    async def test_a_restart_rebuilds_the_volume_from_disk_and_tears_it_down(
        self, new_world: NewWorld
    ) -> None:
        world, _ = new_world()
        await world.set_up()
        world.restart()
        rebuilt = world.plugin.rebuild(world.use.name, world.pod.uid)
        assert world.plugin.supports(rebuilt)
        uid = world.pod.uid
        assert unique_name(world.plugin, rebuilt, uid) == unique_name(world.plugin, world.use, uid)
        await world.tear_down()
        assert world.leftovers() == ()

    async def test_a_refused_mount_leaves_nothing_and_is_made_up_for(
        self, new_world: NewWorld
    ) -> None:
        done, _ = new_world()
        await done.set_up()
        for number in steps():
            world, mounts = new_world()
            mounts.fail_at(number)
            failed = await _fails(world.set_up)
            mounts.fail_at(None)
            if failed:
                await world.release_device()
                assert world.leftovers() == ()
                await world.set_up()
            assert world.picture() == done.picture()
            if not failed:
                return

    async def test_a_refused_unmount_is_made_up_for(self, new_world: NewWorld) -> None:
        for number in steps():
            world, mounts = new_world()
            await world.set_up()
            mounts.fail_at(number)
            failed = await _fails(world.tear_down)
            mounts.fail_at(None)
            if failed:
                await world.tear_down()
            assert world.leftovers() == ()
            if not failed:
                return

    @pytest.mark.parametrize("then", AFTERWARDS, ids=lambda then: then.value)
    async def test_killed_after_any_mount(self, new_world: NewWorld, then: Afterwards) -> None:
        done, _ = new_world()
        await done.set_up()
        for number in steps():
            world, mounts = new_world()
            mounts.crash_after(number)
            was_killed = await _is_killed(world.set_up)
            mounts.crash_after(None)
            await _recover(world, done, then)
            if not was_killed:
                return

    @pytest.mark.parametrize("then", AFTERWARDS, ids=lambda then: then.value)
    async def test_killed_before_any_change_of_a_file(
        self, new_world: NewWorld, then: Afterwards
    ) -> None:
        done, _ = new_world()
        await done.set_up()
        for number in steps():
            world, _ = new_world()
            with file_cuts.crash_before(number):
                was_killed = await _is_killed(world.set_up)
            await _recover(world, done, then)
            if not was_killed:
                return

    @pytest.mark.parametrize("then", AFTERWARDS, ids=lambda then: then.value)
    async def test_cancelled_at_any_call(
        self, new_world: NewWorld, then: Afterwards, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        done, _ = new_world()
        await done.set_up()
        for number in steps():
            world, _ = new_world()
            was_cancelled = await cancel_at_call(number, world.set_up, monkeypatch)
            await _recover(world, done, then)
            if not was_cancelled:
                return

    async def test_killed_after_any_unmount(self, new_world: NewWorld) -> None:
        for number in steps():
            world, mounts = new_world()
            await world.set_up()
            mounts.crash_after(number)
            was_killed = await _is_killed(world.tear_down)
            mounts.crash_after(None)
            await _finish_tear_down(world)
            if not was_killed:
                return

    async def test_killed_before_any_file_is_removed(self, new_world: NewWorld) -> None:
        for number in steps():
            world, _ = new_world()
            await world.set_up()
            with file_cuts.crash_before(number):
                was_killed = await _is_killed(world.tear_down)
            await _finish_tear_down(world)
            if not was_killed:
                return


async def _finish_tear_down(world: VolumeWorld) -> None:
    world.restart()
    await world.tear_down()
    assert world.leftovers() == ()


async def _recover(world: VolumeWorld, done: VolumeWorld, then: Afterwards) -> None:
    world.restart()
    if then is Afterwards.WANTED_STILL:
        await world.set_up()
        assert world.picture() == done.picture()
    await world.tear_down()
    assert world.leftovers() == ()


async def _fails(act: Act) -> bool:
    try:
        await act()
    except (VolumeError, HostError):
        return True
    return False


async def _is_killed(act: Act) -> bool:
    with suppress(Crash):
        await act()
        return False
    return True
