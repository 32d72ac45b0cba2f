"""Keeps the Node object of this machine up to date: registers it, and reports changes.

A volume that comes into use is reported at once, for no pod may use it before the API server has
acknowledged that; one that is no longer in use as well, for the attach/detach controller may wait
to detach it. Everything else is checked every ten seconds, reported when it has changed, and
anyway every few minutes. A Node that was deleted is registered again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from random import Random
from typing import Protocol

from mooring import __version__, log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    ConnectionLost,
    HostError,
    MooringError,
    NotFound,
)
from mooring.model.backoff import Backoff
from mooring.model.node import Node, NodeImage
from mooring.model.timestamp import to_seconds
from mooring.node.own_node import WatchedNode
from mooring.node.status import document
from mooring.node.status.hardware import Amounts, Identity
from mooring.oci.refused import ImageRefused
from mooring.reconcile.deadline import within

LOOK_SECONDS = 10.0
TELL_SECONDS = 300.0  # so old the newest word may grow
TELL_JITTER = 0.5
AGAIN = Backoff(first=0.2, cap=10.0, jitter=0.5)

_log = log.get("mooring.node.status")


class VolumesInUse(Protocol):
    """`run.NodeVolumes`, as far as the status goes."""

    @property
    def is_synced(self) -> bool: ...

    def in_use(self) -> tuple[str, ...]: ...

    def on_in_use_change(self, handler: Callable[[], None]) -> None: ...

    def reported_in_use(self, names: Iterable[str]) -> None: ...


class Report:
    """`run` keeps it up to date until cancelled, once the informer of `own_node` runs."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        rng: Random,
        own_node: WatchedNode,
        volumes: VolumesInUse,
        identity: Identity,
        measure: Callable[[], Awaitable[Amounts]],
    ) -> None:
        self._client = client
        self._clock = clock
        self._rng = rng
        self._own_node = own_node
        self._volumes = volumes
        self._identity = identity
        self._measure = measure
        self._stuck: Callable[[], str] = str
        self._read_images: Callable[[], Awaitable[tuple[NodeImage, ...]]] | None = None
        self._images: tuple[NodeImage, ...] = ()
        self._pressures = {
            document.is_short_of_memory: _Pressure(clock),
            document.is_short_of_storage: _Pressure(clock),
        }
        self._amounts = Amounts()
        self._look_due = 0.0  # by the monotonic clock
        self._tell_due = 0.0
        self._news = asyncio.Event()
        volumes.on_in_use_change(self._news.set)
        own_node.informer.on_change(self._node_changed)

    async def run(self) -> None:
        await self._own_node.informer.synced.wait()
        failures = 0
        while True:
            self._news.clear()
            try:
                await self._bring_up_to_date()
                failures = 0
            except (ApiError, ConnectionLost) as error:
                failures += 1
                await self._recover(error, failures)
            else:
                await self._next()

    def volumes_synced(self) -> None:
        """Reconstruction is done: from now on volumes in use are reported."""
        self._news.set()

    def report_stuck(self, text: Callable[[], str]) -> Callable[[], None]:
        """Report stuck calls from now on; call the returned function when `text` has changed."""
        self._stuck = text
        return self._news.set

    def report_images(self, read: Callable[[], Awaitable[tuple[NodeImage, ...]]]) -> None:
        """Report what `read` returns from now on."""
        self._read_images = read

    async def _recover(self, error: MooringError, failures: int) -> None:
        if not isinstance(error, Conflict) or failures > 1:
            name = self._own_node.name
            _log.warning("the node's status was not written", node=name, because=error)
            await self._clock.sleep(AGAIN.delay(failures, self._rng.random()))
        with suppress(ApiError, ConnectionLost):  # as the next try will say
            await self._own_node.read()

    async def _next(self) -> None:
        """Return when there may be something to report."""
        pause = min(self._look_due, self._tell_due) - self._clock.monotonic()
        with suppress(TimeoutError):
            async with within(self._clock, max(pause, 0.0)):
                await self._news.wait()

    async def _bring_up_to_date(self) -> None:
        if self._clock.monotonic() >= self._look_due:
            await self._look()
            self._look_due = self._clock.monotonic() + LOOK_SECONDS
        told, node = self._told(), self._own_node.known
        if node is None:
            node = await self._register(told)
        node = await self._update(node, told)
        if told.in_use is not None:
            self._volumes.reported_in_use(node.status.volumes_in_use)

    async def _look(self) -> None:
        try:
            self._amounts = await self._measure()
            if self._read_images is not None:
                self._images = await self._read_images()
        except (HostError, ImageRefused) as error:  # what was seen before is all that is known
            _log.warning("the machine cannot be measured", because=error)

    def _told(self) -> document.Told:
        memory, disk = (
            pressure.felt(is_short(self._amounts)) for is_short, pressure in self._pressures.items()
        )
        return document.Told(
            name=self._own_node.name,
            version=__version__,
            identity=self._identity,
            amounts=self._amounts,
            has_memory_pressure=memory,
            has_disk_pressure=disk,
            in_use=self._volumes.in_use() if self._volumes.is_synced else None,
            images=self._images,
            stuck=self._stuck(),
        )

    async def _register(self, told: document.Told) -> Node:
        status = document.status(None, told, self._now())
        doc = document.creation(told.name, told.identity, status)
        try:
            node = await self._client.create(Node, doc)
        except AlreadyExists:
            return await self._own_node.read()  # the watch is late
        self._own_node.informer.fold(node)
        self._was_told()
        _log.info("node registered", node=node.name)
        return node

    async def _update(self, node: Node, told: document.Told) -> Node:
        marks = document.marks(node, told.identity)
        is_due = (
            document.is_news(node, told)
            or document.is_loss(node, told)
            or self._clock.monotonic() >= self._tell_due
        )
        if not marks and not is_due:
            return node
        status = document.status(node, told, self._now()) if is_due else {}
        try:
            node = await self._client.patch_both(node, marks, status)
        except NotFound:
            return await self._register(told)
        self._own_node.informer.fold(node)
        if is_due:
            self._was_told()
        return node

    def _was_told(self) -> None:
        pause = TELL_SECONDS * (1 + TELL_JITTER * self._rng.random())
        self._tell_due = self._clock.monotonic() + pause

    def _now(self) -> str:
        return to_seconds(self._clock.now())

    def _node_changed(self, _: Node | None, after: Node | None) -> None:
        if after is None:  # deleted, as if this machine were gone
            self._news.set()


class _Pressure:
    """A pressure condition stays for a while after the pressure, so that it does not flap."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = 0.0

    def felt(self, is_short: bool) -> bool:  # noqa: FBT001  a measurement
        now = self._clock.monotonic()
        if is_short:
            self._until = now + document.PRESSURE_SECONDS
        return is_short or now < self._until
