"""An API in this process on the in-memory store, with real time, and roles on it as in `up`.

What is measured is processor time of this one process: the API, the roles and nothing else.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.pki import open_pki
from mooring.apiserver.auth.tokens import open_role_tokens
from mooring.apiserver.auth.user import CONTROLLERS, SCHEDULER
from mooring.apiserver.server import Parts, assemble
from mooring.apiserver.store.memory import MemoryStore
from mooring.client.local import LocalClient
from mooring.clock import RealClock
from mooring.controllers import role as controllers
from mooring.controllers.options import Options, recycling_for
from mooring.model.document import Doc
from mooring.model.meta import ApiObject
from mooring.plugins.host_path.provision import HostPathProvisioning
from mooring.plugins.host_path.volumes import HostPathPlugin
from mooring.reconcile.loops import Loops
from mooring.reconcile.role import Role
from mooring.reconcile.shared_informer import SharedInformers
from mooring.scheduling import role as scheduling
from mooring.stack.frozen_caches import gc_frozen

Row = tuple[str, str, str]

HOSTNAME = "kubernetes.io/hostname"


class Cluster:
    """`create` writes as a user does; `roles` builds and runs roles that share their informers."""

    def __init__(self, parts: Parts) -> None:
        self.backend = parts.backend
        self.store = parts.backend.store
        self.clock = RealClock()
        self.client = LocalClient(InProcessApi(parts.backend, CONTROLLERS))
        self._rng = random.Random(1)  # noqa: S311  the same every time

    async def create(self, kind: type[ApiObject], docs: Iterable[Doc]) -> None:
        for doc in docs:
            status = doc.pop("status", None)
            made = await self.client.create(kind, doc)
            if status is not None:
                await self.client.patch_both(made, {}, status)

    @asynccontextmanager
    async def roles(self, *chosen: str) -> AsyncIterator[None]:
        """The scheduler, and these controllers."""
        informers = SharedInformers(self.client, self.clock, self._rng)
        options = Options(
            HostPathPlugin(Path(tempfile.gettempdir()), HostPathProvisioning.OFF),
            recycling_for(host_rootfs=False),
        )
        scheduler = LocalClient(InProcessApi(self.backend, SCHEDULER))
        shared = self.clock, self._rng, informers
        built: list[Role] = [
            informers,
            controllers.build(Loops(controllers.NAME, self.client, *shared), options, chosen),
            scheduling.build(Loops(scheduling.NAME, scheduler, *shared)),
        ]
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(role.run()) for role in built]
            try:
                async with gc_frozen(built, self.clock):
                    for role in built:
                        await role.synced()
                    yield
            finally:
                for task in running:
                    task.cancel()


@asynccontextmanager
async def cluster() -> AsyncIterator[Cluster]:
    clock = RealClock()
    store = MemoryStore(clock)
    rng = random.Random(7)  # noqa: S311  the same names and uids every time
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as directory:
        pki = open_pki(Path(directory), now=clock.now(), host_name="bench")
        tokens = open_role_tokens(Path(directory) / "tokens.json")
        parts = assemble(store, clock, rng, pki, tokens, "127.0.0.1:6443")
        parts.nodes.start()
        parts.definitions.start()
        await parts.namespaces.create_first()
        async with asyncio.TaskGroup() as tasks:
            owned = [
                tasks.create_task(part.run())
                for part in (parts.definitions, parts.namespaces, parts.garbage, parts.events)
            ]
            try:
                yield Cluster(parts)
            finally:
                for task in owned:
                    task.cancel()
        await store.close()


class Spent:
    """Processor time and wall time since it was made."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.monotonic()

    @property
    def cpu(self) -> float:
        return time.process_time() - self._cpu

    @property
    def wall(self) -> float:
        return time.monotonic() - self._wall


async def pause(seconds: float) -> None:
    await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=seconds)


# documents


def a_node(name: str, labels: Mapping[str, str] | None = None) -> Doc:
    return {
        "metadata": {"name": name, "labels": {HOSTNAME: name, **(labels or {})}},
        "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"}},
    }


def a_class(name: str) -> Doc:
    return {
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def a_claim(name: str, storage_class: str = "local", size: str = "1Gi") -> Doc:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": size}},
        },
    }


def a_volume(name: str, node: str, storage_class: str = "local", size: str = "1Gi") -> Doc:
    wanted = {"key": HOSTNAME, "operator": "In", "values": [node]}
    return {
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": f"/mnt/{name}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}},
        },
    }


def a_pod(name: str, claim: str = "") -> Doc:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
    return {
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "bench"}},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "none",
                    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                }
            ],
            "volumes": [volume] if claim else [],
        },
    }
