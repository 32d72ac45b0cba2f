"""A client and the server behind it, for each transport; what a test needs beside the contract."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.connect import connect
from mooring.client.contract import Client
from mooring.client.local import LocalClient
from mooring.clock import RealClock
from mooring.model.namespace import Namespace
from tests.fakes.api import ApiUnderTest, running_api
from tests.fakes.objects import a_claim, a_namespace
from tests.fakes.real_server import RealServer
from tests.fakes.waiting import until

Doc = dict[str, Any]

_numbers = count(1)


class Transport(Protocol):
    client: Client
    namespace: str  # of this test alone

    async def forget_history(self) -> None:
        """After: no watch can start at a version of before."""
        ...

    async def no_watches(self) -> None:
        """Returns when nobody watches claims any more."""
        ...


def claim_in(transport: Transport, name: str, **spec: Any) -> Doc:
    doc = a_claim(name, **spec)
    doc["metadata"]["namespace"] = transport.namespace
    return doc


def labelled(doc: Doc, **labels: str) -> Doc:
    doc["metadata"]["labels"] = labels
    return doc


class Local:
    def __init__(self, api: ApiUnderTest, namespace: str) -> None:
        self.client: Client = LocalClient(
            InProcessApi(api.parts.backend, CONTROLLERS, api.parts.access.part_verbs)
        )
        self.namespace = namespace
        self._api = api

    async def forget_history(self) -> None:
        store = self._api.parts.backend.store
        await store.compact(store.revision)

    async def no_watches(self) -> None:
        """Its cursor is closed before the watch is left (see test_local.py)."""


class Http:
    def __init__(self, client: Client, server: RealServer, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self._server = server

    async def forget_history(self) -> None:
        self._server.stop()
        self._server.start()

    async def no_watches(self) -> None:
        await until(lambda: self._watches() == 0)

    def _watches(self) -> int:
        text = self._server.ask("GET", "/metrics").body.decode()
        return sum(
            int(float(line.rpartition(" ")[2]))
            for line in text.splitlines()
            if line.startswith("apiserver_longrunning_requests{")
            and 'resource="persistentvolumeclaims"' in line
        )


@asynccontextmanager
async def local_transport(pki: Pki, directory: Path) -> AsyncIterator[Transport]:
    async with running_api(pki, directory) as api:
        transport = Local(api, f"team-{next(_numbers)}")
        await transport.client.create(Namespace, a_namespace(transport.namespace))
        yield transport


@asynccontextmanager
async def http_transport(server: RealServer) -> AsyncIterator[Transport]:
    async with connect(server.kubeconfig, RealClock()) as client:
        transport = Http(client, server, f"team-{next(_numbers)}")
        await client.create(Namespace, a_namespace(transport.namespace))
        yield transport
