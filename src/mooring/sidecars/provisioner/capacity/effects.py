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
from mooring.model.csi_node import CsiNode
from mooring.model.document import Doc
from mooring.model.keys import Key
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
from mooring.sidecars.provisioner.options import AS_UPSTREAM

MANAGER: Final = "external-provisioner"
NAME_PREFIX: Final = "csisc-"
MOST_CHARACTERS: Final = 63


class Effects:
    def __init__(
        self,
        client: Client,
        driver: Driver,
        drivers: Informer[CsiDriver],
        known: Informer[StorageCapacity],
        namespace: str,
    ) -> None:
        self._client = client
        self._driver = driver
        self._drivers = drivers
        self._known = known
        self._namespace = namespace
        self._manager = manager_of(driver.node_name)

    async def ask(self, storage_class: StorageClass, pair: Pair) -> Room:
        """Raises: NotNow when the driver does not answer."""
        place = Topology(dict(pair.segments)) if pair.segments else None
        outcome = await self._driver.calls.get_capacity(
            parameters=storage_class.parameters, topology=place, within=AS_UPSTREAM.call_seconds
        )
        if not isinstance(outcome, Done):
            raise NotNow(outcome.text)
        told = outcome.value
        largest = told.maximum_volume_bytes
        return Room(
            quantity.from_bytes(told.available_bytes),
            None if largest is None else quantity.from_bytes(largest),
        )

    async def perform(self, plan: Plan) -> None:
        """Raises: ApiError, ConnectionLost, NotNow."""
        for step in plan.steps:
            with suppress(NotFound):
                await self._perform(step)

    async def _perform(self, step: Step) -> None:
        match step:
            case CreateCapacity(pair, room):
                doc = self._document(pair, room, await self._find_owner())
                self._known.fold(await self._client.create(StorageCapacity, doc))
            case UpdateCapacity(known, room):
                self._known.fold(await self._client.patch(known, _amounts(room)))
            case DeleteCapacity(known):
                await self._client.delete(known)
            case other:
                assert_never(other)

    async def _find_owner(self) -> CsiDriver | CsiNode | None:
        """The object with which the capacity goes, also when this sidecar is gone."""
        node = self._driver.node_name
        if not node:
            return self._drivers.get(Key("", self._driver.name))
        try:
            return await self._client.get(CsiNode, Key("", node))
        except NotFound as error:
            raise NotNow(f"the node is not registered yet: {error}") from error

    def _document(self, pair: Pair, room: Room, owner: CsiDriver | CsiNode | None) -> Doc:
        metadata: Doc = {
            "generateName": NAME_PREFIX,
            "namespace": self._namespace,
            "labels": {
                Label.CAPACITY_DRIVER: self._driver.name,
                Label.CAPACITY_MANAGED_BY: self._manager,
            },
        }
        if owner is not None:
            kind = owner.resource
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


def manager_of(own_node: str) -> str:
    """The value of a label, shortened as upstream does it: both see the same objects as theirs."""
    if not own_node:
        return MANAGER
    whole = f"{MANAGER}-{own_node}"
    if len(whole) <= MOST_CHARACTERS:
        return whole
    left = MOST_CHARACTERS - len("-12345678-") - len(own_node)
    if left <= 0:
        return f"{MANAGER}-{_fnv1a(whole):08x}"
    return f"{MANAGER[:left]}-{_fnv1a(MANAGER):08x}-{own_node}"


def _fnv1a(text: str) -> int:
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 % (1 << 32)
    return value


def _amounts(room: Room) -> Doc:
    return {
        "capacity": str(room.capacity),
        "maximumVolumeSize": None if room.largest is None else str(room.largest),
    }
