"""The scheduler and the binder against a whole API in this process.

`Cluster.scheduler()` runs a scheduler, as a process of its own would; leaving it kills it. With
`writes` it dies before it can write once more. `Cluster.both()` runs the binder beside it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import SCHEDULER
from mooring.client.local import LocalClient
from mooring.model.document import Doc
from mooring.reconcile.loops import Loops
from mooring.scheduling.role import NAME, build
from tests.fakes.objects import (
    CLAIMS,
    CLASSES,
    DEFAULT,
    NODES,
    PODS,
    a_class,
    a_node,
    a_pod,
    a_volume,
)
from tests.scenarios.binding import cluster as binding
from tests.scenarios.neighbours import FOREVER, Mortal

DELAYED: Doc = {"volumeBindingMode": "WaitForFirstConsumer"}
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def a_ready_node(name: str = "n1", pods: str = "110", **labels: str) -> Doc:
    doc = a_node(name)
    doc["metadata"]["labels"] = {"kubernetes.io/hostname": name, **labels}
    doc["status"] = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": pods}}
    return doc


def a_waiting_class(name: str = "local", provisioner: str = NO_PROVISIONER, **body: Any) -> Doc:
    return a_class(name, **DELAYED, **body) | {"provisioner": provisioner}


def a_local_volume(name: str, node: str, storage: str = "1Gi", **spec: Any) -> Doc:
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
    has = {
        "csi": None,
        "local": {"path": f"/mnt/{name}"},
        "nodeAffinity": affinity,
        "storageClassName": "local",
    }
    return a_volume(name, storage, **(has | spec))


def a_pod_with(*claims: str, name: str = "web", **spec: Any) -> Doc:
    doc = a_pod(name)
    doc["spec"]["volumes"] = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": claim}}
        for number, claim in enumerate(claims)
    ]
    doc["spec"] |= spec
    return doc


class Cluster(binding.Cluster):
    @asynccontextmanager
    async def scheduler(self, writes: int = FOREVER) -> AsyncIterator[Mortal]:
        api = InProcessApi(self.api.parts.backend, SCHEDULER)
        client = Mortal(LocalClient(api), writes)
        rng = Random(1)  # noqa: S311  not for secrets
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(build(Loops(NAME, client, self.clock, rng)).run())
            await self.settle()
            yield client
            running.cancel()

    @asynccontextmanager
    async def both(self, writes: int = FOREVER) -> AsyncIterator[Mortal]:
        async with self.binder(), self.scheduler(writes) as client:
            yield client

    # what is there

    async def pod(self, name: str = "web") -> str:
        """Its node; without one, why."""
        doc = await self.find(PODS, name)
        assert doc is not None
        if node := doc["spec"].get("nodeName"):
            return str(node)
        return await self.condition(name)

    async def condition(self, name: str = "web") -> str:
        """`reason: message` of PodScheduled."""
        doc = await self.find(PODS, name)
        assert doc is not None
        for condition in doc["status"].get("conditions", ()):
            if condition["type"] == "PodScheduled":
                return f"{condition.get('reason')}: {condition.get('message')}"
        return ""

    async def selected_node(self, name: str = "data") -> str:
        doc = await self.find(CLAIMS, name)
        assert doc is not None
        marks = doc["metadata"].get("annotations", {})
        return str(marks.get("volume.kubernetes.io/selected-node", ""))

    async def said(self, pod: str = "web") -> list[tuple[str, str, str]]:
        """Type, reason and message of the scheduler's events about a pod, oldest first."""
        items = (await self.api.get(f"{DEFAULT}/events")).doc["items"]
        items.sort(key=lambda item: int(item["metadata"]["resourceVersion"]))
        return [
            (item["type"], item["reason"], item["message"])
            for item in items
            if item["source"]["component"] == "default-scheduler"
            and item["involvedObject"]["name"] == pod
        ]

    # what people do

    async def nodes(self, *names: str, **labels: str) -> None:
        for name in names:
            await self.create(NODES, a_ready_node(name, **labels))

    async def waiting_class(self, **body: Any) -> None:
        await self.create(CLASSES, a_waiting_class(**body))
