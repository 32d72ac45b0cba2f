"""When volumes may be unmounted after a restart: once both pictures of them are complete.

The actual picture is complete when the disk was reconstructed, and the API server asked about the
volumes found; the desired one when every pod that was here at the start is populated or released.
"""

import asyncio
from collections.abc import Callable, Iterable


class RestartGate:
    """`opens` is called when it opens."""

    def __init__(self, opens: Callable[[], None]) -> None:
        self._opens = opens
        self._is_reconstructed = asyncio.Event()
        self._is_open = asyncio.Event()
        self._unseen: set[str] | None = None  # pods of the first picture, not yet populated
        self._seen_early: set[str] = set()  # populated before there was a first picture

    @property
    def is_synced(self) -> bool:
        """What is on disk is known, and agreed with the API."""
        return self._is_reconstructed.is_set()

    @property
    def may_destroy(self) -> bool:
        return self.is_synced and self._unseen is not None and not self._unseen

    async def until_synced(self) -> None:
        await self._is_reconstructed.wait()

    async def until_open(self) -> None:
        await self._is_open.wait()

    def reconstructed(self) -> None:
        """The disk has been read back, and the node's status asked about what was found."""
        self._is_reconstructed.set()
        self._maybe_open()

    def first_picture(self, pod_uids: Iterable[str]) -> None:
        """These pods were here at the start."""
        self._unseen = set(pod_uids) - self._seen_early
        self._seen_early.clear()
        self._maybe_open()

    def seen(self, pod_uid: str) -> None:
        """The pod has been populated, or released."""
        if self._unseen is None:
            self._seen_early.add(pod_uid)
        elif pod_uid in self._unseen:
            self._unseen.discard(pod_uid)
            self._maybe_open()

    def _maybe_open(self) -> None:
        if self.may_destroy:
            self._is_open.set()
            self._opens()
