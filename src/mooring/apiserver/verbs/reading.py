"""How new a read must be: what `resourceVersion` asks for."""

import asyncio

from mooring.apiserver.verbs.backend import Backend
from mooring.errors import BadRequest, ServerTimeout

MOST_DIGITS = 20  # of what fits a uint64
LONGEST_WAIT = 3.0  # seconds for a revision that has not happened yet


def parse_version(text: str) -> int:
    """A resourceVersion from a query. Empty and "0" are 0: whatever is current."""
    if flaw := version_flaw(text):
        raise BadRequest(f"invalid resource version: {flaw}")
    return int(text or 0)


def version_flaw(text: str) -> str | None:
    """Why a text is no resourceVersion; None when it is one (or empty)."""
    if text and not (text.isascii() and text.isdecimal()):
        why = "invalid syntax"
    elif len(text) > MOST_DIGITS:
        why = "value out of range"
    else:
        return None
    said = f'strconv.ParseUint: parsing "{text}": {why}'
    return f'resourceVersion: Invalid value: "{text}": {said}'


async def catch_up(backend: Backend, version: str) -> int:
    """Wait until reads are at least as new as `version`; returns it as a number."""
    wanted = parse_version(version)
    if wanted <= backend.store.revision:
        if not wanted and version != "0":
            await backend.store.catch_up()
        return wanted
    try:
        async with asyncio.timeout(LONGEST_WAIT):
            await backend.store.wait_for(wanted)
    except TimeoutError:
        current = backend.store.revision
        raise ServerTimeout(
            f"Timeout: Too large resource version: {wanted}, current: {current}",
            causes=[{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            retry_after=1,
        ) from None
    return wanted
