"""From a kubeconfig to a client that is ready to use."""

import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mooring.client.endpoint import Endpoint
from mooring.client.http import MOST_AT_ONCE, HttpClient
from mooring.client.kubeconfig import Surroundings, find_endpoint
from mooring.clock import Clock


@asynccontextmanager
async def connect(path: Path | None, clock: Clock) -> AsyncIterator[HttpClient]:
    """A client for the server of the kubeconfig at `path`; without a path, of the kubeconfig or
    service account found in this process's environment.

    Connections are opened when needed, and closed at the end. Raises: UsageError.
    """
    async with connect_to(find_endpoint(path, Surroundings(os.environ, clock)), clock) as client:
        yield client


@asynccontextmanager
async def connect_to(
    endpoint: Endpoint, clock: Clock, most_at_once: int = MOST_AT_ONCE
) -> AsyncIterator[HttpClient]:
    """Raises: UsageError when there are no credentials."""
    client = HttpClient(endpoint, clock, random.SystemRandom(), most_at_once)
    try:
        await client.check()
        yield client
    finally:
        await client.close()
