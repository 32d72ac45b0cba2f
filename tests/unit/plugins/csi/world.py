"""A node with one CSI driver, both played; and volumes of it."""

import asyncio
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mooring.host.contract import MountOps
from mooring.model.attachment import Attachment
from mooring.model.csi_driver import CsiDriver
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.pod_volume import InlineCsiSource, PodVolume
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import CsiSource
from mooring.model.volume_use import VolumeUse
from mooring.model.wire import read_document
from mooring.plugins.csi.attachment_name import attachment_name
from mooring.plugins.csi.plugin import CsiPlugin
from mooring.plugins.volume_host import Host
from mooring.testing.csi_state import CsiState
from tests.fakes.client import FakeClient
from tests.fakes.csi_played import MountingState, PlayedConnection, registered
from tests.fakes.fake_server import FakeServer
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.objects import PlayedApi
from tests.unit.plugins.world import a_host, a_pod

DRIVER = CsiState.name
HANDLE = "vol-1"
NODE = "n1"
POD = a_pod()
CONTEXT = {"device": "/dev/fake"}


class PlayedDriverObjects:
    """CSIDriver objects by name."""

    def __init__(self) -> None:
        self.synced = asyncio.Event()
        self.synced.set()
        self.by_name: dict[str, CsiDriver] = {}

    def get(self, key: Key) -> CsiDriver | None:
        return self.by_name.get(key.name)

    def define(self, **spec: Any) -> None:
        doc = {"metadata": {"name": DRIVER}, "spec": spec}
        self.by_name[DRIVER] = read_document(doc, CsiDriver)


def a_persistent_use(
    *modes: AccessMode, read_only: bool = False, mode: VolumeMode | None = None, **source: Any
) -> VolumeUse:
    csi = CsiSource(DRIVER, source.pop("handle", HANDLE), **({"fs_type": "ext4"} | source))
    spec = VolumeSpec(
        csi=csi,
        access_modes=modes or (AccessMode.ONCE,),
        volume_mode=mode or VolumeMode.FILESYSTEM,
        mount_options=("noatime",),
    )
    volume = Volume(metadata=ObjectMeta(name="pv1"), spec=spec)
    return VolumeUse(volume=volume, read_only=read_only)


def an_inline_use(**source: Any) -> VolumeUse:
    return VolumeUse(inline=PodVolume(name="scratch", csi=InlineCsiSource(DRIVER, **source)))


class CsiWorld:
    """`restart` gives a plugin that knows only the disk; the driver and the API stay."""

    def __init__(self, root: Path, mounts: MountOps | None = None) -> None:
        self.mounts = mounts or FakeMounts()
        self.state = MountingState(mounts=self.mounts, backing=root / "backing")
        self.connection = PlayedConnection(self.state)
        self.drivers = registered(self.connection)
        self.objects = PlayedDriverObjects()
        self.api = PlayedApi()
        self.host = replace(a_host(root, self.mounts), objects=self.api)
        self.server = FakeServer(self.host.clock)
        self.plugin = self.make_plugin(self.host)
        self.host.layout.volumes(POD.uid).mkdir(parents=True, exist_ok=True)

    def make_plugin(self, host: Host) -> CsiPlugin:
        client = FakeClient(self.server, host.clock)
        return CsiPlugin(host, client, self.drivers, self.objects)

    def restart(self) -> None:
        self.plugin = self.make_plugin(self.host)

    def attach(self, handle: str = HANDLE, **status: Any) -> str:
        """As the attacher does it."""
        name = attachment_name(handle, DRIVER, NODE)
        told = {"attached": True, "attachmentMetadata": CONTEXT} | status
        doc = {
            "metadata": {"name": name},
            "spec": {
                "attacher": DRIVER,
                "nodeName": NODE,
                "source": {"persistentVolumeName": "pv1"},
            },
            "status": told,
        }
        self.server.create(Attachment, doc)
        return name
