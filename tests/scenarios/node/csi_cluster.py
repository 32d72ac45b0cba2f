"""A node with a CSI driver that mounts in memory, and that can be cut in the middle of a call."""

import asyncio
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from google.protobuf.message import Message

from mooring.client.contract import Client
from mooring.csi.channel import Method
from mooring.csi.outcome import Outcome
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.plugins.csi.attachment_name import CsiName, attachment_name
from mooring.plugins.csi.drivers import Drivers
from mooring.plugins.csi.plugin import CsiPlugin
from mooring.plugins.registry import Registry, built_in
from mooring.plugins.volume_host import Host
from tests.fakes.api import ApiUnderTest
from tests.fakes.csi_played import MountingState, PlayedConnection, registered
from tests.fakes.objects import ATTACHMENTS, NODES
from tests.scenarios.node.cluster import NODE, Cluster
from tests.unit.plugins.csi.world import DRIVER, HANDLE, PlayedDriverObjects

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)
T = TypeVar("T")


class Cut(Enum):
    BEFORE = "before the driver does it"
    AFTER = "after the driver did it"


class CutConnection(PlayedConnection):
    """Never comes back from the n-th call that changes something."""

    cut: tuple[int, Cut] | None = None
    was_cut = False
    _count = 0

    def arm(self, cut: tuple[int, Cut] | None) -> None:
        self.cut, self.was_cut, self._count = cut, False, 0

    async def call(
        self,
        method: Method[Q, R],
        build: Callable[[], Q],
        read: Callable[[R], T],
        *,
        within: float,
        secrets: Secrets = NO_SECRETS,
    ) -> Outcome[T]:
        is_change = not method.name.startswith("NodeGet")
        self._count += is_change
        is_cut = is_change and self.cut is not None and self._count == self.cut[0]
        if is_cut and self.cut is not None:
            self.was_cut = True
            if self.cut[1] is Cut.AFTER:
                await super().call(method, build, read, within=within, secrets=secrets)
            await asyncio.Event().wait()
        return await super().call(method, build, read, within=within, secrets=secrets)


class CsiCluster(Cluster):
    def __init__(self, api: ApiUnderTest, root: Path) -> None:
        super().__init__(api, root)
        self.state = MountingState(mounts=self.mounts, backing=root / "backing")
        self.connection = CutConnection(self.state)
        self.drivers: Drivers = registered(self.connection)
        self.objects = PlayedDriverObjects()

    def plugins(self, host: Host, client: Client) -> Registry:
        return built_in(host, csi=CsiPlugin(host, client, self.drivers, self.objects))

    async def a_volume(self, mode: str = "Filesystem", **spec: Any) -> None:
        has = {
            "hostPath": None,
            "csi": {"driver": DRIVER, "volumeHandle": HANDLE, "fsType": "ext4"},
            "volumeMode": mode,
            "accessModes": ["ReadWriteOnce"],
        }
        await self.bound(**(has | spec))

    async def attach(self, *volumes: str) -> None:
        """As the attacher and the controller do it."""
        name = attachment_name(HANDLE, DRIVER, NODE)
        spec = {
            "attacher": DRIVER,
            "nodeName": NODE,
            "source": {"persistentVolumeName": "disk"},
        }
        await self.create(ATTACHMENTS, {"metadata": {"name": name}, "spec": spec})
        await self.patch(ATTACHMENTS, name, {"status": {"attached": True}}, "/status")
        attached = [{"name": CsiName(DRIVER, HANDLE).unique, "devicePath": ""}]
        await self.patch(NODES, NODE, {"status": {"volumesAttached": attached}}, "/status")

    def kept(self) -> tuple[int, int]:
        """How often the driver has a volume staged, and published."""
        return len(self.state.stages), len(self.state.publishes)

    def files(self) -> list[str]:
        """What is on disk of volumes."""
        root = self.layout.root
        places = (self.layout.pods, self.layout.plugins)
        found = [path for place in places for path in place.rglob("*") if not path.is_dir()]
        return sorted(str(path.relative_to(root)) for path in found)
