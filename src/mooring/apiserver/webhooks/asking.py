"""Asking a webhook that a clientConfig names: those of admission and of conversion alike."""

import random
from typing import TYPE_CHECKING
from uuid import UUID

from mooring.apiserver.admission.contract import Objects
from mooring.apiserver.webhooks.reach import CallFailed, Unreachable, shown_url, target_of
from mooring.host.blocking import in_thread
from mooring.model.document import Doc

if TYPE_CHECKING:
    from mooring.apiserver.webhooks.calling import Caller


class Asking:
    """The questions of one server."""

    def __init__(self, objects: Objects, rng: random.Random) -> None:
        self._objects = objects
        self._rng = rng
        self._caller: Caller | None = None  # made for the first question

    async def close(self) -> None:
        if self._caller is not None:
            await self._caller.close()

    def new_uid(self) -> str:
        """Of a question: its answer repeats it."""
        return str(UUID(int=self._rng.getrandbits(128), version=4))

    async def post(self, client: Doc, body: bytes, seconds: float) -> bytes:
        """What was answered with 200. Raises: CallFailed."""
        try:
            target = target_of(client, self._objects, self._rng)
        except Unreachable as error:
            raise CallFailed(f'Post "{_url(client, seconds)}": {error}') from error
        caller = self._caller or await self._make_caller()
        return await caller.post(target, client.get("caBundle") or "", body, seconds)

    async def _make_caller(self) -> "Caller":
        made = await in_thread(_load)
        if self._caller is None:  # nobody else was faster
            self._caller = made()
        return self._caller


def out_of_time(client: Doc, seconds: float) -> CallFailed:
    """For a question that was not even sent within its time."""
    return CallFailed(f'Post "{_url(client, seconds)}": context deadline exceeded')


def _url(client: Doc, seconds: float) -> str:
    return f"{shown_url(client)}?timeout={seconds:g}s"


def _load() -> "type[Caller]":
    """In a thread, and not before a webhook is asked."""
    from mooring.apiserver.webhooks.calling import Caller

    return Caller
