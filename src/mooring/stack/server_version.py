"""The release that a standalone role follows: that of its server, unless it is told another."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from mooring import log
from mooring.client.http import HttpClient
from mooring.clock import Clock
from mooring.errors import (
    ApiError,
    ConnectionLost,
    ServerError,
    ServerTimeout,
    TooManyRequests,
    Unavailable,
)
from mooring.model.backoff import Backoff
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion, nearest_version
from mooring.reconcile.worker import lasting

_PAUSES = Backoff(first=0.2, cap=5.0)
_PASSING = (ServerError, ServerTimeout, TooManyRequests, Unavailable)
"""Also what a load balancer says whose servers are not up yet."""
_log = log.get("mooring.stack")


class ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """Of `/version`; some vendors write `37+` for the minor number."""

    minor: str = ""
    git_version: str = ""


@asynccontextmanager
async def version_compared(
    client: HttpClient, clock: Clock, followed: KubernetesVersion
) -> AsyncIterator[None]:
    """Meanwhile the server is asked, as soon as it answers; a difference is one warning."""
    ask = partial(compare_versions, client, followed)
    asking = asyncio.create_task(lasting("server version", clock, ask))
    try:
        yield
    finally:
        asking.cancel()
        await asyncio.wait({asking})


async def compare_versions(client: HttpClient, followed: KubernetesVersion) -> None:
    """Raises: ConnectionLost, ApiError."""
    told = await _told(client)
    wanted = None if told is None else better_version(followed, told)
    if told is not None and wanted is not None:
        _log.warning(
            "this role follows another release of Kubernetes than its server",
            server=told.git_version,
            follows=followed,
            remedy=f"start it with --kubernetes-version {wanted}",
        )


async def release_of(client: HttpClient, clock: Clock) -> KubernetesVersion:
    """The release to follow on this server, which is asked until it answers."""
    failures = 0
    while True:
        try:
            told = await _told(client)
        except (ConnectionLost, *_PASSING) as error:
            failures += 1
            pause = _PAUSES.delay(failures)
            _log.warning("the server is not there yet", because=error, again_in=pause)
            await clock.sleep(pause)
        else:
            return NEWEST if told is None else better_version(NEWEST, told) or NEWEST


async def _told(client: HttpClient) -> ServerVersion | None:
    """None if it does not say. Raises: ConnectionLost, ApiError while it cannot say."""
    try:
        return msgspec.json.decode(await client.read("/version", {}), type=ServerVersion)
    except _PASSING:
        raise
    except (ApiError, msgspec.DecodeError) as error:
        _log.info("the server does not tell its version", because=error)
        return None


def better_version(followed: KubernetesVersion, server: ServerVersion) -> KubernetesVersion | None:
    """The one that the server's is nearest to, unless it is followed already."""
    minor = re.match(r"\d{1,4}", server.minor)
    if minor is None:
        return None
    wanted = nearest_version(int(minor[0]))
    return None if wanted == followed else wanted
