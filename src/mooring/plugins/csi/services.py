"""What every step of a CSI volume needs: its driver, what the API says of it, secrets, time."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.csi import outcome
from mooring.csi.capability import NodeCapability
from mooring.csi.node import Node
from mooring.csi.outcome import Done, Outcome
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.errors import ApiError, ConnectionLost
from mooring.model.attachment import Attachment
from mooring.model.csi_driver import CsiDriver, CsiDriverSpec
from mooring.model.keys import Key
from mooring.model.reference import SecretReference
from mooring.model.volume_source import CsiSource
from mooring.plugins.contract import NotStarted, NotUpYet, Uncertain, VolumeError
from mooring.plugins.csi.attachment_name import attachment_name
from mooring.plugins.csi.drivers import Drivers
from mooring.plugins.csi.paths import CsiPaths
from mooring.plugins.csi.records import Records
from mooring.plugins.csi.source import csi_message
from mooring.plugins.volume_host import Host

OPERATION_SECONDS = 120.0
"""For all calls of one operation together."""

STARTING_SECONDS = 5.0
"""Of a node, in which its drivers register."""

UNDEFINED = CsiDriverSpec()
"""What holds for a driver without a CSIDriver object, but for inline volumes."""


class DriverObjects(Protocol):
    """The CSIDriver objects of the cluster: an informer."""

    @property
    def synced(self) -> asyncio.Event: ...

    def get(self, key: Key) -> CsiDriver | None: ...


class Budget:
    """The seconds that are left for an operation."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._end = clock.monotonic() + OPERATION_SECONDS

    @property
    def left(self) -> float:
        return self._end - self._clock.monotonic()


class Services:
    def __init__(
        self, host: Host, client: Client, drivers: Drivers, objects: DriverObjects
    ) -> None:
        self.host = host
        self.drivers = drivers
        self.paths = CsiPaths(host.layout)
        self.records = Records(host.mounts)
        self._client = client
        self._objects = objects
        self._since = host.clock.monotonic()

    def budget(self) -> Budget:
        return Budget(self.host.clock)

    def node(self, driver: str, during: str) -> Node:
        """Raises: NotStarted while the driver is not registered; at first, NotUpYet."""
        try:
            return self.drivers.get(driver).node
        except NotStarted as error:
            is_early = self.host.clock.monotonic() - self._since < STARTING_SECONDS
            kind = NotUpYet if is_early else NotStarted
            raise kind(csi_message(f"{during}: {error}")) from error

    async def capabilities(
        self, node: Node, budget: Budget, during: str
    ) -> frozenset[NodeCapability]:
        """Raises: NotStarted; nothing depends on an answer that did not come."""
        told = await node.capabilities(within=budget.left)
        if not isinstance(told, Done):
            raise NotStarted(csi_message(f"{during}: {told.text}"))
        return told.value

    # what the API says

    def find_object(self, driver: str) -> CsiDriver | None:
        """Raises: NotStarted while that is not known."""
        if not self._objects.synced.is_set():
            raise NotStarted("the CSIDriver objects of the cluster are not known yet")
        return self._objects.get(Key("", driver))

    def spec(self, driver: str) -> CsiDriverSpec:
        """Raises: NotStarted."""
        found = self.find_object(driver)
        return UNDEFINED if found is None else found.spec

    async def attachment(self, source: CsiSource, node: str = "") -> Attachment:
        """Of the volume to a node, this one by default. Raises: ApiError, ConnectionLost."""
        name = attachment_name(source.volume_handle, source.driver, node or self.host.node_name)
        return await self._client.get(Attachment, Key("", name))

    async def publish_context(self, source: CsiSource, during: str) -> Mapping[str, str]:
        """The publish context of the attachment. Raises: NotStarted."""
        try:
            if not self.spec(source.driver).attach_required:
                return {}
            return (await self.attachment(source)).status.attachment_metadata
        except (ApiError, ConnectionLost, NotStarted) as error:
            raise NotStarted(f"{during}{error}") from error

    async def secrets(self, reference: SecretReference | None, called: str) -> Secrets:
        """Raises: NotStarted; a secret that is missing may come."""
        if reference is None:
            return NO_SECRETS
        name, namespace = reference.name, reference.namespace
        try:
            found = await self.host.objects.secret(Key(namespace, name))
        except (ApiError, ConnectionLost) as error:
            why = f"failed to find the secret {name} in the namespace {namespace} with error: "
            text = f"fetching {called} {namespace}/{name} failed: {csi_message(why)}{error}"
            raise NotStarted(text) from error
        return Secrets(found.data)


def failure_of_undoing(told: Outcome[None], during: str) -> VolumeError | None:
    """What to raise for a call that undoes: whatever went wrong, it is not known to be undone."""
    if isinstance(told, outcome.Refused | outcome.Uncertain):
        return Uncertain(csi_message(f"{during}: {told.text}"))
    return None
