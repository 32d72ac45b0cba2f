"""What connections may cost: how many, how long, how many bytes. All of it can be given smaller."""

import resource

import msgspec

SPARE_FILES = 200  # descriptors for everything that is no connection

MOST_DISCARDED = 64 * 1024 * 1024  # a larger body is not even read to its end
MOST_HEADER_BYTES = 64 * 1024
MOST_URL = 16 * 1024
MOST_PIECES = 50_000  # that a body comes in: chunks of a byte each cost as much as long ones
RETAINED = 128 * 1024
"""Bytes of a body after which its connection counts as large: TLS keeps its buffers as large as
they ever had to be, more than half a megabyte, for as long as the connection lasts."""
SLICE = 64 * 1024  # bytes that are given to a connection at a time

MB = 1 << 20


class Limits(msgspec.Struct, frozen=True):
    """A caller is an authenticated user, by name; a stranger has not shown a valid token yet."""

    # how many
    connections: int = 10_000
    strangers: int = 512  # connections of strangers, handshakes included; the oldest gives way
    connections_each: int = 2_000  # of one caller
    large: int = 64  # connections that large bodies came by, and that are kept all the same
    large_each: int = 32

    # bytes of bodies that are received or worked on
    bodies: int = 64 * MB
    bodies_each: int = 32 * MB

    # bytes of answers that wait for clients which do not read
    unsent: int = 48 * MB
    unsent_each: int = 16 * MB
    unsent_beside: int = 64 * 1024  # of each such client, in buffers that are not counted

    # seconds
    stranger: float = 30.0  # without a whole request
    idle: float = 150.0  # between two requests; Go's clients close after 90 themselves
    head: float = 15.0  # for the head of a request
    request: float = 60.0  # for a whole request
    stuck: float = 60.0  # for any byte of an answer to be taken
    slowest: int = 32 * 1024  # bytes of a long answer that are taken in a second, at least


def default_limits() -> Limits:
    """As many connections as the process may have files open."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits = Limits()
    possible = max(64, most - SPARE_FILES)
    if possible >= limits.connections:
        return limits
    return msgspec.structs.replace(
        limits,
        connections=possible,
        strangers=min(limits.strangers, possible // 2),
        connections_each=min(limits.connections_each, possible * 3 // 4),
    )


class Allowance:
    """A limit on what all callers together, and each caller alone, may hold."""

    __slots__ = ("_each", "_held", "_left", "_most_each")

    def __init__(self, most: int, most_each: int) -> None:
        self._left = most
        self._most_each = most_each
        self._held: dict[str, int] = {}

    def take(self, caller: str, amount: int) -> bool:
        """Whether `caller` may have so much more; it has it then."""
        held = self._held.get(caller, 0) + amount
        if amount > self._left or held > self._most_each:
            return False
        self._left -= amount
        self._held[caller] = held
        return True

    def give_back(self, caller: str, amount: int) -> None:
        self._left += amount
        held = self._held.get(caller, 0) - amount
        if held > 0:
            self._held[caller] = held
        else:
            self._held.pop(caller, None)

    def held(self, caller: str) -> int:
        return self._held.get(caller, 0)
