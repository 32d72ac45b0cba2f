"""Pods are created in growing batches, deleted once, and adopted only by owners that live."""

from random import Random

import pytest

from mooring.client.contract import EVERYTHING
from mooring.controllers.owned_pods.effects import PodEffects
from mooring.controllers.owned_pods.plan import Adopt, CreatePods, DeletePod, Release
from mooring.errors import Conflict, ConnectionLost, Forbidden
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.replication_controller import ReplicationController
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.reflector import Reflector
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock
from tests.fakes.fake_server import FakeServer

ENDING = Forbidden("no", causes=[{"reason": "NamespaceTerminating"}])


class World:
    """The cache of pods has seen nothing but what was written."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        rng = Random(1)  # noqa: S311  not for secrets
        self.pods = Reflector(self.client, Pod, EVERYTHING, self.clock, rng)
        self.recorder = Recorder(self.client, self.clock, rng, "some-controller")
        self.effects = PodEffects(self.client, self.recorder, self.pods)
        spec = {"selector": {"app": "web"}}
        self.owner = self.server.create(
            ReplicationController, {"metadata": {"name": "web", "namespace": "ns"}, "spec": spec}
        )

    def pod(self, name: str) -> Pod:
        return self.server.create(Pod, a_document(name))

    @property
    def created(self) -> int:
        return len(self.server.list(Pod).items)


def a_document(name: str) -> Doc:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {}}


def documents(count: int) -> tuple[Doc, ...]:
    return tuple(a_document(f"p{number}") for number in range(count))


@pytest.fixture
def world() -> World:
    return World()


async def test_all_are_created_and_known_at_once(world: World) -> None:
    assert await world.effects.perform(CreatePods(world.owner, documents(6)))
    assert (world.created, len(world.pods)) == (6, 6)


@pytest.mark.parametrize(("after", "tried"), [(0, 1), (1, 3), (2, 3), (3, 7), (7, 15), (63, 95)])
async def test_the_first_batch_with_a_refusal_is_the_last(
    world: World, after: int, tried: int
) -> None:
    calls = 0
    create = world.server.create

    def limited(kind: type[Pod], doc: Doc) -> Pod:
        nonlocal calls
        calls += 1
        if calls > after:
            raise Forbidden("exceeded quota")
        return create(kind, doc)

    world.server.create = limited  # type: ignore[method-assign, assignment]
    with pytest.raises(Forbidden, match="exceeded quota"):
        await world.effects.perform(CreatePods(world.owner, documents(100)))
    assert (calls, world.created) == (tried, after)


async def test_the_end_of_the_namespace_is_the_end_of_it(world: World) -> None:
    world.client.fail("create", ENDING)
    assert not await world.effects.perform(CreatePods(world.owner, documents(5)))
    assert world.created == 0


async def test_a_pod_that_is_deleted_is_doomed_until_that_is_seen(world: World) -> None:
    pod = world.pod("a")
    world.pods.fold(pod)
    await world.effects.perform(DeletePod(world.owner, pod))
    assert world.effects.doomed == {pod.uid}


async def test_a_deletion_that_may_not_have_arrived_is_not_counted_on(world: World) -> None:
    pod = world.pod("a")
    world.client.fail("delete", ConnectionLost("cut off"))
    with pytest.raises(ConnectionLost):
        await world.effects.perform(DeletePod(world.owner, pod))
    assert world.effects.doomed == set()


async def test_a_pod_is_adopted_and_released(world: World) -> None:
    await world.effects.perform(Adopt(world.owner, world.pod("a")))
    adopted = world.server.get(Pod, Key("ns", "a"))
    controller = adopted.metadata.find_controller()
    assert controller is not None
    assert controller.uid == world.owner.uid
    await world.effects.perform(Release(world.owner, adopted))
    assert world.server.get(Pod, Key("ns", "a")).metadata.owner_references == ()


async def test_an_owner_that_is_gone_though_the_cache_does_not_know_adopts_nothing(
    world: World,
) -> None:
    pod = world.pod("a")
    world.server.delete(world.owner)
    with pytest.raises(Conflict, match="is gone"):
        await world.effects.perform(Adopt(world.owner, pod))
    spec = {"metadata": {"name": "web", "namespace": "ns"}, "spec": {}}
    world.server.create(ReplicationController, spec)  # another of the same name
    with pytest.raises(Conflict, match="is being deleted"):
        await world.effects.perform(Adopt(world.owner, pod))
    assert world.server.get(Pod, Key("ns", "a")).metadata.owner_references == ()
