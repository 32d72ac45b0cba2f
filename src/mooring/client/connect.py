"""From a kubeconfig to a client that is ready to use."""

import os
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from mooring.client.endpoint import Endpoint
from mooring.client.http import USER_AGENT, HttpClient
from mooring.client.kubeconfig import Surroundings, find_endpoint
from mooring.clock import Clock

QUIET = 30  # seconds without traffic before the first TCP keepalive probe
ASK_EVERY, MOST_ASKS = 10, 3


def kept_alive(address: tuple[Any, ...]) -> socket.socket:
    """A socket with TCP keepalive, which notices a server that vanished without closing it."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if family in (socket.AF_INET, socket.AF_INET6):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, QUIET)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, ASK_EVERY)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, MOST_ASKS)
    return made


@asynccontextmanager
async def connect(path: Path | None, clock: Clock) -> AsyncIterator[HttpClient]:
    """A client for the server of the kubeconfig at `path`; without a path, of the kubeconfig or
    service account found in this process's environment.

    Connections are opened when needed, and closed at the end. Raises: UsageError.
    """
    async with connect_to(find_endpoint(path, Surroundings(os.environ, clock)), clock) as client:
        yield client


@asynccontextmanager
async def connect_to(endpoint: Endpoint, clock: Clock) -> AsyncIterator[HttpClient]:
    """Raises: UsageError when there are no credentials."""
    # No limit on connections: every watch keeps one.
    connector = aiohttp.TCPConnector(limit=0, socket_factory=kept_alive)
    # No compression: lists are large and servers near, so it costs more than it saves.
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
