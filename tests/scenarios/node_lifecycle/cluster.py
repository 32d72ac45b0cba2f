"""Nodes that live and die, and the controllers that see to it, against a whole API in this process.

A node is a Node object and a Lease, which `passes` renews every ten seconds while the node is among
`living`. `Cluster.controllers()` runs the controllers as a process of their own would, with the
rights of their role; leaving it kills them. With `writes` they die before they can write once more.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.contract import Client, T
from mooring.client.local import LocalClient
from mooring.controllers import role
from mooring.controllers.options import Options
from mooring.errors import ConnectionLost
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.timestamp import to_micros, to_seconds
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.clock import settle
from tests.fakes.objects import EVENTS, NODES, PODS, a_node, a_pod
from tests.scenarios.neighbours import FOREVER, NO_OPTIONS, Mortal

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LIFECYCLE = ("node-lifecycle", "taint-eviction", "pod-gc")
HEARTBEAT_SECONDS = 10
TURNS = 300  # of the event loop; more than any of this takes
UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class Asked(Mortal):
    """A client that writes down its reads, and can be cut off."""

    def __init__(self, client: Client, writes: int) -> None:
        super().__init__(client, writes)
        self.reads: list[str] = []
        self.is_cut_off = False

    async def get(self, kind: type[T], key: Key) -> T:
        self.reads.append(f"{kind.resource.kind} {key.name}")
        if self.is_cut_off:
            raise ConnectionLost("the API server does not answer")
        return await super().get(kind, key)


class Cluster:
    def __init__(self, api: ApiUnderTest) -> None:
        self.api = api
        self.clock = api.clock
        self.living: set[str] = set()  # nodes whose heartbeats go on

    @asynccontextmanager
    async def controllers(
        self,
        *more: str,
        writes: int = FOREVER,
        options: Options = NO_OPTIONS,
    ) -> AsyncIterator[Asked]:
        parts, rng = self.api.parts, Random(1)  # noqa: S311  not for secrets
        in_process = InProcessApi(parts.backend, CONTROLLERS, check=parts.access.check)
        client = Asked(LocalClient(in_process), writes)
        loops = Loops("controllers", client, self.clock, rng)
        role.build(loops, options, (*LIFECYCLE, *more))
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(loops.run())
            await settle(TURNS)
            yield client
            running.cancel()

    # time

    async def passes(self, seconds: float) -> None:
        """Let time pass; nodes that live renew their leases on the way."""
        end = self.clock.monotonic() + seconds
        while (left := end - self.clock.monotonic()) > 0:
            beat = HEARTBEAT_SECONDS - self.clock.monotonic() % HEARTBEAT_SECONDS
            await self.clock.advance(min(left, beat))
            if beat <= left:
                for name in sorted(self.living):
                    await self.beats(name)
        await settle(TURNS)

    async def until(self, holds: Callable[[], Any], most: float, step: float = 1.0) -> float:
        """Seconds until `holds`."""
        began = self.clock.monotonic()
        while not await holds():
            assert self.clock.monotonic() - began < most, "it does not happen"
            await self.passes(step)
        return self.clock.monotonic() - began

    # nodes

    async def node(self, name: str, *, is_living: bool = True, **labels: str) -> None:
        doc = a_node(name)
        doc["metadata"]["labels"] = {key.replace("__", "/"): value for key, value in labels.items()}
        await self.write("post", NODES, doc)
        await self.posts(name)
        lease = {"metadata": {"name": name}, "spec": self._lease()}
        await self.write("post", LEASES, lease)
        if is_living:
            self.living.add(name)

    async def posts(self, name: str, ready: str = "True", **others: str) -> None:
        """The node says how it is."""
        now = to_seconds(self.clock.now())
        said = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}
        said = {**said, **others, "Ready": ready}
        conditions = [
            {
                "type": kind,
                "status": status,
                "reason": "KubeletReady" if kind == "Ready" else "KubeletHasEnough",
                "lastHeartbeatTime": now,
                "lastTransitionTime": now,
            }
            for kind, status in said.items()
        ]
        await self.patch(f"{NODES}/{name}/status", {"status": {"conditions": conditions}})

    async def beats(self, name: str) -> None:
        await self.patch(f"{LEASES}/{name}", {"spec": self._lease()})

    async def conditions(self, name: str) -> Mapping[str, Doc]:
        found = (await self.get(f"{NODES}/{name}"))["status"]["conditions"]
        return {condition["type"]: condition for condition in found}

    async def ready(self, name: str) -> str:
        status: str = (await self.conditions(name))["Ready"]["status"]
        return status

    async def taints(self, name: str) -> set[tuple[str, str]]:
        """Key, without its domain, and effect."""
        spec = (await self.get(f"{NODES}/{name}")).get("spec", {})
        return {(t["key"].rpartition("/")[2], t["effect"]) for t in spec.get("taints", ())}

    async def taint(self, name: str, key: str, effect: str = "NoExecute") -> None:
        spec = (await self.get(f"{NODES}/{name}")).get("spec", {})
        taints = [*spec.get("taints", ()), {"key": key, "effect": effect, "value": "nodeshutdown"}]
        await self.patch(f"{NODES}/{name}", {"spec": {"taints": taints}})

    async def untaint(self, name: str, key: str) -> None:
        spec = (await self.get(f"{NODES}/{name}")).get("spec", {})
        left = [each for each in spec.get("taints", ()) if each["key"] != key]
        await self.patch(f"{NODES}/{name}", {"spec": {"taints": left}})

    async def remove(self, name: str) -> None:
        self.living.discard(name)
        await self.write("delete", f"{NODES}/{name}")

    # pods

    async def pod(self, name: str, node: str = "n1", **spec: Any) -> Doc:
        """A pod that runs and is ready."""
        doc = a_pod(name, node)
        doc["spec"].update(spec)
        await self.write("post", PODS, doc)
        ready = {"type": "Ready", "status": "True"}
        status = {"phase": "Running", "conditions": [ready]}
        return await self.patch(f"{PODS}/{name}/status", {"status": status})

    async def find_pod(self, name: str) -> Doc | None:
        answer = await self.api.get(f"{PODS}/{name}")
        return answer.doc if answer.code == 200 else None

    async def is_deleted(self, name: str) -> bool:
        """Asked to go, or gone."""
        found = await self.find_pod(name)
        return found is None or "deletionTimestamp" in found["metadata"]

    async def terminate(self, name: str) -> None:
        await self.write("delete", f"{PODS}/{name}")

    async def pod_condition(self, name: str, kind: str) -> Doc:
        found = await self.get(f"{PODS}/{name}")
        return next((c for c in found["status"]["conditions"] if c["type"] == kind), {})

    # all

    async def get(self, path: str) -> Doc:
        answer = await self.api.get(path)
        assert answer.code == 200, answer.text
        return answer.doc

    async def patch(self, path: str, change: Doc) -> Doc:
        return await self.write("patch", path, change)

    async def write(self, verb: str, path: str, *body: Doc) -> Doc:
        answer = await getattr(self.api, verb)(path, *body)
        assert answer.code in (200, 201, 202), answer.text
        await settle(TURNS)
        doc: Doc = answer.doc
        return doc

    async def told(self, *reasons: str) -> list[tuple[str, str, str, str]]:
        """Object, type, reason and text of events with these reasons."""
        items = (await self.get(EVENTS))["items"]
        return [
            (item["involvedObject"]["name"], item["type"], item["reason"], item["message"])
            for item in items
            if item["reason"] in reasons
        ]

    def _lease(self) -> Doc:
        return {
            "holderIdentity": "kubelet",
            "leaseDurationSeconds": 40,
            "renewTime": to_micros(self.clock.now()),
        }
