"""The fake CSI drivers of a cluster, and the sidecars that work for them."""

from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.csi.channel import Connection, Observer
from mooring.errors import AlreadyExists
from mooring.model.csi_driver import CsiDriver
from mooring.model.document import Doc
from mooring.model.snapshot import SnapshotClass
from mooring.model.storage_class import StorageClass
from mooring.model.wellknown import Annotation
from mooring.reconcile.loops import Loops
from mooring.sidecars.options import SidecarOptions
from mooring.sidecars.role import SidecarsRole
from mooring.testing.errors import ClusterError
from mooring.testing.fake_driver import FakeDriver

NAME: Final = "fake-drivers"


class FakeDrivers:
    """All of one cluster; `role` runs their sidecars."""

    def __init__(self, client: Client, clock: Clock, rng: Random) -> None:
        self._client = client
        self._clock = clock
        self._by_name: dict[str, FakeDriver] = {}
        loops = Loops(NAME, client, clock, rng)
        self.role = SidecarsRole(loops, SidecarOptions(), connect=self._connect)

    def names(self) -> list[str]:
        return list(self._by_name)

    def get(self, name: str) -> FakeDriver:
        """Raises: ClusterError."""
        if name not in self._by_name:
            raise ClusterError(f"there is no fake CSI driver {name!r}: add_csi_driver makes one")
        return self._by_name[name]

    async def add(self, name: str, storage_class: str, *, is_default: bool) -> None:
        """After: claims of the class are provisioned. Raises: ClusterError, ApiError."""
        if name in self._by_name:
            raise ClusterError(f"there is a fake CSI driver {name!r} already")
        self._by_name[name] = FakeDriver(name, self._clock)
        with suppress(AlreadyExists):
            await self._client.create(CsiDriver, {"metadata": {"name": name}, "spec": {}})
        if storage_class:
            await self._make_classes(name, storage_class, is_default=is_default)
        self.role.add(name, name)

    async def _make_classes(self, driver: str, name: str, *, is_default: bool) -> None:
        annotations = {Annotation.DEFAULT_CLASS: "true"} if is_default else {}
        metadata: Mapping[str, object] = {"name": name, "annotations": annotations}
        claims: Doc = {
            "metadata": metadata,
            "provisioner": driver,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate",
            "allowVolumeExpansion": True,
        }
        snapshots: Doc = {
            "metadata": {"name": name},
            "driver": driver,
            "deletionPolicy": "Delete",
        }
        try:
            await self._client.create(StorageClass, claims)
            await self._client.create(SnapshotClass, snapshots)
        except AlreadyExists:
            raise ClusterError(f"there is a class {name!r} already: choose another") from None

    def _connect(
        self, endpoint: str, _driver: str, _observer: Observer, _clock: Clock
    ) -> Connection:
        return self.get(endpoint).connect()
