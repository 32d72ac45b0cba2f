"""A server, a client of it, an informer of volumes, and a listener that checks what it is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from mooring.client.contract import EVERYTHING, Scope
from mooring.model.keys import Key
from mooring.model.volume import Volume
from mooring.reconcile.reflector import Reflector
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer

Doc = dict[str, Any]


def a_volume(name: str, storage_class: str = "x", **labels: str) -> Doc:
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"storageClassName": storage_class},
    }


class World:
    """A server, one client, an informer of volumes and what it tells."""

    def __init__(self, scope: Scope = EVERYTHING, resync_seconds: float | None = None) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        rng = Random(1)  # noqa: S311 - repeatable, not secret
        self.informer = Reflector(self.client, Volume, scope, self.clock, rng, resync_seconds)
        self.told: list[tuple[str, str | None]] = []  # (name, new class or None)
        self.picture: dict[str, Volume] = {}
        self.informer.on_change(self.follow)

    def follow(self, old: Volume | None, new: Volume | None) -> None:
        name = (old or new or Volume()).name
        assert self.picture.get(name) is old, "told of every change, in order"
        if new is None:
            del self.picture[name]
        else:
            self.picture[name] = new
        self.told.append((name, new.spec.storage_class_name if new else None))

    # what others do

    def create(self, name: str, storage_class: str = "x", **labels: str) -> None:
        self.server.create(Volume, a_volume(name, storage_class, **labels))

    def modify(self, name: str, storage_class: str) -> Volume:
        change = {"spec": {"storageClassName": storage_class}}
        return self.server.patch(self.server.get(Volume, Key("", name)), change, {})

    def delete(self, name: str) -> None:
        self.server.delete(self.server.get(Volume, Key("", name)))

    def of_server(self) -> dict[str, Volume]:
        return {volume.name: volume for volume in self.server.list(Volume).items}

    def of_informer(self) -> dict[str, Volume]:
        return {volume.name: volume for volume in self.informer.all()}

    def verbs(self) -> list[str]:
        return [call.split()[0] for call in self.client.calls]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.informer.run())
        await settle()
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})
        assert task.cancelled(), "it runs until it is cancelled"
        assert self.server.streams == [], "no stream outlives it"
