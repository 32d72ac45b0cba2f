"""Real Kubernetes beside Mooring, for benchmarks that compare: from `.cache/peers`, never built.

    async with kubernetes("tuned") as cluster:
        if cluster is None:  # the reason was printed
            ...
        cluster.url, cluster.token, cluster.tls(), cluster.kubeconfig

`make conformance` builds the programs. etcd syncs to the disk here, as it does in earnest.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal

from bench.server import Server
from tests.conformance import peers
from tests.conformance.obtain import Missing, find
from tests.conformance.peers import Kubernetes

Controllers = Literal["none", "default", "tuned"]
"""Kubernetes' own: not there, with its default client limits, or with those limits lifted."""

_FLAGS = {"default": (), "tuned": peers.UNLIMITED}


@asynccontextmanager
async def kubernetes(controllers: Controllers) -> AsyncIterator[Kubernetes | None]:
    """kube-apiserver and etcd, both empty; gone afterwards. None, and a printed reason, if absent.

    Once it is here, the controllers have synced and work.
    """
    running = ExitStack()
    try:
        yield await asyncio.to_thread(_start, controllers, running)
    finally:
        await asyncio.to_thread(running.close)


def _start(controllers: Controllers, running: ExitStack) -> Kubernetes | None:
    folder = running.enter_context(tempfile.TemporaryDirectory(prefix="kubernetes-bench-"))
    try:
        cluster = running.enter_context(peers.kubernetes(Path(folder), find, etcd_flags=()))
        if controllers != "none":
            flags = _FLAGS[controllers]
            running.enter_context(peers.controller_manager(cluster, find, flags=flags))
    except Missing as reason:
        print(f"  no Kubernetes to compare with: {reason}")
        return None
    return cluster


def as_server(cluster: Kubernetes) -> Server:
    """The cluster as something to send requests to."""
    return Server(0, host=cluster.host, port=cluster.port, token=cluster.token, tls=cluster.tls())
