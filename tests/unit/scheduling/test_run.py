"""The scheduler while its writes are under way: slow, refused, lost."""

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest

from mooring.errors import ConnectionLost, Forbidden
from mooring.model.claim import Claim
from mooring.model.condition import find_condition
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.reconcile.loops import Loops
from mooring.scheduling.role import NAME, build
from tests.fakes import objects
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.scenarios.scheduling.cluster import (
    a_local_volume,
    a_pod_with,
    a_ready_node,
    a_waiting_class,
)

Doc = dict[str, Any]
TURNS = 300
NOTHING = "node(s) didn't find available persistent volumes to bind"


class World:
    """A server that nobody tends, and a scheduler whose client things can happen to."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)

    async def passes(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await settle(TURNS)

    async def settle(self) -> None:
        await settle(TURNS)

    def slow(self, seconds: float) -> None:
        """Requests take so long to arrive."""
        self.client.latency = lambda: (seconds, 0.0)

    # what is there

    def add(self, kind: type[ApiObject], doc: Doc) -> None:
        if kind.resource.namespaced:
            doc["metadata"]["namespace"] = "default"
        if kind is Volume:
            doc["status"] = {"phase": "Available"}
        if kind is Pod:
            doc["spec"]["schedulerName"] = "default-scheduler"
        self.server.create(kind, doc)

    def pod(self, name: str) -> Pod:
        return self.server.get(Pod, Key("default", name))

    def delete(self, name: str) -> None:
        self.server.delete(self.pod(name))

    def node_of(self, name: str) -> str:
        return self.pod(name).spec.node_name

    def why(self, name: str) -> str:
        condition = find_condition(self.pod(name).status.conditions, "PodScheduled")
        return "" if condition is None else condition.message

    def claim(self, name: str = "data") -> Claim:
        return self.server.get(Claim, Key("default", name))

    def reserved(self) -> dict[str, str]:
        """The claims of volumes."""
        volumes = self.server.list(Volume).items
        found = ((volume.name, volume.spec.claim_ref) for volume in volumes)
        return {name: reference.name for name, reference in found if reference is not None}

    def bind(self, claim: str, volume: str) -> None:
        """What the binder does."""
        seen = self.claim(claim)
        done = {"annotations": {Annotation.BIND_COMPLETED: "yes"}}
        self.server.patch(seen, {"metadata": done, "spec": {"volumeName": volume}}, {})

    def events(self) -> list[str]:
        return [event.message for event in self.server.list(Event).items]

    def writes(self, to: str) -> int:
        return sum(call.startswith(("patch", "post")) and to in call for call in self.client.calls)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    rng = Random(1)  # noqa: S311  not for secrets
    world.add(Node, a_ready_node("n1"))
    world.add(StorageClass, a_waiting_class())
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(build(Loops(NAME, world.client, world.clock, rng)).run())
        await world.settle()
        yield world
        running.cancel()


def local(name: str = "data", storage_class: str = "local") -> Doc:
    return objects.a_claim(name, storageClassName=storage_class)


async def test_a_volume_is_taken_before_that_is_written(world: World) -> None:
    world.add(Volume, a_local_volume("disk", "n1"))
    for name in ("one", "two"):
        world.add(Claim, local(name))
    await world.settle()
    world.slow(5)
    for name in ("one", "two"):
        world.add(Pod, a_pod_with(name, name=f"pod-{name}"))
    await world.passes(20)
    assert world.reserved() == {"disk": "one"}
    assert world.writes("PersistentVolume disk") == 1
    assert NOTHING in world.why("pod-two")


async def test_a_volume_that_is_let_go_wakes_those_who_want_it(world: World) -> None:
    world.add(Volume, a_local_volume("disk", "n1"))
    for name in ("one", "two"):
        world.add(Claim, local(name))
    await world.settle()
    world.slow(0.2)
    world.client.fail("patch", Forbidden("not you"))
    for name in ("one", "two"):
        world.add(Pod, a_pod_with(name, name=f"pod-{name}"))
    await world.passes(0.5)
    assert 'running PreBind plugin "VolumeBinding": not you' in world.events()
    world.delete("pod-one")
    await world.passes(3)
    assert world.reserved() == {"disk": "two"}


async def test_a_place_is_taken_before_that_is_written(world: World) -> None:
    world.add(Node, a_ready_node("n0", pods="1"))
    world.server.delete(world.server.get(Node, Key("", "n1")))
    await world.settle()
    world.slow(5)
    for name in ("one", "two"):
        world.add(Pod, objects.a_pod(name))
    await world.passes(20)
    assert (world.node_of("one"), world.node_of("two")) == ("n0", "")
    assert "Too many pods" in world.why("two")


async def test_a_place_that_is_let_go_wakes_those_who_want_it(world: World) -> None:
    world.server.patch(world.server.get(Node, Key("", "n1")), {}, {"allocatable": {"pods": "1"}})
    await world.settle()
    world.slow(0.2)
    world.client.fail("post", Forbidden("not you"))
    for name in ("one", "two"):
        world.add(Pod, objects.a_pod(name))
    await world.passes(0.5)
    assert 'running Bind plugin "DefaultBinder": not you' in world.events()
    world.delete("one")
    await world.passes(3)
    assert world.node_of("two") == "n1"


async def test_pods_that_share_a_claim_get_one_volume(world: World) -> None:
    for name in ("a", "b"):
        world.add(Volume, a_local_volume(name, "n1"))
    world.add(Claim, local())
    await world.settle()
    world.slow(5)
    for name in ("one", "two"):
        world.add(Pod, a_pod_with("data", name=name))
    await world.passes(30)
    assert world.reserved() == {"a": "data"}
    world.bind("data", "a")
    await world.passes(30)
    assert (world.node_of("one"), world.node_of("two")) == ("n1", "n1")
    assert not any("cannot be fulfilled" in message for message in world.events())


async def test_pods_that_share_a_claim_go_where_its_volume_is_made(world: World) -> None:
    world.add(StorageClass, a_waiting_class("fast", "d.example.com"))
    world.add(Node, a_ready_node("n2"))
    world.add(Claim, local(storage_class="fast"))
    await world.settle()
    world.slow(5)
    for name in ("one", "two"):
        world.add(Pod, a_pod_with("data", name=name))
    await world.passes(30)
    world.add(Volume, objects.a_volume("made"))
    world.bind("data", "made")
    await world.passes(30)
    chosen = world.claim().selected_node
    assert (world.node_of("one"), world.node_of("two")) == (chosen, chosen)
    assert not any("cannot be fulfilled" in message for message in world.events())


async def test_a_pod_that_is_gone_is_waited_for_no_longer(world: World) -> None:
    world.add(Volume, a_local_volume("disk", "n1"))
    world.add(Claim, local())
    world.add(Pod, a_pod_with("data"))
    await world.passes(1)
    assert world.reserved() == {"disk": "data"}
    world.delete("web")
    await world.passes(700)
    assert world.events() == []


async def test_another_pod_of_the_same_name_is_looked_at_for_itself(world: World) -> None:
    world.slow(5)
    world.add(Pod, objects.a_pod("web"))
    await world.passes(2)  # its binding is on the way
    world.slow(0)
    world.delete("web")
    world.add(Pod, objects.a_pod("web"))
    await world.passes(10)
    assert world.node_of("web") == "n1"


@pytest.mark.parametrize("is_applied", [True, False])
async def test_an_answer_that_got_lost(world: World, is_applied: bool) -> None:  # noqa: FBT001 - a column
    world.client.fail("post", ConnectionLost("cut"), applied=is_applied)
    world.add(Pod, objects.a_pod("web"))
    await world.passes(1)
    assert world.node_of("web") == "n1"
    assert world.events() == ["Successfully assigned default/web to n1"]


@pytest.mark.parametrize("is_applied", [True, False])
async def test_a_reservation_whose_answer_got_lost(world: World, is_applied: bool) -> None:  # noqa: FBT001 - a column
    world.add(Volume, a_local_volume("disk", "n1"))
    world.add(Claim, local())
    world.client.fail("patch", ConnectionLost("cut"), applied=is_applied)
    world.add(Pod, a_pod_with("data"))
    await world.passes(3)
    assert world.reserved() == {"disk": "data"}
    world.bind("data", "disk")
    await world.passes(1)
    assert world.node_of("web") == "n1"


async def test_a_server_that_is_away_is_waited_out(world: World) -> None:
    world.add(Pod, objects.a_pod("web"))
    world.client.is_offline = True
    await world.passes(60)
    world.client.go_on()
    await world.passes(15)
    assert world.node_of("web") == "n1"


async def test_a_pod_that_somebody_else_places_is_theirs(world: World) -> None:
    world.slow(5)
    world.add(Pod, objects.a_pod("web"))
    await world.passes(2)
    world.server.patch(world.pod("web"), {"spec": {"nodeName": "n9"}}, {})
    await world.passes(20)
    assert world.node_of("web") == "n9"
    assert world.events() == []


async def test_a_volume_that_changes_meanwhile_is_looked_at_again(world: World) -> None:
    world.add(Volume, a_local_volume("disk", "n1"))
    world.add(Claim, local())
    await world.settle()
    world.slow(1)
    world.add(Pod, a_pod_with("data"))
    await world.passes(0.5)
    seen = world.server.get(Volume, Key("", "disk"))
    world.server.patch(seen, {"metadata": {"labels": {"a": "1"}}}, {})
    await world.passes(10)
    assert world.reserved() == {"disk": "data"}, "at the second try"
    assert any("Operation cannot be fulfilled" in message for message in world.events())


async def test_what_one_pod_lets_go_another_may_still_count_on(world: World) -> None:
    world.add(Volume, a_local_volume("disk", "n1"))
    for name in ("data", "other"):
        world.add(Claim, local(name))
    await world.settle()
    delays = iter([0.2, 5.0])  # the reservation of the first, and of the second
    world.client.latency = lambda: (next(delays, 0.0), 0.0)
    for name in ("one", "two"):
        world.add(Pod, a_pod_with("data", name=name))
    world.add(Pod, a_pod_with("other", name="three"))
    await world.passes(0.1)
    world.client.fail("patch", Forbidden("not you"))
    await world.passes(1)
    world.delete("one")
    await world.passes(20)
    assert world.reserved() == {"disk": "data"}
    assert not any("cannot be fulfilled" in message for message in world.events())


def asking(cpu: str, **spec: Any) -> Doc:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {"containers": [container], **spec}


async def test_of_pods_that_came_together_the_most_important_is_placed_first(world: World) -> None:
    for name, priority in (("low", 0), ("high", 5), ("middle", 3)):
        world.add(Pod, a_pod_with(name=name, **asking("3", priority=priority)))
    await world.settle()
    assert {name: world.node_of(name) for name in ("low", "high", "middle")} == {
        "low": "",
        "high": "n1",
        "middle": "",
    }


async def test_a_pod_that_wants_company_is_woken_when_that_is_placed(world: World) -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "w"}}}
    rules = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world.add(Pod, a_pod_with(name="companion", affinity=rules))
    await world.settle()
    assert world.node_of("companion") == ""
    wanted = a_pod_with(name="wanted")
    wanted["metadata"]["labels"] = {"app": "w"}
    world.add(Pod, wanted)
    await world.passes(2)
    assert (world.node_of("wanted"), world.node_of("companion")) == ("n1", "n1")


async def test_one_volume_costs_one_look_however_many_wait(world: World) -> None:
    for number in range(20):
        world.add(Claim, local(f"c{number}"))
        world.add(Pod, a_pod_with(f"c{number}", name=f"p{number}"))
    await world.passes(15)
    said = len(world.events())
    world.add(Volume, a_local_volume("disk", "n1"))
    await world.passes(1)
    assert world.reserved() == {"disk": "c0"}
    assert len(world.events()) == said, "nobody else was looked at, and refused again"


def ending_slowly(name: str, node: str, cpu: str) -> Doc:
    """A pod on a node that stays for a while after it was deleted."""
    pod = a_pod_with(name=name, **asking(cpu, nodeName=node, priority=0))
    pod["metadata"]["finalizers"] = ["example.com/slow"]
    return pod


async def test_room_that_was_kept_for_a_pod_is_anybodys_when_that_is_deleted(world: World) -> None:
    world.add(Pod, ending_slowly("victim", "n1", "3"))
    world.add(Pod, a_pod_with(name="high", **asking("4", priority=5)))
    await world.passes(1)
    assert world.pod("high").status.nominated_node_name == "n1"
    world.add(Pod, a_pod_with(name="low", **asking("1", priority=1)))
    await world.passes(30)
    assert world.node_of("low") == "", "the room is kept"
    world.delete("high")
    await world.passes(15)
    assert world.node_of("low") == "n1", world.why("low")


async def test_room_that_was_kept_for_a_pod_is_anybodys_when_it_finds_another(world: World) -> None:
    world.add(Pod, ending_slowly("victim", "n1", "3"))
    world.add(Pod, a_pod_with(name="high", **asking("4", priority=5)))
    await world.passes(1)
    at_home = {"kubernetes.io/hostname": "n1"}
    world.add(Pod, a_pod_with(name="low", **asking("1", priority=1, nodeSelector=at_home)))
    await world.passes(30)
    assert world.node_of("low") == "", "the room is kept"
    world.add(Node, a_ready_node("n2"))
    await world.passes(15)
    assert (world.node_of("high"), world.node_of("low")) == ("n2", "n1"), world.why("low")


async def test_a_pod_whose_promised_node_goes_to_another_looks_elsewhere(world: World) -> None:
    world.add(Node, a_ready_node("n2"))
    for node in ("n1", "n2"):
        world.add(Pod, ending_slowly(f"victim-{node}", node, "4"))
    world.add(Pod, a_pod_with(name="middle", **asking("4", priority=3)))
    await world.passes(1)
    promised = world.pod("middle").status.nominated_node_name
    wish = {"kubernetes.io/hostname": promised}
    world.add(Pod, a_pod_with(name="high", **asking("4", priority=5, nodeSelector=wish)))
    await world.passes(15)
    assert world.pod("high").status.nominated_node_name == promised
    other = {"n1": "n2", "n2": "n1"}[promised]
    assert world.pod("middle").status.nominated_node_name == other, world.why("middle")
    assert world.pod(f"victim-{other}").is_deleting


async def test_a_pod_whose_victims_may_not_be_deleted_goes_where_there_is_room(
    world: World,
) -> None:
    world.add(Pod, ending_slowly("victim", "n1", "3"))
    await world.settle()
    world.client.fail("delete", Forbidden("not this one"), times=100)
    world.add(Pod, a_pod_with(name="high", **asking("4", priority=5)))
    await world.passes(3600)
    world.add(Node, a_ready_node("n2"))
    await world.passes(15)
    assert world.node_of("high") == "n2", world.why("high")


@pytest.mark.parametrize("cpu", ["1", "4"], ids=["there is room", "there is none"])
async def test_nobody_goes_for_a_pod_that_is_not_to_be_there_by_the_pods_of_other_nodes(
    world: World, cpu: str
) -> None:
    elsewhere = a_ready_node("n2")
    elsewhere["spec"] = {"unschedulable": True}
    world.add(Node, elsewhere)
    for name, priority, app, uses in (("like", 9, "a", "0"), ("low", 0, "b", "2")):
        doc = a_pod_with(name=name, **asking(uses, nodeName="n1", priority=priority))
        doc["metadata"]["labels"] = {"app": app}
        world.add(Pod, doc)
    evenly = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    spread = asking(cpu, priority=5, topologySpreadConstraints=[evenly])
    doc = a_pod_with(name="spread", **spread)
    doc["metadata"]["labels"] = {"app": "a"}
    world.add(Pod, doc)
    await world.passes(5)
    assert world.node_of("low") == "n1", "it was not preempted in vain"
    assert "0/2 nodes are available" in world.why("spread")


async def test_the_room_of_a_pod_that_somebody_else_places_elsewhere_is_anybodys(
    world: World,
) -> None:
    world.slow(8)
    world.add(Pod, a_pod_with(name="one", **asking("4")))
    await world.passes(0)
    at_home = {"kubernetes.io/hostname": "n1"}
    world.add(Pod, a_pod_with(name="two", **asking("4", nodeSelector=at_home)))
    await world.passes(4)
    world.server.patch(world.pod("one"), {"spec": {"nodeName": "n2"}}, {})
    await world.passes(60)
    assert world.node_of("two") == "n1", world.why("two")
