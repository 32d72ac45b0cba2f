"""Whether drivers are alive, as livenessprobe tells it: one answer per driver, and one for all.

Each question makes a connection of its own: one that stands says nothing of a socket that was
replaced. There is one round of questions at a time, and whoever asks meanwhile shares its answer.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from mooring.csi.cause import asked_by
from mooring.csi.channel import Connection
from mooring.csi.identity import Identity
from mooring.csi.outcome import Done

PROBE_SECONDS = 3.0
OK = "ok"
NOT_READY = "driver responded but is not ready"


class Alive(msgspec.Struct, frozen=True):
    """Of one driver; its text is `ok`, or what is wrong."""

    driver: str  # empty: it has never told its name
    endpoint: str
    text: str

    @property
    def is_alive(self) -> bool:
        return self.text == OK


class Liveness:
    """Of the drivers at these sockets."""

    def __init__(self, endpoints: Sequence[str]) -> None:
        self._endpoints = tuple(endpoints)
        self._names: dict[str, str] = {}  # by endpoint: who answered there last
        self._lock = asyncio.Lock()
        self._rounds = 0  # that have ended
        self._found: list[Alive] = []  # in the last of them

    async def ask(self, driver: str = "") -> tuple[bool, str]:
        """Whether the driver is alive, and what to say of it; all of them if none is named."""
        found = await self._ask_all()
        if driver:
            found = [each for each in found if each.driver == driver]
            if not found:
                return False, f"no driver called {driver} has answered"
            return found[0].is_alive, found[0].text
        wrong = [
            f"{each.driver or each.endpoint}: {each.text}" for each in found if not each.is_alive
        ]
        return not wrong, "\n".join(wrong) or OK

    async def _ask_all(self) -> list[Alive]:
        ended = self._rounds
        async with self._lock:
            if self._rounds == ended:  # else a round has ended since this one asked
                self._found = list(await asyncio.gather(*map(self._ask, self._endpoints)))
                self._rounds += 1
            return self._found

    async def _ask(self, endpoint: str) -> Alive:
        calling = Connection(endpoint, driver=self._names.get(endpoint, ""))
        with asked_by("liveness"):
            return await self._ask_by(calling)

    async def _ask_by(self, calling: Connection) -> Alive:
        endpoint = calling.endpoint
        async with calling as connection:
            identity = Identity(connection)
            ready = await identity.probe(within=PROBE_SECONDS)
            if isinstance(ready, Done):
                info = await identity.get_info(within=PROBE_SECONDS)
                if isinstance(info, Done):
                    self._names[endpoint] = info.value.name
        name = self._names.get(endpoint, "")
        if not isinstance(ready, Done):
            return Alive(name, endpoint, ready.text)
        return Alive(name, endpoint, OK if ready.value else NOT_READY)
