"""A whole node over an API in this process, with a node's rights, and mounts in memory only."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.user import node_user
from mooring.client.local import LocalClient
from mooring.node.options import NodeOptions
from mooring.node.role import NAME, NodeRole, build
from mooring.node.root import node_root
from mooring.reconcile.loops import Loops
from mooring.reconcile.merged_metrics import MergedMetrics
from tests.fakes.api import ApiUnderTest, make_pki, running_api
from tests.fakes.machine import machine_without_runtime
from tests.fakes.mounts import FakeMounts
from tests.fakes.objects import CONFIG_MAPS, PODS, a_config_map
from tests.fakes.waiting import until

Doc = dict[str, Any]
NODE = "n1"
COORDINATION = "coordination.k8s.io"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


class World:
    def __init__(self, api: ApiUnderTest, root: Path) -> None:
        self.api = api
        self.root = root.resolve()
        self.mounts = FakeMounts()

    @asynccontextmanager
    async def node(self) -> AsyncIterator[NodeRole]:
        """Runs while the context is entered."""
        parts, access = self.api.parts, self.api.parts.access
        local = InProcessApi(parts.backend, node_user(NODE), access.part_verbs, access.check)
        with node_root(self.root, self.mounts) as root:
            rng = random.Random(1)  # noqa: S311  no secret
            loops = Loops(NAME, LocalClient(local), self.api.clock, rng)
            role = build(loops, root, NodeOptions(NODE), machine_without_runtime(root))
            running = asyncio.create_task(role.run())
            try:
                await role.synced()
                await until(lambda: self.has("nodes", "", NODE))
                yield role
            finally:
                running.cancel()
                await asyncio.wait([running])

    async def create_pod(self, name: str, *volumes: Doc) -> Path:
        """Where it has its volumes."""
        mounts = [{"name": one["name"], "mountPath": f"/{one['name']}"} for one in volumes]
        container = {"name": "c", "image": "i", "volumeMounts": mounts}
        spec = {
            "nodeName": NODE,
            "automountServiceAccountToken": False,
            "containers": [container],
            "volumes": list(volumes),
        }
        made = await self.api.post(PODS, {"metadata": {"name": name}, "spec": spec})
        assert made.code == 201, made.text
        return self.root / "pods" / str(made.doc["metadata"]["uid"]) / "volumes"

    def has(self, plural: str, namespace: str, name: str, group: str = "") -> bool:
        objects = self.api.parts.backend.objects
        return objects.find(plural, namespace, name, group) is not None


@pytest.fixture
async def world(keys: Pki, tmp_path: Path) -> AsyncIterator[World]:
    async with running_api(keys, tmp_path / "api") as api:
        yield World(api, tmp_path / "node")


SCRATCH: Doc = {"name": "scratch", "emptyDir": {}}
SETTINGS: Doc = {"name": "settings", "configMap": {"name": "settings"}}


async def test_it_is_ready_and_says_what_it_has(world: World) -> None:
    def told() -> Doc:
        found = world.api.parts.backend.objects.find("nodes", "", NODE, "")
        return {} if found is None else dict(found)

    async with world.node():
        await until(lambda: told()["status"]["conditions"][-1]["reason"] == "KubeletReady")
        node = (await world.api.get(f"/api/v1/nodes/{NODE}")).doc
        assert node["status"]["capacity"]["pods"] == "110"
        await until(lambda: world.has("leases", "kube-node-lease", NODE, COORDINATION))


async def test_a_pods_volumes_come_change_and_go(world: World) -> None:
    await world.api.post(CONFIG_MAPS, a_config_map("settings", colour="blue"))
    async with world.node():
        volumes = await world.create_pod("p", SCRATCH, SETTINGS)
        colour = volumes / "kubernetes.io~configmap" / "settings" / "colour"
        await until(lambda: colour.exists() and colour.read_text() == "blue")
        await until((volumes / "kubernetes.io~empty-dir" / "scratch").is_dir)
        changed = a_config_map("settings", colour="red")
        assert (await world.api.put(f"{CONFIG_MAPS}/settings", changed)).code == 200
        await until(lambda: colour.read_text() == "red")

        await world.api.delete(f"{PODS}/p")
        await until(lambda: not world.has("pods", "default", "p"))
        assert not volumes.parent.exists()


async def test_what_is_there_when_it_stops_is_there_when_it_starts_again(world: World) -> None:
    async with world.node():
        volumes = await world.create_pod("p", SCRATCH)
        scratch = volumes / "kubernetes.io~empty-dir" / "scratch"
        await until(scratch.is_dir)
    (scratch / "file").touch()
    async with world.node() as node:
        shown = MergedMetrics(list(node.collectors()))
        await until(lambda: 'state="actual_state_of_world"} 1.0' in _page(shown))
        assert (scratch / "file").exists()


async def test_what_a_pod_left_that_is_gone_is_swept_up(world: World) -> None:
    async with world.node():
        volumes = await world.create_pod("p", SCRATCH)
        await until((volumes / "kubernetes.io~empty-dir" / "scratch").is_dir)
    await world.api.delete(f"{PODS}/p?gracePeriodSeconds=0")
    async with world.node():
        await until(lambda: not volumes.parent.exists())


def _page(shown: MergedMetrics) -> str:
    registry = CollectorRegistry()
    registry.register(shown)
    return generate_latest(registry).decode()
