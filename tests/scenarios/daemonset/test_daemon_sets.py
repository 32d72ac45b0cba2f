"""A daemon set keeps a pod on every node that fits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.controllers.daemonset import run as daemonset
from mooring.model.document import Doc
from mooring.model.timestamp import to_seconds
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import DAEMON_SETS, NODES, PODS, REVISIONS, a_daemon_set, a_node
from tests.scenarios.neighbours import FOREVER, NO_OPTIONS, Cluster, Mortal

MOST_PASSES = 40  # of the nodes; more than any update here takes
OLD, NEW = "busybox:1", "busybox:2"
TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


def rolling(**limits: int | str) -> Doc:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": limits}}


class Daemons(Cluster):
    @asynccontextmanager
    async def controlled(self, writes: int = FOREVER) -> AsyncIterator[None]:
        api, rng = self.api, Random(1)  # noqa: S311  not for secrets
        in_process = InProcessApi(api.parts.backend, CONTROLLERS, check=api.parts.access.check)
        loops = Loops("controllers", Mortal(LocalClient(in_process), writes), api.clock, rng)
        daemonset.build(loops, NO_OPTIONS)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(loops.run())
            await self.settle()
            yield
            running.cancel()

    async def add_nodes(self, *names: str) -> None:
        for name in names:
            await self.create(NODES, a_node(name))

    async def pods(self) -> dict[str, list[Doc]]:
        """By the node that each is on, or meant for."""
        found: dict[str, list[Doc]] = {}
        for pod in (await self.api.get(PODS)).doc["items"]:
            found.setdefault(_node_of(pod), []).append(pod)
        return found

    async def images(self) -> dict[str, list[str]]:
        return {
            node: sorted(pod["spec"]["containers"][0]["image"] for pod in pods)
            for node, pods in (await self.pods()).items()
        }

    async def status(self) -> Doc:
        found: Doc = (await self.get(DAEMON_SETS, "web"))["status"]
        return found

    async def counts(self) -> tuple[int, ...]:
        """Desired, current, misscheduled, ready, updated, available."""
        status = await self.status()
        fields = ("desiredNumberScheduled", "currentNumberScheduled", "numberMisscheduled")
        more = ("numberReady", "updatedNumberScheduled", "numberAvailable")
        return tuple(status.get(field, 0) for field in (*fields, *more))

    async def set_image(self, image: str) -> None:
        containers = [{"name": "c", "image": image}]
        change = {"spec": {"template": {"spec": {"containers": containers}}}}
        await self.patch(DAEMON_SETS, "web", change)

    async def start(self, pod: Doc, *, ready: bool = True) -> None:
        name = pod["metadata"]["name"]
        if not pod["spec"].get("nodeName"):
            target = {"kind": "Node", "name": _node_of(pod)}
            binding = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": name}}
            answer = await self.api.post(f"{PODS}/{name}/binding", {**binding, "target": target})
            assert answer.code == 201, answer.text
        await self.say(name, "Running", ready=ready)

    async def say(self, name: str, phase: str, *, ready: bool = False) -> None:
        since = to_seconds(self.api.clock.now())
        told = {"type": "Ready", "status": str(ready), "lastTransitionTime": since}
        status = {"phase": phase, "conditions": [told]}
        await self.patch(PODS, name, {"status": status}, "/status")

    async def play(self) -> None:
        """Scheduler and nodes do their work until nothing changes any more."""
        for _ in range(MOST_PASSES):
            pods = [pod for there in (await self.pods()).values() for pod in there]
            going = [pod for pod in pods if "deletionTimestamp" in pod["metadata"]]
            idle = [p for p in pods if p not in going and p["status"]["phase"] == "Pending"]
            if not going and not idle:
                return
            for pod in going:
                await self.delete(PODS, pod["metadata"]["name"], grace=0)
            for pod in idle:
                await self.start(pod)
        raise AssertionError(f"still something to do: {await self.images()}")


def _node_of(pod: Doc) -> str:
    if on := pod["spec"].get("nodeName"):
        return str(on)
    affinity = pod["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (field,) = term["matchFields"]
    assert (field["key"], field["operator"]) == ("metadata.name", "In")
    return str(field["values"][0])


@pytest.fixture
def daemons(api: ApiUnderTest) -> Daemons:
    return Daemons(api)


def a_set(**spec: Any) -> Doc:
    return a_daemon_set("web", **spec)


async def test_every_node_gets_a_pod_and_so_does_a_new_one(daemons: Daemons) -> None:
    await daemons.add_nodes("n1", "n2")
    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set())
        assert sorted(await daemons.pods()) == ["n1", "n2"]
        await daemons.play()
        assert await daemons.counts() == (2, 2, 0, 2, 2, 2)
        await daemons.add_nodes("n3")
        await daemons.play()
        assert await daemons.counts() == (3, 3, 0, 3, 3, 3)
        assert (await daemons.status())["observedGeneration"] == 1


async def test_what_its_pods_tolerate_and_carry(daemons: Daemons) -> None:
    await daemons.add_nodes("n1")
    template = a_set()["spec"]["template"]
    limited = {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 5,
    }
    template["spec"] |= {"hostNetwork": True, "tolerations": [limited]}
    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set(template=template))
        ((pod,),) = (await daemons.pods()).values()
        tolerated = {
            (each["key"].removeprefix("node.kubernetes.io/"), each["effect"])
            for each in pod["spec"]["tolerations"]
        }
        assert tolerated == {
            ("not-ready", "NoExecute"),
            ("unreachable", "NoExecute"),
            ("disk-pressure", "NoSchedule"),
            ("memory-pressure", "NoSchedule"),
            ("pid-pressure", "NoSchedule"),
            ("unschedulable", "NoSchedule"),
            ("network-unavailable", "NoSchedule"),
        }
        assert not any("tolerationSeconds" in each for each in pod["spec"]["tolerations"])
        (revision,) = (await daemons.api.get(REVISIONS)).doc["items"]
        hashed = revision["metadata"]["labels"]["controller-revision-hash"]
        assert revision["metadata"]["name"] == f"web-{hashed}"
        assert pod["metadata"]["labels"] == {
            "app": "web",
            "controller-revision-hash": hashed,
            "pod-template-generation": "1",
        }


async def test_nodes_that_do_not_fit_get_none(daemons: Daemons) -> None:
    await daemons.add_nodes("n1", "n2", "n3")
    await daemons.patch(NODES, "n1", {"metadata": {"labels": {"disk": "ssd"}}})
    tainted = {"metadata": {"labels": {"disk": "ssd"}}, "spec": {"taints": [TAINT]}}
    await daemons.patch(NODES, "n2", tainted)
    template = a_set()["spec"]["template"]
    template["spec"]["nodeSelector"] = {"disk": "ssd"}
    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set(template=template))
        assert sorted(await daemons.pods()) == ["n1"]
        assert (await daemons.counts())[:3] == (1, 1, 0)


async def test_a_taint_against_scheduling_lets_a_pod_stay_one_against_execution_does_not(
    daemons: Daemons,
) -> None:
    await daemons.add_nodes("n1")
    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set())
        await daemons.play()
        await daemons.patch(NODES, "n1", {"spec": {"taints": [TAINT]}})
        assert (await daemons.counts())[:3] == (0, 0, 1)
        evicting = {**TAINT, "effect": "NoExecute"}
        await daemons.patch(NODES, "n1", {"spec": {"taints": [evicting]}})
        await daemons.play()
        assert await daemons.pods() == {}


async def test_a_pod_that_waits_for_a_node_which_is_gone_is_deleted(daemons: Daemons) -> None:
    await daemons.add_nodes("n1", "n2")
    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set())
        await daemons.delete(NODES, "n2")
        assert sorted(await daemons.pods()) == ["n1"]


async def test_an_update_replaces_pods_node_after_node(daemons: Daemons) -> None:
    await daemons.add_nodes("n1", "n2", "n3")
    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set())
        await daemons.play()
        await daemons.set_image(NEW)
        pods = [pod for there in (await daemons.pods()).values() for pod in there]
        assert sum("deletionTimestamp" in pod["metadata"] for pod in pods) == 1
        await daemons.play()
        assert await daemons.images() == {node: [NEW] for node in ("n1", "n2", "n3")}
        assert await daemons.counts() == (3, 3, 0, 3, 3, 3)


LIMITS = {"a number": (2, 2), "a percentage": ("50%", 2), "all": ("100%", 3)}


@pytest.mark.parametrize(("limit", "at_once"), LIMITS.values(), ids=LIMITS)
async def test_as_many_at_once_as_may_be_unavailable(
    daemons: Daemons, limit: int | str, at_once: int
) -> None:
    await daemons.add_nodes("n1", "n2", "n3")
    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set(**rolling(maxUnavailable=limit)))
        await daemons.play()
        await daemons.set_image(NEW)
        pods = [pod for there in (await daemons.pods()).values() for pod in there]
        assert sum("deletionTimestamp" in pod["metadata"] for pod in pods) == at_once


async def test_with_surge_the_new_pod_comes_first(daemons: Daemons) -> None:
    await daemons.add_nodes("n1", "n2")
    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set(**rolling(maxUnavailable=0, maxSurge=1)))
        await daemons.play()
        await daemons.set_image(NEW)
        assert await daemons.images() == {"n1": [OLD, NEW], "n2": [OLD]}
        both = (await daemons.pods())["n1"]
        assert not any("deletionTimestamp" in pod["metadata"] for pod in both)
        await daemons.play()
        assert await daemons.images() == {"n1": [NEW], "n2": [NEW]}


async def test_on_delete_only_deleted_pods_change(daemons: Daemons) -> None:
    await daemons.add_nodes("n1", "n2")
    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set(updateStrategy={"type": "OnDelete"}))
        await daemons.play()
        await daemons.set_image(NEW)
        await daemons.play()
        assert await daemons.images() == {"n1": [OLD], "n2": [OLD]}
        name = (await daemons.pods())["n1"][0]["metadata"]["name"]
        await daemons.delete(PODS, name)
        await daemons.play()
        assert await daemons.images() == {"n1": [NEW], "n2": [OLD]}


async def test_failed_pods_are_replaced_later_each_time(daemons: Daemons) -> None:
    await daemons.add_nodes("n1")

    async def fail() -> str:
        (pod,) = (await daemons.pods())["n1"]
        await daemons.start(pod)
        await daemons.say(pod["metadata"]["name"], "Failed")
        return str(pod["metadata"]["name"])

    async def gone(name: str) -> bool:
        await daemons.settle()
        found = await daemons.find(PODS, name)
        return found is None or "deletionTimestamp" in found["metadata"]

    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set())
        first = await fail()
        assert await gone(first)
        (told,) = await daemons.events("FailedDaemonPod")
        assert told[2] == (
            f"Found failed daemon pod default/{first} on node n1, will try to kill it"
        )
        second = await fail()
        assert not await gone(second)
        await daemons.api.clock.advance(1.5)
        assert await gone(second)
        third = await fail()
        await daemons.api.clock.advance(1)
        assert not await gone(third)
        await daemons.api.clock.advance(1)
        assert await gone(third)


async def test_surplus_pods_go_and_the_oldest_stays(daemons: Daemons) -> None:
    await daemons.add_nodes("n1")
    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set())
        await daemons.play()
        ((kept,),) = (await daemons.pods()).values()
        await daemons.api.clock.advance(5)
        twin = {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": "twin", "labels": {"app": "web"}},
            "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": OLD}]},
        }
        await daemons.create(PODS, twin)
        await daemons.play()
        ((left,),) = (await daemons.pods()).values()
        assert left["metadata"]["uid"] == kept["metadata"]["uid"]


async def test_deleted_its_pods_go(daemons: Daemons) -> None:
    await daemons.add_nodes("n1")
    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set())
        await daemons.play()
        await daemons.delete(DAEMON_SETS, "web")
        await daemons.play()
        assert await daemons.pods() == {}
        assert (await daemons.api.get(REVISIONS)).doc["items"] == []


async def test_going_back_takes_the_former_revision_again(daemons: Daemons) -> None:
    await daemons.add_nodes("n1")
    async with daemons.controlled():
        await daemons.create(DAEMON_SETS, a_set(revisionHistoryLimit=1))
        for image in (NEW, "busybox:3", NEW):
            await daemons.play()
            await daemons.set_image(image)
        await daemons.play()
        assert await daemons.images() == {"n1": [NEW]}
        items = (await daemons.api.get(REVISIONS)).doc["items"]
        assert sorted(item["revision"] for item in items) == [3, 4]


@pytest.mark.parametrize("writes", range(8))
async def test_killed_after_any_write_the_next_one_finishes(daemons: Daemons, writes: int) -> None:
    await daemons.add_nodes("n1", "n2")
    async with daemons.controlled(writes):
        await daemons.create(DAEMON_SETS, a_set())
        await daemons.play()
    async with daemons.controlled():
        await daemons.play()
        assert await daemons.images() == {"n1": [OLD], "n2": [OLD]}
        assert await daemons.counts() == (2, 2, 0, 2, 2, 2)
