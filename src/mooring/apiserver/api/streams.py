"""How many streams each user has open: watches, and all that goes through to nodes."""

from collections.abc import Callable

from mooring.apiserver.limits.budgets import MOST_NODE_STREAMS, MOST_STREAMS
from mooring.errors import TooManyRequests
from mooring.model.field_error import show

RETRY_AFTER = 1  # seconds


class Streams:
    """One budget for each user. Taken before a node is dialled: an attempt counts as well."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}  # by user
        self._through_nodes: dict[str, int] = {}  # of these

    def take(self, user: str, *, through_node: bool) -> Callable[[], None]:
        """Count one as open; call what is returned when it is not any more; repeated, nothing
        happens. Raises: TooManyRequests.
        """
        counts = [(self._open, MOST_STREAMS, "streams")]
        if through_node:
            counts.append((self._through_nodes, MOST_NODE_STREAMS, "streams to nodes"))
        for held, most, what in counts:
            if held.get(user, 0) >= most:
                raise TooManyRequests(
                    f"Too many requests: user {show(user)} has {most} {what} open",
                    retry_after=RETRY_AFTER,
                )
        for held, _, _ in counts:
            held[user] = held.get(user, 0) + 1

        def release() -> None:
            while counts:
                held, _, _ = counts.pop()
                held[user] -= 1
                if not held[user]:
                    del held[user]

        return release
