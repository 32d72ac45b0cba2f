"""The controllers of deployments and replica sets against a whole API, with kubelets that are fast.

Pods become ready when `Kubelets.start` says so, and not before: a test decides how far a rollout
gets.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.controllers import role
from mooring.model.document import Doc
from mooring.model.timestamp import to_seconds
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import DEPLOYMENTS, PODS, REPLICA_SETS, a_deployment
from tests.scenarios.neighbours import FOREVER, NO_OPTIONS, Cluster, Mortal


class Workloads(Cluster):
    """Deployments, and what becomes of them."""

    def __init__(self, api: ApiUnderTest) -> None:
        super().__init__(api)
        self.most_pods = 0

    @asynccontextmanager
    async def controllers(self, writes: int = FOREVER) -> AsyncIterator[Mortal]:
        clock, rng = self.api.clock, Random(1)  # noqa: S311  not for secrets
        in_process = InProcessApi(
            self.api.parts.backend, CONTROLLERS, check=self.api.parts.access.check
        )
        client = Mortal(LocalClient(in_process), writes)
        loops = role.build(
            Loops("controllers", client, clock, rng), NO_OPTIONS, ("replicaset", "deployment")
        )
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(loops.run())
            await self.settle()
            yield client
            running.cancel()

    async def deploy(self, **spec: Any) -> Doc:
        return await self.create(DEPLOYMENTS, a_deployment(**spec))

    async def set_image(self, image: str) -> Doc:
        template = {"spec": {"containers": [{"name": "c", "image": image}]}}
        return await self.patch(DEPLOYMENTS, "web", {"spec": {"template": template}})

    async def deployment(self) -> Doc:
        return await self.get(DEPLOYMENTS, "web")

    async def condition(self, kind: str) -> tuple[str, str, str]:
        conditions = (await self.deployment())["status"].get("conditions", [])
        found = {each["type"]: each for each in conditions}.get(kind)
        assert found is not None, conditions
        return found["status"], found["reason"], found["message"]

    async def sets(self) -> dict[str, Doc]:
        """Replica sets by the image of their template."""
        items = (await self.api.get(REPLICA_SETS)).doc["items"]
        return {each["spec"]["template"]["spec"]["containers"][0]["image"]: each for each in items}

    async def sizes(self) -> dict[str, int]:
        return {image: each["spec"]["replicas"] for image, each in (await self.sets()).items()}

    async def pods(self) -> list[Doc]:
        items: list[Doc] = (await self.api.get(PODS)).doc["items"]
        self.most_pods = max(self.most_pods, len(items))
        return items

    async def ready_pods(self) -> int:
        return sum(map(is_ready, await self.pods()))

    async def start(self, most: int = FOREVER) -> int:
        """So many pods become ready; how many did."""
        waiting = [pod for pod in await self.pods() if not is_ready(pod)][:most]
        for pod in waiting:
            await self.report(pod, ready=True)
        return len(waiting)

    async def report(self, pod: Doc, *, ready: bool) -> None:
        now = to_seconds(self.api.clock.now())
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": now}
        status = {"phase": "Running", "conditions": [condition]}
        await self.patch(PODS, pod["metadata"]["name"], {"status": status}, "/status")

    async def start_all(self, most: int = 100) -> None:
        """Until no pod waits any more."""
        for _ in range(most):
            if not await self.start(1):
                return
        raise AssertionError("pods never end to be made")


def is_ready(pod: Doc) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
