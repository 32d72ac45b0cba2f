"""Any schedule of writes and faults ends with the server's state, and every change told once."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.errors import ConnectionLost, Expired, ServerError, TooManyRequests
from mooring.model.volume import Volume
from tests.fakes.clock import settle
from tests.unit.reconcile.reflector_world import World

NAMES = st.sampled_from("abc")
CLASSES = st.sampled_from("xyz")
ERRORS = st.sampled_from(
    [ConnectionLost("lost"), Expired("old"), ServerError("oh"), TooManyRequests("later")]
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["create", "modify", "own", "own late"]), NAMES, CLASSES),
        st.tuples(st.just("delete"), NAMES),
        st.tuples(st.sampled_from(["fail list", "fail watch"]), ERRORS),
        st.tuples(st.sampled_from(["cut", "end", "hold", "offline", "stall", "go on"])),
        st.tuples(st.sampled_from(["bookmark", "forget", "fold"])),
        st.tuples(st.just("pass"), st.sampled_from([0.0, 0.3, 20.0])),
    ),
    max_size=30,
)


class Chaos(World):
    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Volume] = []  # to own writes, not yet folded in

    async def take(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("create", name, storage_class) if name not in self.of_server():
                self.create(name, storage_class)
            case ("modify", name, storage_class) if name in self.of_server():
                self.modify(name, storage_class)
            case ("own", name, storage_class) if name in self.of_server():
                self.informer.fold(self.modify(name, storage_class))
            case ("own late", name, storage_class) if name in self.of_server():
                self.answers.append(self.modify(name, storage_class))
            case ("fold",) if self.answers:
                self.informer.fold(self.answers.pop())
            case ("delete", name) if name in self.of_server():
                self.delete(name)
            case ("fail list", error):
                self.client.fail("list", error)
            case ("fail watch", error):
                self.client.fail("watch", error)
            case ("pass", seconds):
                await self.clock.advance(seconds)
            case (fault,):
                self.strike(fault)
            case _:
                pass

    def strike(self, fault: str) -> None:
        match fault:
            case "cut":
                self.client.cut()
            case "end":
                self.client.end_streams()
            case "hold":
                self.client.is_held = True
            case "offline":
                self.client.is_offline = True
                self.client.cut()
            case "stall":
                self.client.stall()
            case "go on":
                self.client.go_on()
            case "bookmark":
                self.server.bookmark()
            case "forget":
                self.server.forget_history()
            case _:
                pass


@given(steps=STEPS)
@settings(deadline=None)
def test_after_any_faults_the_cache_is_the_server_and_every_change_was_told_once(
    steps: list[tuple[Any, ...]],
) -> None:
    async def play() -> None:
        world = Chaos()
        world.create("a")
        async with world.running():
            for step in steps:
                await world.take(step)
                await settle(3)  # not always enough to settle: steps meet halfway
            world.client.go_on()
            await world.clock.advance(100)
            for answer in world.answers:
                world.informer.fold(answer)
            assert world.picture == world.of_informer() == world.of_server()
            assert world.informer.synced.is_set()

    asyncio.run(play())
