"""Removes images that nobody uses, when the disk fills up: after each pull, and every few minutes.

`oci/garbage.py` decides which; the store removes none of them that has come into use meanwhile.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from mooring import log
from mooring.clock import Clock
from mooring.errors import HostError
from mooring.host.blocking import in_thread
from mooring.oci.contract import Images, StoredImage
from mooring.oci.garbage import GcPlan, GcView, ImageAge, decide_garbage
from mooring.oci.refused import ImageRefused
from mooring.oci.registry.settings import GcSettings
from mooring.oci.store import ImageStore
from mooring.reconcile.deadline import within

PERIOD_SECONDS = 300.0

_log = log.get("mooring.node.images")


class TrackedImages:
    """`Images` that remember when each was last looked for, by a pod that starts."""

    def __init__(self, images: Images, clock: Clock) -> None:
        self._images = images
        self._clock = clock
        self.last_found: dict[str, float] = {}  # by id

    def find(self, reference: str) -> StoredImage | None:
        found = self._images.find(reference)
        if found is not None:
            self.last_found[found.id] = self._clock.monotonic()
        return found

    def list(self) -> Sequence[StoredImage]:
        return self._images.list()


class ImageGc:
    """`run` collects until cancelled."""

    def __init__(
        self,
        store: ImageStore,
        images: TrackedImages,
        directory: Path,
        settings: GcSettings,
        clock: Clock,
        warn: Callable[[str, str], None],
    ) -> None:
        """`warn` records an event about the node: a reason and a message."""
        self._store = store
        self._images = images
        self._directory = directory
        self._settings = settings
        self._clock = clock
        self._warn = warn
        self._first_seen: dict[str, float] = {}
        self._last_used: dict[str, float] = {}
        self._wake = asyncio.Event()

    def wake(self) -> None:
        self._wake.set()

    async def run(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self.collect()
            except (ImageRefused, HostError, OSError) as error:
                _log.warning("images were not collected", because=error)
            with suppress(TimeoutError):
                async with within(self._clock, PERIOD_SECONDS):
                    await self._wake.wait()

    async def collect(self) -> GcPlan:
        """Look once. Raises: ImageRefused, HostError, OSError."""
        view = await in_thread(self._look)
        plan = decide_garbage(view, self._settings)
        if plan.remove:
            gone = await in_thread(self._store.remove_unused, plan.remove)
            names = [name for image in gone for name in image.names]
            _log.info("images removed", names=names, because=plan.because)
        if plan.freed < plan.wanted and any(image.is_pulled for image in view.images):
            self._warn("FreeDiskSpaceFailed", _failure(plan))
        return plan

    def _look(self) -> GcView:
        now = self._clock.monotonic()
        images, used = self._images.list(), self._store.in_use()
        known = {image.id for image in images}
        for times in (self._first_seen, self._last_used, self._images.last_found):
            for gone in times.keys() - known:
                times.pop(gone, None)
        for image_id in used:
            self._last_used[image_id] = now
        ages = [self._age(image, now, is_in_use=image.id in used) for image in images]
        if not self._directory.is_dir():
            return GcView(now, 0, 0, ages)
        disk = os.statvfs(self._directory)
        return GcView(now, disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize, ages)

    def _age(self, image: StoredImage, now: float, *, is_in_use: bool) -> ImageAge:
        first_seen = self._first_seen.setdefault(image.id, now)
        found = self._images.last_found.get(image.id, first_seen)
        return ImageAge(
            id=image.id,
            size=image.size,
            last_used=max(self._last_used.get(image.id, first_seen), found),
            first_seen=first_seen,
            is_in_use=is_in_use,
            is_pulled=image.is_pulled,
        )


def _failure(plan: GcPlan) -> str:
    return (
        "Failed to garbage collect required amount of images. Attempted to free "
        f"{plan.wanted} bytes, but only found {plan.freed} bytes eligible to free."
    )
