"""All open connections: of strangers and of callers, their numbers and their unsent bytes.

Decides which connections are closed at a limit; it closes only handshakes and strangers itself.
"""

import asyncio

from mooring.apiserver.http.connection import Connection
from mooring.apiserver.http.limits import Allowance, Limits


class ConnectionTable:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._shaking: dict[Connection, asyncio.Task[None]] = {}  # the oldest first
        self._strangers: dict[Connection, None] = {}  # the longest idle first
        self._callers = Allowance(limits.connections, limits.connections_each)
        self._counted: dict[Connection, str] = {}  # those that count for their caller
        self._large: dict[Connection, str] = {}  # and whose
        self._large_each = Allowance(limits.large, limits.large_each)
        # Whose, and how many bytes: of clients that do not read, the oldest first.
        self._unsent: dict[Connection, tuple[str, int]] = {}
        self._unsent_each: dict[str, int] = {}

    # coming and going

    def has_room(self, connected: int) -> bool:
        """Whether one more may come in; of strangers the oldest gives way to it."""
        if len(self._shaking) + len(self._strangers) >= self._limits.strangers:
            self._make_room()
        return connected + len(self._shaking) < self._limits.connections

    def _make_room(self) -> None:
        """Of the larger connections one gives way: the oldest handshake, or the stranger that did
        nothing for longest. So neither sort can drive out all of the other."""
        if len(self._shaking) >= len(self._strangers):
            connection, handshake = next(iter(self._shaking.items()))
            del self._shaking[connection]
            handshake.cancel()
        else:
            idle = (each for each in self._strangers if each.idle)
            stranger = next(idle, next(iter(self._strangers)))
            del self._strangers[stranger]
            stranger.abort()

    def entered(self, connection: Connection, handshake: "asyncio.Task[None]") -> None:
        self._shaking[connection] = handshake

    def arrived(self, connection: Connection) -> None:
        """It has shaken hands."""
        self._shaking.pop(connection, None)
        self._strangers[connection] = None

    def may_stay_large(self, connection: Connection) -> bool:
        """Large bodies came by it: so many such connections are kept, and no more."""
        if connection in self._large:
            return True
        caller = connection.caller
        if not self._large_each.take(caller, 1):
            return False
        self._large[connection] = caller
        return True

    def seen(self, connection: Connection) -> None:
        """It did something just now: others give way before it does."""
        if connection in self._strangers:
            del self._strangers[connection]
            self._strangers[connection] = None

    def recognized(self, connection: Connection) -> bool:
        """It is no stranger any more; False when its caller has too many already."""
        self._strangers.pop(connection, None)
        if not self._callers.take(connection.caller, 1):
            return False
        self._counted[connection] = connection.caller
        return True

    def left(self, connection: Connection) -> None:
        self._shaking.pop(connection, None)
        self._strangers.pop(connection, None)
        self.drained(connection)
        for whose, allowance in ((self._counted, self._callers), (self._large, self._large_each)):
            caller = whose.pop(connection, None)
            if caller is not None:
                allowance.give_back(caller, 1)

    def give_up_handshakes(self) -> None:
        for handshake in self._shaking.values():
            handshake.cancel()

    # what is not read

    def held_up(self, connection: Connection, unsent: int) -> list[Connection]:
        """Record the unsent bytes of a connection; returns the connections to close: those that
        wait longest, of the same caller if it exceeds its limit, of all at the total limit."""
        self.drained(connection)
        unsent += self._limits.unsent_beside
        caller = connection.caller
        self._unsent[connection] = (caller, unsent)
        self._unsent_each[caller] = self._unsent_each.get(caller, 0) + unsent
        given_up: list[Connection] = []
        while self._unsent_each.get(caller, 0) > self._limits.unsent_each:
            own = [each for each, (whose, _) in self._unsent.items() if whose == caller]
            given_up.append(self._give_up(own))
        while sum(self._unsent_each.values()) > self._limits.unsent:
            given_up.append(self._give_up(list(self._unsent)))
        return given_up

    def drained(self, connection: Connection) -> None:
        caller, unsent = self._unsent.pop(connection, ("", 0))
        if unsent:
            left = self._unsent_each.get(caller, 0) - unsent
            if left > 0:
                self._unsent_each[caller] = left
            else:
                self._unsent_each.pop(caller, None)

    def _give_up(self, waiting: list[Connection]) -> Connection:
        oldest = waiting[0]
        self.drained(oldest)
        return oldest
