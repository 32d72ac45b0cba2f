"""The laws of a pod's containers: safe after every single step, finished from wherever it was cut.

A small world plays the runtime: it does what steps say, and containers end as they like.
"""

from collections.abc import Sequence

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.model.container import Container
from mooring.model.pod import Pod
from mooring.node.pods.decide import decide
from mooring.node.pods.plan import Discard, Kill, Pause, Plan, Postpone, Start, Step
from mooring.node.pods.view import View, WaitingReason
from mooring.oci.contract import Found, State
from tests.unit.node.pods.things import a_found, a_pod

MOST_ROUNDS = 60
MOST_RECORDS = 4  # of one container: two that are kept, and what a crash left for the next pass
LONGEST_PAUSE = 301.0


class World(msgspec.Struct, frozen=True):
    pod: Pod
    found: tuple[Found, ...] = ()
    now: float = 0.0
    ended: tuple[tuple[str, float], ...] = ()
    pauses: tuple[tuple[str, Pause], ...] = ()
    waiting_reasons: tuple[tuple[str, WaitingReason], ...] = ()
    is_ending: bool = False

    def view(self) -> View:
        groups: dict[str, list[Found]] = {}
        for one in sorted(self.found, key=lambda one: -one.owner.attempt):
            groups.setdefault(one.owner.container, []).append(one)
        return View(
            self.pod,
            self.now,
            {name: tuple(group) for name, group in groups.items()},
            dict(self.ended),
            pauses=dict(self.pauses),
            waiting_reasons=dict(self.waiting_reasons),
            is_ending=self.is_ending,
        )

    def running(self) -> list[str]:
        return sorted(one.owner.container for one in self.found if one.state is State.RUNNING)


class Ends(msgspec.Struct, frozen=True):
    """A container that runs ends by itself: which one, and how."""

    index: int
    code: int


class Passes(msgspec.Struct, frozen=True):
    seconds: float


class Deletes(msgspec.Struct, frozen=True):
    pass


class Crashes(msgspec.Struct, frozen=True):
    """The node does only so many steps of its plan, and the last one only by half."""

    steps: int


Happening = Ends | Passes | Deletes | Crashes


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    kinds = draw(st.lists(st.booleans(), max_size=3))
    init = tuple(
        Container(f"i{index}", restart_policy="Always" if is_sidecar else "")
        for index, is_sidecar in enumerate(kinds)
    )
    regular = tuple(Container(f"c{index}") for index in range(draw(st.integers(1, 3))))
    policy = draw(st.sampled_from(("Always", "OnFailure", "Never")))
    return a_pod(*regular, init_containers=init, restart_policy=policy)


HAPPENINGS = st.lists(
    st.one_of(
        st.builds(Ends, st.integers(0, 5), st.sampled_from((0, 1))),
        st.builds(Passes, st.sampled_from((1.0, 11.0, 700.0))),
        st.builds(Crashes, st.integers(0, 3)),
        st.just(Deletes()),
    ),
    max_size=12,
)


def end(world: World, found: Found, code: int) -> World:
    dead = replace(found, state=State.EXITED, exit_code=code)
    others = tuple(one for one in world.found if one.id != found.id)
    return replace(world, found=(*others, dead), ended=(*world.ended, (found.id, world.now)))


def apply(world: World, step: Step, *, is_cut: bool = False) -> World:
    match step:
        case Start(container, attempt, leftovers, pause):
            assert not world.is_ending, "nothing is started once the pod ends"
            kept = tuple(one for one in world.found if one.id not in leftovers)
            state = State.CREATED if is_cut else State.RUNNING
            made = a_found(container.name, state, attempt)
            assert made.id not in {one.id for one in kept}, "no attempt is made twice"
            pauses = world.pauses if pause is None else (*world.pauses, (container.name, pause))
            return replace(world, found=(*kept, made), pauses=pauses)
        case Postpone(container, _, until):
            waits = (container.name, WaitingReason("CrashLoopBackOff", "", until))
            return replace(world, waiting_reasons=(*world.waiting_reasons, waits))
        case Kill(found):
            return world if is_cut else end(world, found, 143)
        case Discard(found):
            if is_cut:
                return world
            return replace(world, found=tuple(one for one in world.found if one.id != found.id))


def check(world: World) -> None:
    running = world.running()
    assert len(running) == len(set(running)), "one container runs twice"
    spec = world.pod.spec
    names = {one.owner.container for one in world.found}
    if names & {each.name for each in spec.containers}:
        for each in spec.init_containers:
            records = [one for one in world.found if one.owner.container == each.name]
            assert records, f"{each.name} was left out"
            if not each.is_sidecar:
                assert any(one.exit_code == 0 for one in records if one.state is State.EXITED)
    for name in names:
        assert sum(one.owner.container == name for one in world.found) <= MOST_RECORDS


def round_of(world: World, cut: int | None = None) -> tuple[World, Plan]:
    plan = decide(world.view())
    steps: Sequence[Step] = plan.steps if cut is None else plan.steps[:cut]
    for index, step in enumerate(steps):
        world = apply(world, step, is_cut=cut is not None and index == len(steps) - 1)
        check(world)
    return world, plan


def settle(world: World) -> World:
    """Until there is nothing to do but wait."""
    for _ in range(MOST_ROUNDS):
        before = world
        world, _ = round_of(world)
        if world == before:
            return world
    raise AssertionError("it never comes to rest")


def happen(world: World, what: Happening) -> World:
    match what:
        case Ends(index, code):
            running = [one for one in world.found if one.state is State.RUNNING]
            return end(world, running[index % len(running)], code) if running else world
        case Passes(seconds):
            return replace(world, now=world.now + seconds)
        case Deletes():
            return replace(world, is_ending=True)
        case Crashes(steps):
            return round_of(world, steps)[0]


@settings(max_examples=300)
@given(pod=pods(), happenings=HAPPENINGS)
def test_it_is_safe_after_every_step(pod: Pod, happenings: list[Happening]) -> None:
    world = World(pod)
    for what in happenings:
        world = happen(world, what)
        check(world)
        if not isinstance(what, Crashes):
            world = settle(world)


@settings(max_examples=200)
@given(pod=pods(), happenings=HAPPENINGS)
def test_a_pod_that_ends_leaves_nothing_running(pod: Pod, happenings: list[Happening]) -> None:
    world = World(pod)
    for what in happenings:
        world = happen(world, what)
    world = settle(replace(world, is_ending=True))
    assert all(one.state is State.EXITED for one in world.found)
    assert decide(world.view()).is_over


@settings(max_examples=200)
@given(pod=pods(), happenings=HAPPENINGS)
def test_a_pod_left_alone_runs_or_is_over(pod: Pod, happenings: list[Happening]) -> None:
    """Its init containers do their work, pauses pass: then all that should run does."""
    world = World(pod)
    for what in happenings:
        world = happen(world, what)
    assume(not world.is_ending)
    for _ in range(MOST_ROUNDS):
        world = settle(replace(world, now=world.now + LONGEST_PAUSE))
        working = [one for one in world.found if _is_at_work(pod, one)]
        if not working:
            break
        world = end(world, working[0], 0)
    plan = decide(world.view())
    regular = {each.name for each in pod.spec.containers}
    if not plan.is_over:
        assert regular & set(world.running())


def _is_at_work(pod: Pod, found: Found) -> bool:
    """An init container that will end."""
    ordinary = {each.name for each in pod.spec.init_containers if not each.is_sidecar}
    return found.state is State.RUNNING and found.owner.container in ordinary
