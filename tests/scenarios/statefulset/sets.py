"""A stateful set controller against a whole API in this process, and who plays the nodes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.controllers.protection import run as protection
from mooring.controllers.statefulset import run as statefulset
from mooring.model.document import Doc
from mooring.model.timestamp import to_seconds
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import CLAIMS, PODS, REVISIONS, STATEFUL_SETS, a_stateful_set
from tests.scenarios.neighbours import FOREVER, NO_OPTIONS, Cluster, Mortal

SIZE = "1Gi"
MOST_PASSES = 40  # of the nodes; more than any update here takes


def a_claim_template(storage: str = SIZE, **spec: Any) -> Doc:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return {
        "metadata": {"name": "data", "labels": {"app": "other", "tier": "a"}},
        "spec": {**asked, **spec},
    }


def a_set(replicas: int = 3, **spec: Any) -> Doc:
    templates = {"volumeClaimTemplates": [a_claim_template()]}
    return a_stateful_set("web", **{"replicas": replicas, **templates, **spec})


class Sets(Cluster):
    """The cluster with sets in it; whatever is told of pods here is what their nodes do."""

    def __init__(self, api: ApiUnderTest) -> None:
        super().__init__(api)
        self.born: list[str] = []  # the pods that became ready, in order

    @asynccontextmanager
    async def controlled(self, writes: int = FOREVER) -> AsyncIterator[None]:
        api, rng = self.api, Random(1)  # noqa: S311  not for secrets
        in_process = InProcessApi(api.parts.backend, CONTROLLERS, check=api.parts.access.check)
        loops = Loops("controllers", Mortal(LocalClient(in_process), writes), api.clock, rng)
        statefulset.build(loops, NO_OPTIONS)
        protection.build(loops, NO_OPTIONS)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(loops.run())
            await self.settle()
            yield
            running.cancel()

    # what is there

    async def pods(self) -> dict[str, Doc]:
        items = (await self.api.get(PODS)).doc["items"]
        return {item["metadata"]["name"]: item for item in items}

    async def pod_names(self) -> list[str]:
        return sorted(await self.pods())

    async def claims(self) -> dict[str, Doc]:
        items = (await self.api.get(CLAIMS)).doc["items"]
        return {item["metadata"]["name"]: item for item in items}

    async def owners(self) -> dict[str, list[str]]:
        """By claim: the kinds of its owners."""
        return {
            name: [owner["kind"] for owner in claim["metadata"].get("ownerReferences", ())]
            for name, claim in (await self.claims()).items()
        }

    async def revisions(self) -> dict[str, int]:
        items = (await self.api.get(REVISIONS)).doc["items"]
        return {item["metadata"]["name"]: item["revision"] for item in items}

    async def status(self) -> Doc:
        found: Doc = (await self.get(STATEFUL_SETS, "web"))["status"]
        return found

    async def images(self) -> list[str]:
        pods = await self.pods()
        return [pods[name]["spec"]["containers"][0]["image"] for name in sorted(pods)]

    # what people do

    async def change(self, **spec: Any) -> Doc:
        return await self.patch(STATEFUL_SETS, "web", {"spec": spec})

    async def set_image(self, image: str) -> None:
        containers = [{"name": "c", "image": image}]
        await self.change(template={"spec": {"containers": containers}})

    # what nodes do

    async def start(self, name: str, *, ready: bool = True) -> None:
        """The pod runs, on a node: from now on its deletion takes until `stop`."""
        binding = {
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": "n1"},
        }
        if not (await self.pods())[name]["spec"].get("nodeName"):
            answer = await self.api.post(f"{PODS}/{name}/binding", binding)
            assert answer.code == 201, answer.text
        await self.say(name, "Running", ready=ready)
        if ready:
            self.born.append(name)

    async def say(self, name: str, phase: str, *, ready: bool = False) -> None:
        since = to_seconds(self.api.clock.now())
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": since}
        await self.patch(
            PODS, name, {"status": {"phase": phase, "conditions": [condition]}}, "/status"
        )

    async def stop(self, name: str) -> None:
        """Its containers have ended: it is gone."""
        await self.delete(PODS, name, grace=0)

    async def play(self) -> None:
        """Nodes start what is there and stop what goes, until nothing changes any more."""
        for _ in range(MOST_PASSES):
            pods = await self.pods()
            going = [n for n, pod in pods.items() if "deletionTimestamp" in pod["metadata"]]
            idle = [n for n, pod in pods.items() if pod["status"]["phase"] == "Pending"]
            if not going and not idle:
                return
            for name in sorted(going):
                await self.stop(name)
            for name in sorted(set(idle) - set(going)):
                await self.start(name)
        raise AssertionError(f"still something to do: {await self.pod_names()}")
