"""The role `snapshot-metadata`: serves the changed blocks of one driver's snapshots, with TLS.

It takes no lease: it writes nothing, so every replica serves.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import msgspec
from prometheus_client.registry import Collector

from mooring import log
from mooring.csi.capability import PluginService
from mooring.csi.cause import asked_by
from mooring.csi.channel import Connection
from mooring.csi.metrics import OF_SIDECAR, calls_histogram, observing
from mooring.csi.proto import health_pb2, snapshotmetadata_pb2
from mooring.csi.serve_tls import TlsFiles, serving_tls
from mooring.csi.snapshot_metadata import SnapshotMetadata
from mooring.errors import AlreadyExists, ApiError, ConnectionLost, UsageError
from mooring.model.backoff import Backoff
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.snapshot_metadata_service import SnapshotMetadataService
from mooring.reconcile.loops import Loops
from mooring.sidecars.driver import Driver
from mooring.sidecars.driver_connection import DriverConnection
from mooring.sidecars.snapshot_metadata.calls import Limits, MetadataCalls
from mooring.sidecars.snapshot_metadata.effects import Questions
from mooring.sidecars.snapshot_metadata.metrics import metadata_histogram
from mooring.sidecars.snapshotter.caches import Caches

NAME: Final = "snapshot-metadata"
DEFAULT_PORT: Final = 50051
GRACE_SECONDS = 5.0  # for running streams when it is stopped: clients go on with another replica
AGAIN = Backoff(first=0.2, cap=30.0)

_log = log.get("mooring.sidecars")
_SERVICE = snapshotmetadata_pb2.DESCRIPTOR.services_by_name["SnapshotMetadata"]
_HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"]


class Place(msgspec.Struct, frozen=True):
    """Where it listens, and with which certificate."""

    host: str
    port: int  # 0: any that is free
    tls: TlsFiles


class Introduction(msgspec.Struct, frozen=True):
    """How clients find and trust it: written into a SnapshotMetadataService."""

    host: str
    authority: bytes  # PEM
    audience: str


class MetadataOptions(msgspec.Struct, frozen=True):
    audience: str = ""  # empty: that of the SnapshotMetadataService
    limits: Limits = Limits()
    introduction: Introduction | None = None  # None: somebody else makes the object


AS_UPSTREAM: Final = MetadataOptions()


class SnapshotMetadataRole:
    """`Role`, `Settling`, for the driver at `endpoint`."""

    name: Final = NAME

    def __init__(
        self, loops: Loops, endpoint: str, place: Place, options: MetadataOptions = AS_UPSTREAM
    ) -> None:
        self.port = 0  # that it listens on, once it does
        self._loops = loops
        self._endpoint = endpoint
        self._place = place
        self._options = options
        self._caches = Caches(loops)
        self._calls_seconds = calls_histogram(OF_SIDECAR)
        self._seconds = metadata_histogram()
        self._is_ready = asyncio.Event()
        loops.count(self._calls_seconds, self._seconds)
        loops.add(self._serve)

    async def run(self) -> None:
        with asked_by(NAME):
            await self._loops.run()

    async def synced(self) -> None:
        await self._loops.synced()

    async def ready(self) -> None:
        await self._is_ready.wait()

    def collectors(self) -> Iterable[Collector]:
        return self._loops.collectors()

    async def _serve(self) -> None:
        await self._caches.synced()  # whose snapshots a handle is
        loops, place, options = self._loops, self._place, self._options
        observer = observing(self._calls_seconds)
        async with Connection(self._endpoint, observer=observer, clock=loops.clock) as connection:
            questions = Questions(loops.client, self._caches.contents, options.audience)
            blocks = SnapshotMetadata(connection)
            calls = MetadataCalls(questions, blocks, options.limits, self._seconds, loops.clock)
            services = {_SERVICE: calls, _HEALTH: _Health(calls)}
            serving = serving_tls(place.host, place.port, place.tls, services, grace=GRACE_SECONDS)
            async with serving as self.port:
                there = DriverConnection(connection, loops.clock)
                driver = await there.wait_ready()
                while True:
                    calls.driver = _able(driver)
                    await self._introduce(driver.name)
                    self._is_ready.set()
                    _log.info("serving snapshot metadata", driver=driver.name, port=self.port)
                    driver = await there.changed(driver)

    async def _introduce(self, driver: str) -> None:
        told = self._options.introduction
        if told is None:
            return
        spec: Doc = {
            "address": f"{told.host}:{self.port}",
            "audience": told.audience,
            "caCert": msgspec.to_builtins(told.authority),  # base64
        }
        failures = 0
        while True:
            try:
                await self._write_service(driver, spec)
                return
            except (ApiError, ConnectionLost) as error:
                failures += 1
                _log.warning("the snapshot metadata service is not introduced", because=error)
                await self._loops.clock.sleep(AGAIN.delay(failures, 0.0))

    async def _write_service(self, driver: str, spec: Doc) -> None:
        client = self._loops.client
        with suppress(AlreadyExists):
            document: Doc = {"metadata": {"name": driver}, "spec": spec}
            await client.create(SnapshotMetadataService, document)
            return
        seen = await client.get(SnapshotMetadataService, Key("", driver))
        if msgspec.to_builtins(seen.spec) != spec:
            await client.patch(seen, {"spec": spec})


def _able(driver: Driver) -> str:
    """Its name. Raises: UsageError when it cannot tell."""
    if PluginService.SNAPSHOT_METADATA_SERVICE not in driver.abilities.services:
        raise UsageError(
            f"the driver {driver.name} does not tell changed blocks: it lacks the capability "
            "SNAPSHOT_METADATA_SERVICE; do not run snapshot-metadata for it"
        )
    return driver.name


class _Health:
    """The servicer of gRPC's own health check."""

    def __init__(self, calls: MetadataCalls) -> None:
        self._calls = calls

    async def Check(
        self, _: health_pb2.HealthCheckRequest, __: object
    ) -> health_pb2.HealthCheckResponse:
        return health_pb2.HealthCheckResponse(
            status="SERVING" if self._calls.driver else "NOT_SERVING"
        )
