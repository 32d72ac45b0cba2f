"""What a connection asks of the server it belongs to."""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from mooring.apiserver.http.limits import Allowance, Limits
from mooring.apiserver.limits.turns import Turns
from mooring.apiserver.request.message import Handler

if TYPE_CHECKING:  # each knows the other
    from mooring.apiserver.http.connection import Connection


class Owner(Protocol):
    """The server a connection belongs to."""

    handler: Handler
    draining: bool
    limits: Limits
    bodies: Allowance
    turns: Turns

    def joined(self, connection: "Connection") -> None: ...

    def left(self, connection: "Connection") -> None: ...

    def find_caller(self, authorization: str) -> str:
        """Whose token this header shows; empty when it is no good one."""
        ...

    def recognized(self, connection: "Connection") -> bool:
        """It has a caller from now on; False when that one has too many already."""
        ...

    def may_stay_large(self, connection: "Connection") -> bool:
        """Whether a connection that large bodies came by may be used for more."""
        ...

    def seen(self, connection: "Connection") -> None:
        """It is a stranger's, and a request of it was answered."""
        ...

    def held_up(self, connection: "Connection", unsent: int) -> None:
        """Its client does not read, and so many bytes wait for it."""
        ...

    def drained(self, connection: "Connection") -> None:
        """Its client has read them."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` as a task that the server owns."""
        ...

    def date(self) -> str:
        """The `Date` header of now."""
        ...

    def seconds(self) -> float:
        """The event loop's time."""
        ...
