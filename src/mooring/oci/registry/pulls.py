"""Pulls under way: those who want the same image with the same credentials share one.

So many pulls go on at once, and of one registry half as many: one that is stuck keeps nobody from
pulling from another. A pull that nobody waits for any more ends.
"""

import asyncio
from collections.abc import Callable

import msgspec

from mooring.clock import Clock
from mooring.oci.contract import StoredImage
from mooring.oci.reference import Reference
from mooring.oci.registry.endpoints import split
from mooring.oci.registry.logins import Keyring
from mooring.oci.registry.pull import Progress, Puller
from mooring.oci.registry.settings import PullSettings

_Key = tuple[Reference, int]  # and whose credentials


class PulledImage(msgspec.Struct, frozen=True):
    image: StoredImage
    seconds: float  # that the pull took, without waiting for its turn


class _Shared:
    def __init__(self, progress: Progress, task: asyncio.Task[PulledImage]) -> None:
        self.progress = progress
        self.task = task
        self.waiting = 0


class ImagePulls:
    """`contract.Pulls`."""

    def __init__(self, puller: Puller, settings: PullSettings, clock: Clock) -> None:
        self._puller = puller
        self._clock = clock
        self._under_way: dict[_Key, _Shared] = {}
        self._all = asyncio.Semaphore(settings.pulls_at_once)
        self._per_registry = max(1, settings.pulls_at_once // 2)
        self._registries: dict[str, asyncio.Semaphore] = {}
        self._done: list[Callable[[], None]] = []

    def on_pulled(self, handler: Callable[[], None]) -> None:
        """`handler` is called when an image has come; it must be quick, and must not raise."""
        self._done.append(handler)

    async def sweep(self) -> None:
        """Remove what pulls of killed processes have left."""
        await self._puller.sweep()

    async def pull(
        self, reference: Reference, keyring: Keyring, tell: Callable[[Progress], None]
    ) -> PulledImage:
        """`tell` is called at once with the progress, which changes as the pull goes on.

        Raises: PullFailed, ImageRefused, HostError.
        """
        key = (reference, keyring.identity())
        shared = self._under_way.get(key)
        if shared is None:
            progress = Progress()
            task = asyncio.create_task(self._run(reference, keyring, progress))
            shared = self._under_way[key] = _Shared(progress, task)
            task.add_done_callback(lambda done: self._ended(key, done))
        tell(shared.progress)
        shared.waiting += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if not shared.waiting and not shared.task.done():
                self._under_way.pop(key, None)
                shared.task.cancel()
                await asyncio.wait({shared.task})
            elif not shared.waiting and not shared.task.cancelled():
                shared.task.exception()  # retrieved, also when its last waiter was cancelled

    def _ended(self, key: _Key, task: asyncio.Task[PulledImage]) -> None:
        shared = self._under_way.get(key)
        if shared is not None and shared.task is task:
            del self._under_way[key]
        host = split(key[0])[0]
        if all(split(reference)[0] != host for reference, _ in self._under_way):
            self._registries.pop(host, None)

    async def _run(self, reference: Reference, keyring: Keyring, progress: Progress) -> PulledImage:
        host = split(reference)[0]
        turn = self._registries.setdefault(host, asyncio.Semaphore(self._per_registry))
        async with turn, self._all:
            began = self._clock.monotonic()
            image = await self._puller.pull(reference, keyring, progress)
        for handler in self._done:
            handler()
        return PulledImage(image, self._clock.monotonic() - began)
