"""Whether a standalone role follows the release that its server does."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from mooring import log
from mooring.client.http import HttpClient
from mooring.clock import Clock
from mooring.errors import ApiError
from mooring.model.kubernetes_version import KubernetesVersion, nearest_version
from mooring.reconcile.worker import lasting

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
    """Raises: ConnectionLost."""
    try:
        told = msgspec.json.decode(await client.read("/version", {}), type=ServerVersion)
    except (ApiError, msgspec.DecodeError) as error:
        _log.info("the server does not tell its version", because=error)
        return
    wanted = better_version(followed, told)
    if wanted is not None:
        _log.warning(
            "this role follows another release of Kubernetes than its server",
            server=told.git_version,
            follows=followed,
            remedy=f"start it with --kubernetes-version {wanted}",
        )


def better_version(followed: KubernetesVersion, server: ServerVersion) -> KubernetesVersion | None:
    """The one that the server's is nearest to, unless it is followed already."""
    minor = re.match(r"\d{1,4}", server.minor)
    if minor is None:
        return None
    wanted = nearest_version(int(minor[0]))
    return None if wanted == followed else wanted
