"""Telling the API which drivers this node has: in the annotations and labels of its Node, and in
its CSINode. One change at a time; a lost race is run again."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Protocol

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.csi.requests import NodeInfo
from mooring.errors import ApiError, ConnectionLost, MooringError, NotFound
from mooring.model.backoff import Backoff
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.node.registration import documents

TRIES = 4
AGAIN = Backoff(first=0.01, cap=1.0, factor=5.0, jitter=0.1)

_log = log.get("mooring.node.registration")


class NotAnnounced(MooringError):
    """The API did not take it, or what is there contradicts it."""


class ReadableNode(Protocol):
    """`own_node.WatchedNode`."""

    @property
    def name(self) -> str: ...

    async def read(self) -> Node: ...


class Announcer:
    def __init__(self, client: Client, own_node: ReadableNode, clock: Clock, rng: Random) -> None:
        self._client = client
        self._own_node = own_node
        self._clock = clock
        self._rng = rng
        self._turn = asyncio.Lock()

    async def prepare(self) -> None:
        """See to it that there is a CSINode, owned by the Node. Raises: NotAnnounced."""
        await self._repeat("error updating CSINode", self._csi_node)

    async def install(self, driver: str, info: NodeInfo) -> None:
        """Raises: NotAnnounced; a contradiction leaves the CSINode without the driver."""
        await self._repeat(
            "error updating Node object with CSI driver node info",
            lambda: self._change_node(driver, info),
        )
        await self.update(driver, info)

    async def update(self, driver: str, info: NodeInfo) -> None:
        """The CSINode alone. Raises: NotAnnounced."""
        await self._repeat(
            "error updating CSINode object with CSI driver node info",
            lambda: self._enter(driver, info),
        )

    async def uninstall(self, driver: str) -> None:
        """Raises: NotAnnounced."""
        await self._repeat(
            "error uninstalling CSI driver from CSINode object", lambda: self._strike(driver)
        )
        await self._repeat(
            "error removing CSI driver node info from Node object",
            lambda: self._change_node(driver, None),
        )

    async def _repeat(self, failed: str, act: Callable[[], Awaitable[object]]) -> None:
        for number in range(1, TRIES + 1):
            try:
                async with self._turn:
                    await act()
            except (ApiError, ConnectionLost) as error:
                if number == TRIES:
                    raise NotAnnounced(f"{failed}: {error}") from error
            except documents.Contradiction as error:
                raise NotAnnounced(f"{failed}: {error}") from error
            else:
                return
            await self._clock.sleep(AGAIN.delay(number, self._rng.random()))

    async def _change_node(self, driver: str, info: NodeInfo | None) -> None:
        node = await self._own_node.read()
        if info is None:
            change = documents.node_removal(node, driver)
        else:
            change = documents.node_change(node, driver, info)
        status = documents.status_change(node, driver)
        if change or status:
            await self._client.patch_both(node, change, status)

    async def _enter(self, driver: str, info: NodeInfo) -> None:
        wanted, csi_node = documents.entry(driver, info), await self._csi_node()
        if documents.is_entered(csi_node, wanted):
            return
        if documents.must_be_replaced(csi_node.find_driver(driver), wanted):
            csi_node = await self._client.patch(
                csi_node, documents.drivers_without(csi_node, driver)
            )
        await self._client.patch(csi_node, documents.drivers_with(csi_node, wanted))

    async def _strike(self, driver: str) -> None:
        try:
            csi_node = await self._client.get(CsiNode, self._key)
        except NotFound:
            return
        if csi_node.find_driver(driver) is not None:
            await self._client.patch(csi_node, documents.drivers_without(csi_node, driver))

    async def _csi_node(self) -> CsiNode:
        """This Node's; made if need be. What an earlier Node of the name has left goes."""
        node = await self._own_node.read()
        try:
            found = await self._client.get(CsiNode, self._key)
        except NotFound:
            return await self._client.create(CsiNode, documents.creation(node))
        if documents.is_owned_by(found, node):
            change = documents.migrated_change(found)
            return await self._client.patch(found, change) if change else found
        _log.info("the CSINode of an earlier node is replaced", node=node.name)
        await self._client.delete(found)
        return await self._client.create(CsiNode, documents.creation(node))

    @property
    def _key(self) -> Key:
        return Key("", self._own_node.name)
