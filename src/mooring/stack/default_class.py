"""The role `default-class`: where the bundled driver cannot run, claims get directories."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from prometheus_client.registry import Collector

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.errors import AlreadyExists, ApiError, ConnectionLost
from mooring.host.blocking import in_thread
from mooring.model.backoff import Backoff
from mooring.model.document import Doc
from mooring.model.storage_class import StorageClass
from mooring.model.wellknown import Annotation, Plugin

CLASS = "mooring-host-path"
CLASS_MADE: Final = "class-made"  # a file: who deletes the class does not want it back
AGAIN = Backoff(first=0.2, cap=30.0)

_log = log.get("mooring.stack")

_CLASS: Doc = {
    "metadata": {"name": CLASS, "annotations": {Annotation.DEFAULT_CLASS: "true"}},
    "provisioner": Plugin.HOST_PATH,
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "Immediate",
}


class DefaultClassRole:
    """`Role`, `Settling`. Makes a default class once, unless there is one already."""

    name: Final = "default-class"

    def __init__(self, client: Client, clock: Clock, volumes: Path) -> None:
        self._client = client
        self._clock = clock
        self._made = volumes / CLASS_MADE
        self._is_there = asyncio.Event()

    async def run(self) -> None:
        failures = 0
        while not self._is_there.is_set():
            try:
                await self._make()
                self._is_there.set()
            except (ApiError, ConnectionLost, OSError) as error:
                failures += 1
                _log.warning("the default class is not made yet", because=error)
                await self._clock.sleep(AGAIN.delay(failures, 0.0))
        await asyncio.Event().wait()

    async def synced(self) -> None:
        """It has no caches."""

    async def ready(self) -> None:
        await self._is_there.wait()

    def collectors(self) -> Iterable[Collector]:
        return ()

    async def _make(self) -> None:
        if await in_thread(self._made.exists):
            return
        classes = await self._client.list(StorageClass)
        if not any(one.is_default for one in classes.readable):
            with suppress(AlreadyExists):
                await self._client.create(StorageClass, _CLASS)
        await in_thread(self._made.touch)
