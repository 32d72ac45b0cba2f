"""No volume that any object says to keep is ever deleted, or taken from a node: whatever watches
bring late, out of order between kinds, or not at all, and whoever edits what at whichever moment.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.may_destroy import handle_of
from mooring.model.volume import Volume
from tests.scenarios.sidecars.cluster import INTENT
from tests.scenarios.sidecars.held_world import World

Action = Callable[[World, int], None]
Step = tuple[Action, int] | float
Planned = tuple[int, tuple[Action, int]]

EDITS: Final[tuple[Action, ...]] = (
    *(World.leave, World.leave, World.bind, World.retain, World.condemn, World.free),
    *(World.bind_again, World.take_away, World.make_anew, World.attach, World.attach_too),
    *(World.detach, World.detach, World.forget_link, World.forget_link, World.rename_node),
    *(World.ask, World.give_up, World.adopt),
)
WATCHES: Final[tuple[Action, ...]] = (
    *(World.hold, World.hold, World.let_through, World.cut),
    lambda world, _: world.lose_history(),
)
KEEPING: Final = (
    *(World.retain, World.free, World.bind_again, World.take_away, World.make_anew, World.condemn),
)
REATTACHING: Final = (World.forget_link, World.rename_node, World.attach, World.attach_too)
ADOPTING: Final = (World.adopt, World.give_up, World.bind)
PAUSES: Final = (0.0, 0.5, 3.0, 70.0)
RESTART: Final = -1.0

CLAIM, VOLUME, CSI_NODE, ATTACHMENT = 0, 1, 4, 5  # among the kinds
DELETE, DETACH = 0, 1  # what the driver can fail at

which = st.integers(0, 3)
edits = st.tuples(st.sampled_from(EDITS), st.integers(0, 11))
watches = st.tuples(st.sampled_from(WATCHES), st.integers(0, 5))
pauses = st.sampled_from((*PAUSES, RESTART))


@st.composite
def chapters(draw: st.DrawFn) -> list[Step]:
    """What leads to a mistake, if anything does: something is to be destroyed, it is put off, news
    is late, and meanwhile somebody changes their mind. Any part may be missing."""

    def may(*steps: Step) -> list[Step]:
        return [draw(st.sampled_from(steps))] if draw(st.integers(0, 3)) else []

    it = draw(which)
    begin, trouble, late, change = draw(
        st.sampled_from(
            (
                (World.leave, DELETE, VOLUME, KEEPING),
                (World.leave, DELETE, VOLUME, KEEPING),
                (World.leave, DELETE, CLAIM, KEEPING),
                (World.detach, DETACH, ATTACHMENT, REATTACHING),
                (World.detach, DETACH, CSI_NODE, REATTACHING),
                (World.attach_too, DETACH, ATTACHMENT, (World.detach,)),
                (World.ask, DELETE, VOLUME, ADOPTING),
                (World.ask, DELETE, CLAIM, ADOPTING),
            )
        )
    )
    return [
        *([(World.hold, late)] if draw(st.integers(0, 3)) == 0 else []),
        *may((World.break_down, trouble)),
        (begin, it),
        *may(0.0, 0.5),
        *may((World.hold, late)),
        (draw(st.sampled_from(change)), it),
        *([draw(st.one_of(edits, watches))] if draw(st.integers(0, 3)) == 0 else []),
        *may(0.5, 3.0, 3.0, 70.0, RESTART),
    ]


stories = st.lists(
    st.one_of(chapters(), chapters(), st.lists(st.one_of(edits, watches, pauses))),
    min_size=2,
    max_size=5,
)
plans = st.lists(st.tuples(st.integers(0, 4), edits), max_size=6)


def tells(story: Sequence[Sequence[Step]], planned: Sequence[Planned], volumes: int) -> World:
    """What is left of the world at the end of the story."""
    world = World(volumes)

    async def tell() -> None:
        for calls, (action, which) in planned:
            world.planned.append((calls, partial(action, world, which)))
        rest = [step for chapter in story for step in chapter]
        while rest:
            async with world.sidecars():
                await _live(world, rest)
        async with world.sidecars():
            await world.calm_down()

    asyncio.run(tell())
    return world


async def _live(world: World, story: list[Step]) -> None:
    """Until the process dies, or the story ends."""
    while story:
        step = story.pop(0)
        if isinstance(step, tuple):
            action, which = step
            action(world, which)
        elif step == RESTART:
            return
        else:
            await world.passes(step)


def check(world: World) -> None:
    assert not world.broken, "destroyed, although an object said to keep it"
    volumes = world.server.list(Volume).items
    attached = {link.volume_name for link in world.server.list(Attachment).items}
    told = {handle[1] for volume in volumes if (handle := handle_of(volume))}
    event(f"volumes deleted: {bool(world.driver.count('delete'))}")
    event(f"volumes detached: {bool(world.driver.count('detach'))}")
    for volume in volumes:
        is_left_over = world.is_condemned(volume) and volume.name not in attached
        assert not is_left_over or _is_held(world, volume), "left over"
    for claim in world.server.list(Claim).items:
        is_held = INTENT in claim.metadata.finalizers
        assert not (is_held and claim.is_deleting), "held for ever"
    open_claims = {f"id-of-pvc-{each.uid}" for each in world.server.list(Claim).items}
    leaked = set(world.driver.volumes) - told - world.left_by_hand - open_claims
    assert not leaked, "leaked"
    for link in world.server.list(Attachment).items:
        assert not link.is_deleting, "attached for ever"


def _is_held(world: World, volume: Volume) -> bool:
    """The driver still has it on a node, or another object stands for it and keeps it."""
    handle = handle_of(volume)
    if handle is None:
        return True
    if any(each == handle[1] for each, _ in world.driver.attachments):
        return True
    twins = [each for each in world.server.list(Volume).items if handle_of(each) == handle]
    return any(not world.is_condemned(each) for each in twins)


@given(story=stories, planned=plans, volumes=st.integers(2, 4))
@settings(
    deadline=None,
    max_examples=settings().max_examples // 2,
    suppress_health_check=list(HealthCheck),
)
def test_nothing_that_is_kept_is_destroyed(
    story: list[list[Step]], planned: list[Planned], volumes: int
) -> None:
    check(tells(story, planned, volumes))
