"""Services and their slices as the API tells them, found by what names are made of."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from random import Random

from mooring.client.contract import EVERYTHING, Client
from mooring.clock import Clock
from mooring.model.endpoint_slice import EndpointSlice
from mooring.model.keys import Key
from mooring.model.service import Service
from mooring.reconcile.reflector import Reflector

_IN_NAMESPACE = "services by namespace"
_OF_SERVICE = "slices by service"
_AT = "slices by address"


class ServiceCatalog:
    """`Catalog`. `run` keeps it current until cancelled."""

    def __init__(self, client: Client, clock: Clock, rng: Random) -> None:
        self._services = Reflector(client, Service, EVERYTHING, clock, rng)
        self._slices = Reflector(client, EndpointSlice, EVERYTHING, clock, rng)
        self._services.add_index(_IN_NAMESPACE, lambda service: [service.namespace])
        self._slices.add_index(_OF_SERVICE, _service_of)
        self._slices.add_index(_AT, _addresses)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._services.run())
            tasks.create_task(self._slices.run())

    async def synced(self) -> None:
        await self._services.synced.wait()
        await self._slices.synced.wait()

    def service(self, key: Key) -> Service | None:
        return self._services.get(key)

    def has_services(self, namespace: str) -> bool:
        return bool(self._services.by_index(_IN_NAMESPACE, namespace))

    def slices(self, service: Key) -> Sequence[EndpointSlice]:
        return self._slices.by_index(_OF_SERVICE, service)

    def slices_at(self, ip: str) -> Sequence[EndpointSlice]:
        return self._slices.by_index(_AT, ip)


def _service_of(each: EndpointSlice) -> Iterable[Key]:
    return [Key(each.namespace, each.service_name)] if each.service_name else []


def _addresses(each: EndpointSlice) -> Iterable[str]:
    found = set()
    for endpoint in each.endpoints or ():
        for address in endpoint.addresses[:1]:
            with suppress(ValueError):
                found.add(str(ip_address(address)))
    return found
