"""Writing what has become true, although others write the same object."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Final

from mooring.client.contract import Client, Part, T
from mooring.errors import Conflict, NotFound
from mooring.model.backoff import Backoff
from mooring.model.document import Doc
from mooring.reconcile.worker import Again, Verdict

OUTRUN: Final = Backoff(first=0.05, cap=10.0)
"""Time for the watch to deliver another client's write; it grows while the watch lags."""


class ConflictBackoff:
    """How often in a row a key met a Conflict."""

    def __init__(self) -> None:
        self._times: dict[Hashable, int] = {}

    async def look_again(self, key: Hashable, reconcile: Awaitable[Verdict]) -> Verdict:
        """After a Conflict, retry soon instead of with the back-off for failures.

        Repeated, the pauses grow: a stale cache meets the same Conflict each time.
        """
        try:
            verdict = await reconcile
        except Conflict:
            times = self._times[key] = self._times.get(key, 0) + 1
            return Again(OUTRUN.delay(times))
        self._times.pop(key, None)
        return verdict


async def patch_newest(
    client: Client, seen: T, change: Callable[[T], Doc], part: Part = Part.MAIN
) -> T | None:
    """Patch the object with `change` of its newest version; an empty change writes nothing.

    The driver's work is done even if another client wrote meanwhile: after a Conflict the object is
    read again, once. None: nothing was written, as nothing was to change or the object is gone.
    Raises: Conflict at the second one, ApiError, ConnectionLost.
    """
    try:
        try:
            return await _patch(client, seen, change, part)
        except Conflict:
            newest = await client.get(type(seen), seen.key)
            if newest.uid != seen.uid:
                return None
            return await _patch(client, newest, change, part)
    except NotFound:
        return None


async def _patch(client: Client, seen: T, change: Callable[[T], Doc], part: Part) -> T | None:
    wanted = change(seen)
    return await client.patch(seen, wanted, part) if wanted else None
