"""Writing what has become true, although others write the same object."""

from collections.abc import Awaitable, Callable

from mooring.client.contract import Client, Doc, Part, T
from mooring.errors import Conflict, NotFound
from mooring.reconcile.worker import Again, Verdict

OUTRUN_SECONDS = 0.05  # time for the watch to bring what somebody else wrote


async def unless_outrun(reconcile: Awaitable[Verdict]) -> Verdict:
    """Somebody else wrote first: look again soon, not only after a pause for failures."""
    try:
        return await reconcile
    except Conflict:
        return Again(OUTRUN_SECONDS)


async def patch_newest(
    client: Client, seen: T, change: Callable[[T], Doc], part: Part = Part.MAIN
) -> T | None:
    """Patch the object as `change` says of its newest version; an empty change writes nothing.

    What a driver has done does not become undone because somebody else wrote meanwhile: the object
    is read again, once. None: nothing was written, as nothing was to change or the object is gone.
    Raises: Conflict when it was outrun twice, ApiError, ConnectionLost.
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
