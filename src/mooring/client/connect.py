"""From a kubeconfig to a client that is ready to use."""

import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from mooring.client.endpoint import Endpoint
from mooring.client.http import USER_AGENT, HttpClient
from mooring.client.kubeconfig import Surroundings, find_endpoint
from mooring.clock import Clock


@asynccontextmanager
async def connect(path: Path | None, clock: Clock) -> AsyncIterator[HttpClient]:
    """A client for the server that the kubeconfig at `path` is about; without a path, the one that
    the environment of this process names.

    Connections are made when they are needed, and closed at the end. Raises: UsageError.
    """
    async with connect_to(find_endpoint(path, Surroundings(os.environ, clock)), clock) as client:
        yield client


@asynccontextmanager
async def connect_to(endpoint: Endpoint, clock: Clock) -> AsyncIterator[HttpClient]:
    """Raises: UsageError when there are no credentials to show."""
    connector = aiohttp.TCPConnector(limit=0)  # a watch keeps its connection: they must not run out
    # Lists are large and servers near: compressing them costs more than sending them.
    headers = {
        "User-Agent": USER_AGENT,
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        client = HttpClient(endpoint, session, clock, random.SystemRandom())
        await client.check()
        yield client
