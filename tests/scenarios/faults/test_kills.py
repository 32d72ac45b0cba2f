"""Killed at every single step, the next start finishes or repairs.

Steps are writes, and what a plugin does. In each case the process dies before one of them: what
came before is done, the rest never happens. Then another one starts.
"""

import pytest

from tests.fakes.objects import CLAIMS, VOLUMES
from tests.scenarios.faults.stories import STORIES, Story, how_it_ended
from tests.scenarios.faults.world import World

CASES = {
    f"{name}, {transport}, before step {step + 1} of {steps}": (story, bool(way), step)
    for name, story in STORIES.items()
    for way, transport in enumerate(("in one process", "over HTTP"))
    for steps in (story.steps[way],)
    for step in range(steps)
}


@pytest.mark.parametrize(("story", "two_writes", "cut"), CASES.values(), ids=CASES)
async def test_killed(*, world: World, story: Story, two_writes: bool, cut: int) -> None:
    world.two_writes = two_writes
    async with world.binder(cut):
        await story.happens(world)
        await world.passes(1)
        await world.check()
        assert world.trouble.left == 0, "it was not killed at all"
    left_behind = await unsaved_assets(world)
    async with world.binder():
        for _ in range(4):
            await world.passes(5)
            await world.run_pods()
            await world.check()
        if story.later is not None:
            await story.later(world)
        assert await how_it_ended(world) == (story.volumes, story.claims)
    saved = {doc["metadata"]["name"] for doc in await world.all(VOLUMES)}
    assert world.plugin.assets <= saved | left_behind, "something is left behind"
    assert bool(world.wiped) is story.wipes, "offered anew, and never wiped"


@pytest.mark.parametrize("two_writes", [False, True], ids=["in one process", "over HTTP"])
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
async def test_every_step_is_among_the_cases(
    *, world: World, story: Story, two_writes: bool
) -> None:
    world.two_writes = two_writes
    enough = 100
    async with world.binder(enough):
        await story.happens(world)
        await world.passes(1)
        assert enough - world.trouble.left == story.steps[two_writes]


async def unsaved_assets(world: World) -> set[str]:
    """Made by a plugin and told to nobody, for a claim that is gone: nobody can know of those."""
    saved = {doc["metadata"]["name"] for doc in await world.all(VOLUMES)}
    wanted = {f"pvc-{doc['metadata']['uid']}" for doc in await world.all(CLAIMS)}
    return world.plugin.assets - saved - wanted
