"""The DNS server of a node at work: bound before pods start, answering while the node runs."""

import asyncio
import hashlib
import os
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from mooring import log
from mooring.client.contract import Client, Scope
from mooring.clock import Clock
from mooring.errors import Forbidden, NotFound
from mooring.host.blocking import in_thread
from mooring.model.endpoint_slice import EndpointSlice
from mooring.model.service import Service
from mooring.node.names.catalog import ServiceCatalog
from mooring.node.names.forward import DNS_PORT, Forwarder, HostServers
from mooring.node.names.options import DnsOptions
from mooring.node.names.server import DnsServer
from mooring.node.pods.resolver import ClusterDns
from mooring.reconcile.worker import lasting

if TYPE_CHECKING:
    from mooring.node.names.answering import Answering

_log = log.get("mooring.node.names")

_ONE = Scope(fields="metadata.name=kubernetes")  # enough to learn whether all may be read


def own_address(root: Path) -> str:
    """On loopback, where pods share it: one per root directory, the same after a restart."""
    digest = hashlib.sha256(str(root).encode()).digest()
    return f"127.53.{digest[0]}.{1 + digest[1] % 254}"


class ClusterNames:
    """`bind`, then `run`. With somebody else's servers in the options it does nothing."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        rng: Random,
        options: DnsOptions,
        address: str,
        port: int = DNS_PORT,
    ) -> None:
        self._client = client
        self._clock = clock
        self._options = options
        self._server = DnsServer(address, port)
        self._catalog = ServiceCatalog(client, clock, rng)
        self._forwarder = Forwarder(HostServers(options.resolv_conf, address, clock).find, rng)
        self._is_bound = False
        self._answering: Answering | None = None  # made for the first question
        self._may_read: bool | None = None  # None: not known yet
        self._decided = asyncio.Event()

    @property
    def address(self) -> tuple[str, int]:
        return self._server.address

    def bind(self) -> None:
        """So that it is known where pods ask; if that cannot be, they ask the host's servers."""
        if self._options.servers:
            return
        try:
            self._server.bind()
        except OSError as error:
            host, port = self._server.address
            because = f"{os.strerror(error.errno or 0)} at {host}:{port}"
            _log.warning("services have no names in pods; see --cluster-dns", because=because)
        else:
            self._is_bound = True

    def find_dns(self) -> ClusterDns | None:
        """Where pods of the cluster ask; None: where the host asks."""
        options = self._options
        if options.servers:
            return ClusterDns(options.servers, options.domain)
        if not self._is_bound or self._may_read is False:
            return None
        return ClusterDns((self._server.address[0],), options.domain)

    async def run(self) -> None:
        """Until cancelled; returns when there is nothing to do."""
        if not self._is_bound:
            return
        async with asyncio.TaskGroup() as tasks:
            serve = partial(self._server.run, self)
            tasks.create_task(lasting("cluster DNS", self._clock, serve))
            tasks.create_task(lasting("names of services", self._clock, self._follow))

    async def answer(self, data: bytes, *, by_stream: bool) -> bytes | None:
        """`Answers` of the server."""
        if self._answering is None:
            load = await in_thread(_load)
            self._answering = load(
                self._catalog, self._options.domain, self._forwarder, self._known
            )
        return await self._answering.answer(data, by_stream=by_stream)

    async def _follow(self) -> None:
        """On a Kubernetes where nodes may not read services, names are somebody else's business.

        Raises: ApiError, ConnectionLost.
        """
        if self._may_read is None:
            self._may_read = await self._ask_rights()
            self._decided.set()
        if self._may_read:
            await self._catalog.run()

    async def _ask_rights(self) -> bool:
        try:
            await self._client.list(Service, _ONE)
            await self._client.list(EndpointSlice, _ONE)
        except (Forbidden, NotFound) as error:
            _log.warning("services have no names in pods; see --cluster-dns", because=error)
            return False
        return True

    async def _known(self) -> bool:
        await self._decided.wait()
        if self._may_read:
            await self._catalog.synced()
        return bool(self._may_read)


def _load() -> "type[Answering]":
    """In a thread, and not before somebody asks: dnspython takes a moment to import."""
    from mooring.node.names.answering import Answering

    return Answering
