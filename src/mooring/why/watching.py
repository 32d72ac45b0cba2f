"""When to ask again: something in the chain of an object has changed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mooring.client.connect import connect_to
from mooring.client.contract import Client, Scope
from mooring.client.endpoint import Endpoint
from mooring.clock import Clock
from mooring.errors import ApiError, ConnectionLost, Expired
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.event import Event
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.snapshot import Snapshot
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.why.answer import Ref

CALM = 0.2  # seconds: changes come in bursts, and are answered together
_IN_NAMESPACE = (Claim, Pod, Event, Snapshot)
_IN_CLUSTER = (Volume, Attachment, Node, StorageClass)


@asynccontextmanager
async def changes(
    endpoint: Endpoint, clock: Clock, subject: Ref
) -> AsyncIterator[AsyncIterator[None]]:
    """At once, and then after each change of what may be in the chain."""
    woken = asyncio.Event()
    async with connect_to(endpoint, clock) as client, asyncio.TaskGroup() as tasks:
        scope = Scope(namespace=subject.namespace)
        watching = [
            *(tasks.create_task(_watch(client, k, scope, woken, clock)) for k in _IN_NAMESPACE),
            *(tasks.create_task(_watch(client, k, Scope(), woken, clock)) for k in _IN_CLUSTER),
        ]
        try:
            yield _bursts(woken, clock)
        finally:
            for task in watching:
                task.cancel()


async def _bursts(woken: asyncio.Event, clock: Clock) -> AsyncIterator[None]:
    yield
    while True:
        await woken.wait()
        await clock.sleep(CALM)
        woken.clear()
        yield


async def _watch(
    client: Client, kind: type[ApiObject], scope: Scope, woken: asyncio.Event, clock: Clock
) -> None:
    """A kind that cannot be watched is left out: the others still wake."""
    while True:
        try:
            version = (await client.list(kind, scope)).version
            woken.set()
            async with client.watch(kind, version, scope) as found:
                async for _ in found:
                    woken.set()
        except (Expired, ConnectionLost):
            await clock.sleep(1.0)
        except ApiError:
            return
