"""What goes before a volume does, and who is told when it does not go."""

from pathlib import Path

import pytest

from mooring.plugins.registry import Registry
from tests.fakes.plugins import Outcome
from tests.unit.node.effects.stories import HAS, MAYBE, MOUNTED, later
from tests.unit.node.effects.world import NodeWorld, Picture, a_use

NAME = "example.com/disk/pv"
SUBPATHS = "node/pods/p1/volume-subpaths"


async def mounted(world: NodeWorld, root: Path) -> Path:
    """A volume of which a container sees a part; the pod has gone meanwhile."""
    world.want("p1", a_use())
    await world.once()
    part = root / SUBPATHS / "pv/main/0"
    part.mkdir(parents=True)
    world.mounts.bind(root, part)
    world.drop("p1")
    return part


async def test_binds_of_its_parts_go_first(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        await mounted(world, tmp_path)
        left_when_torn_down: list[tuple[Path, ...]] = []
        world.backend.on_change = lambda: left_when_torn_down.append(world.mounts.mounted())
        await world.once()
        assert left_when_torn_down[0] == ()
        assert not (tmp_path / SUBPATHS).exists()
        assert world.picture() is None


async def test_while_a_part_is_bound_the_volume_is_not_touched(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        part = await mounted(world, tmp_path)
        world.mounts.keep_busy(part)
        await world.once()
        assert "tear_down pv p1" not in world.backend.calls
        assert world.picture() == Picture(MOUNTED, {"p1": HAS})
        ((reason, message),) = world.events()
        assert reason == "FailedUnmount"
        assert message.startswith(f'error cleaning subPath mounts for volume "{NAME}" : ')
        assert "target is busy" in message


async def test_other_volumes_keep_their_parts(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        await mounted(world, tmp_path)
        other = tmp_path / SUBPATHS / "other/main/0"
        other.mkdir(parents=True)
        world.mounts.bind(tmp_path, other)
        await world.once()
        assert world.mounts.mounted() == (other,)


async def test_a_pod_that_nobody_knows_any_more_is_told_nothing(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.want("p1", a_use())
        await world.once()
        world.drop("p1")
        world.restart()
        world.backend.script("tear_down", Outcome.FINAL)
        await world.once()
        assert world.events() == ()
        await later(world)
        assert world.picture() is None


async def test_a_plugin_that_is_gone_is_waited_for(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.want("p1", a_use())
        await world.once()
        plugins = world.context.registry
        world.use_registry(Registry(()))
        world.drop("p1")
        await world.once()
        assert world.events() == (
            (
                "FailedUnmount",
                f'UnmountVolume.FindPluginByName failed for volume "{NAME}" : '
                "no volume plugin matched name: example.com/disk",
            ),
        )
        assert world.picture() == Picture(MOUNTED, {"p1": HAS})
        world.use_registry(plugins)
        await world.settle()
        assert world.picture() is None


@pytest.mark.poisons
@pytest.mark.parametrize("ending", [Outcome.FINAL, Outcome.LOST, Outcome.VOID, Outcome.BUG])
async def test_until_it_certainly_is_gone_it_may_be_there(ending: Outcome, tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.want("p1", a_use())
        await world.once()
        world.backend.script("tear_down", ending)
        world.drop("p1")
        await world.once()
        assert world.picture() == Picture(MOUNTED, {"p1": MAYBE})
        assert world.here().pods["p1"].reach is not None
        await world.settle()
        assert (world.picture(), world.backend.there) == (None, {})
