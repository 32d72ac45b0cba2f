"""Asking a driver for room, and telling of it."""

from contextlib import suppress
from typing import Final, assert_never

import msgspec

from mooring.client.contract import Client
from mooring.csi.outcome import Done
from mooring.csi.topology import Topology
from mooring.errors import NotFound
from mooring.model import quantity
from mooring.model.csi_driver import CsiDriver
from mooring.model.document import Doc
from mooring.model.meta import OwnerReference
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.wellknown import Label
from mooring.reconcile.apply import NotNow
from mooring.reconcile.informer import Informer
from mooring.sidecars.driver import Driver
from mooring.sidecars.provisioner.capacity.plan import (
    CreateCapacity,
    DeleteCapacity,
    Pair,
    Plan,
    Room,
    Step,
    UpdateCapacity,
)

MANAGER: Final = "external-provisioner"
NAME_PREFIX: Final = "csisc-"


class Effects:
    def __init__(
        self,
        client: Client,
        driver: Driver,
        known: Informer[StorageCapacity],
        namespace: str,
        call_seconds: float,
    ) -> None:
        self._client = client
        self._driver = driver
        self._known = known
        self._namespace = namespace
        self._call_seconds = call_seconds

    async def ask(self, storage_class: StorageClass, pair: Pair) -> Room:
        """Raises: NotNow when the driver does not answer."""
        place = Topology(dict(pair.segments)) if pair.segments else None
        outcome = await self._driver.calls.get_capacity(
            parameters=storage_class.parameters, topology=place, within=self._call_seconds
        )
        if not isinstance(outcome, Done):
            raise NotNow(outcome.text)
        told = outcome.value
        largest = told.maximum_volume_bytes
        return Room(
            quantity.from_bytes(told.available_bytes),
            None if largest is None else quantity.from_bytes(largest),
        )

    async def perform(self, plan: Plan, owner: CsiDriver | None) -> None:
        """Raises: ApiError, ConnectionLost."""
        for step in plan.steps:
            with suppress(NotFound):
                await self._perform(step, owner)

    async def _perform(self, step: Step, owner: CsiDriver | None) -> None:
        match step:
            case CreateCapacity(pair, room):
                doc = self._document(pair, room, owner)
                self._known.fold(await self._client.create(StorageCapacity, doc))
            case UpdateCapacity(known, room):
                self._known.fold(await self._client.patch(known, _amounts(room)))
            case DeleteCapacity(known):
                await self._client.delete(known)
            case other:
                assert_never(other)

    def _document(self, pair: Pair, room: Room, owner: CsiDriver | None) -> Doc:
        metadata: Doc = {
            "generateName": NAME_PREFIX,
            "namespace": self._namespace,
            "labels": {
                Label.CAPACITY_DRIVER: self._driver.name,
                Label.CAPACITY_MANAGED_BY: MANAGER,
            },
        }
        if owner is not None:  # deleted with the driver's pod, also when this sidecar is gone
            kind = CsiDriver.resource
            reference = OwnerReference(kind.api_version, kind.kind, owner.name, owner.uid)
            metadata["ownerReferences"] = [msgspec.to_builtins(reference)]
        amounts = {key: value for key, value in _amounts(room).items() if value is not None}
        return {
            "apiVersion": StorageCapacity.resource.api_version,
            "kind": StorageCapacity.resource.kind,
            "metadata": metadata,
            "storageClassName": pair.class_name,
            "nodeTopology": {"matchLabels": dict(pair.segments)} if pair.segments else {},
            **amounts,
        }


def _amounts(room: Room) -> Doc:
    return {
        "capacity": str(room.capacity),
        "maximumVolumeSize": None if room.largest is None else str(room.largest),
    }
