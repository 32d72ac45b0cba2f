"""A whole node with a CSI driver on a real socket: it registers, its volumes come and go."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.user import node_user
from mooring.apiserver.in_process import InProcessApi
from mooring.client.local import LocalClient
from mooring.csi.proto import csi_pb2 as pb
from mooring.csi.registration import (
    CSI_PLUGIN,
    OFFERED_VERSIONS,
    Plugin,
    RegistrationStatus,
    offering,
    registration_socket,
)
from mooring.oci.probe import NoRuntime
from mooring.plugins.csi.attachment_name import CsiName, attachment_name
from mooring.stack.node import NodeRole, Place
from mooring.stack.node_root import node_root
from mooring.stack.pods import Terms
from tests.fakes.api import ApiUnderTest, make_pki, running_api
from tests.fakes.csi_driver import FakeCsiDriver
from tests.fakes.mounts import FakeMounts
from tests.fakes.objects import (
    CLAIMS,
    NODES,
    PODS,
    VOLUMES,
    a_claim,
    a_volume,
)
from tests.fakes.waiting import until

Doc = dict[str, Any]
NODE = "n1"
DRIVER = "fake.csi.mooring.dev"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
CSI_NODE = f"/apis/storage.k8s.io/v1/csinodes/{NODE}"
UNIQUE = CsiName(DRIVER, "vol-1").unique
LIFE = ["NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume"]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


class World:
    def __init__(self, api: ApiUnderTest, root: Path, driver: FakeCsiDriver) -> None:
        self.api = api
        self.root = root.resolve()
        self.driver = driver
        self.mounts = FakeMounts()
        self.told: list[RegistrationStatus] = []

    @asynccontextmanager
    async def node(self) -> AsyncIterator[NodeRole]:
        parts, access = self.api.parts, self.api.parts.access
        local = InProcessApi(parts.backend, node_user(NODE), access.part_verbs, access.check)
        with node_root(self.root, self.mounts) as root:
            place = Place(NODE, root.layout, self.mounts)
            chance = random.Random(1)  # noqa: S311  no secret
            role = NodeRole(
                LocalClient(local), self.api.clock, chance, place, Terms(), NoRuntime("none")
            )
            running = asyncio.create_task(role.run())
            try:
                await role.synced()
                yield role
            finally:
                running.cancel()
                await asyncio.wait([running])

    @asynccontextmanager
    async def registrar(self) -> AsyncIterator[None]:
        """As the driver's own registrar; entered when the driver is registered."""
        socket = registration_socket(self.root / "plugins_registry", DRIVER)
        plugin = Plugin(CSI_PLUGIN, DRIVER, str(self.driver.socket), OFFERED_VERSIONS)
        count = len(self.told)
        async with offering(socket, plugin, self.told.append):
            await until(lambda: len(self.told) > count)
            yield

    async def create(self, path: str, doc: Doc) -> Doc:
        made = await self.api.post(path, doc)
        assert made.code == 201, made.text
        return made.doc

    async def a_claimed_volume(self, **spec: Any) -> None:
        csi = {"driver": DRIVER, "volumeHandle": "vol-1", "fsType": "ext4"}
        claim = await self.create(CLAIMS, a_claim("data", volumeName="disk", storageClassName=""))
        reference = {
            "namespace": "default",
            "name": "data",
            "uid": claim["metadata"]["uid"],
        }
        has = {"csi": csi, "accessModes": ["ReadWriteOnce"], "claimRef": reference} | spec
        await self.create(VOLUMES, a_volume("disk", "1Gi", **has))
        status = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
        done = await self.api.patch(f"{CLAIMS}/data/status", status)
        assert done.code == 200, done.text

    async def a_pod(self, *volumes: Doc, **container: Any) -> str:
        """Its uid."""
        mounts = [{"name": one["name"], "mountPath": f"/{one['name']}"} for one in volumes]
        has = {"name": "c", "image": "i", "volumeMounts": mounts} | container
        spec = {
            "nodeName": NODE,
            "automountServiceAccountToken": False,
            "containers": [has],
            "volumes": list(volumes),
        }
        made = await self.create(PODS, {"metadata": {"name": "web"}, "spec": spec})
        return str(made["metadata"]["uid"])

    async def attach(self) -> None:
        """As the attacher and the attach/detach controller do it."""
        spec = {
            "attacher": DRIVER,
            "nodeName": NODE,
            "source": {"persistentVolumeName": "disk"},
        }
        name = attachment_name("vol-1", DRIVER, NODE)
        await self.create(ATTACHMENTS, {"metadata": {"name": name}, "spec": spec})
        status: Doc = {"attached": True, "attachmentMetadata": {"device": "/dev/x"}}
        done = await self.api.patch(f"{ATTACHMENTS}/{name}/status", {"status": status})
        assert done.code == 200, done.text
        status = {"volumesAttached": [{"name": UNIQUE, "devicePath": ""}]}
        done = await self.api.patch(f"{NODES}/{NODE}/status", {"status": status})
        assert done.code == 200, done.text

    async def gone(self, pod: str = "web") -> None:
        await self.api.delete(f"{PODS}/{pod}")
        objects = self.api.parts.backend.objects
        await until(lambda: objects.find("pods", "default", pod, "") is None)


@pytest.fixture
async def world(keys: Pki, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    place = tmp_path_factory.mktemp("n")  # short: a socket's path must be
    async with (
        running_api(keys, place / "api") as api,
        FakeCsiDriver(place / "csi.sock") as driver,
    ):
        yield World(api, place / "node", driver)


CLAIMED: Doc = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


async def test_a_volume_is_staged_published_and_taken_back(world: World) -> None:
    await world.a_claimed_volume()
    async with world.node(), world.registrar():
        assert world.told == [RegistrationStatus(registered=True)]
        uid = await world.a_pod(CLAIMED)
        await world.attach()
        await world.driver.arrived("NodePublishVolume")
        stage = world.driver.requests("NodeStageVolume")[0]
        publish = world.driver.requests("NodePublishVolume")[0]
        assert isinstance(stage, pb.NodeStageVolumeRequest)
        assert isinstance(publish, pb.NodePublishVolumeRequest)
        assert dict(stage.publish_context) == {"device": "/dev/x"}
        assert publish.staging_target_path == stage.staging_target_path
        volumes = world.root / "pods" / uid / "volumes"
        assert publish.target_path == str(volumes / "kubernetes.io~csi/disk/mount")
        await world.gone()
        await world.driver.arrived("NodeUnstageVolume")
        assert world.driver.rpcs() == LIFE
        assert (world.driver.state.stages, world.driver.state.publishes) == ({}, {})
