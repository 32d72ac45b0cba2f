"""A fake driver, a fake API server that reviews tokens, and the service between them, with TLS."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import msgspec

from mooring.apiserver.auth.pki import Pki, open_pki
from mooring.client.contract import T
from mooring.clock import RealClock
from mooring.csi.capability import PluginService
from mooring.csi.outcome import Code
from mooring.csi.proto import snapshotmetadata_pb2 as api
from mooring.csi.serve_tls import TlsFiles
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.review import (
    AccessVerdict,
    SubjectAccessReview,
    TokenReview,
    TokenVerdict,
    UserInfo,
)
from mooring.model.snapshot import Snapshot, SnapshotClass, SnapshotContent
from mooring.model.snapshot_metadata_service import SnapshotMetadataService
from mooring.reconcile.loops import Loops
from mooring.sidecars.snapshot_metadata.run import (
    NAME,
    Introduction,
    MetadataOptions,
    Place,
    SnapshotMetadataRole,
)
from tests.fakes import objects
from tests.fakes.client import FakeClient
from tests.fakes.csi_driver import FakeCsiDriver
from tests.fakes.fake_server import FakeServer

DRIVER = "fake.csi.mooring.dev"
AUDIENCE = "blocks"
TOKEN = "good-token"
PATH = "/snapshotmetadata.SnapshotMetadata"


class ReviewingClient(FakeClient):
    """One token is known; its owner may read the snapshots of these namespaces."""

    readable = frozenset({"default"})

    async def create(self, kind: type[T], doc: Doc) -> T:
        if kind not in (TokenReview, SubjectAccessReview):
            return await super().create(kind, doc)
        self.calls.append(f"create {kind.resource.kind}")
        spec = doc["spec"]
        verdict: Any
        if kind is TokenReview:
            is_known = spec["token"] == TOKEN and AUDIENCE in spec["audiences"]
            user = UserInfo("system:serviceaccount:default:backup", groups=("g",))
            told = (AUDIENCE,) if is_known else ()
            verdict = TokenVerdict(is_known, user, told)
        else:
            asked = spec["resourceAttributes"]
            assert (asked["verb"], asked["resource"]) == ("get", "volumesnapshots")
            verdict = AccessVerdict(asked["namespace"] in self.readable, "no role allows it")
        found: T = msgspec.structs.replace(kind(), status=verdict)
        return found


class Failed(msgspec.Struct, frozen=True):
    code: Code
    text: str


class World:
    def __init__(self, driver: FakeCsiDriver, pki: Pki, options: MetadataOptions) -> None:
        self.clock = clock = RealClock()
        self.driver = driver
        self.server = FakeServer(clock)
        self.client = ReviewingClient(self.server, clock)
        self.pki = pki
        loops = Loops(NAME, self.client, clock, random.Random(1))  # noqa: S311  a fake
        tls = TlsFiles(pki.server_file, pki.server_file)
        self.role = SnapshotMetadataRole(
            loops, str(driver.socket), Place("127.0.0.1", 0, tls), options
        )

    def add_snapshot(self, name: str, handle: str, namespace: str = "default") -> None:
        snapshot, content = objects.a_snapshot(name), objects.a_snapshot_content(f"of-{name}")
        snapshot["metadata"]["namespace"] = namespace
        snapshot["status"] = {
            "readyToUse": True,
            "boundVolumeSnapshotContentName": f"of-{name}",
        }
        content["spec"]["driver"] = DRIVER
        content["spec"]["volumeSnapshotRef"] = {"name": name, "namespace": namespace}
        content["status"] = {"readyToUse": True, "snapshotHandle": handle}
        self.server.create(Snapshot, snapshot)
        self.server.create(SnapshotContent, content)

    def patch(self, kind: type[ApiObject], key: Key, main: Doc, status: Doc) -> None:
        self.server.patch(self.server.get(kind, key), main, status)

    @asynccontextmanager
    async def channel(self) -> AsyncIterator[grpc.aio.Channel]:
        trust = grpc.ssl_channel_credentials(self.pki.ca_certificate)
        async with grpc.aio.secure_channel(f"127.0.0.1:{self.role.port}", trust) as channel:
            yield channel

    async def allocated(self, **fields: Any) -> list[tuple[int, int]] | Failed:
        asked = {"security_token": TOKEN, "namespace": "default", "snapshot_name": "one"} | fields
        request = api.GetMetadataAllocatedRequest(**asked)
        return await self._ask("GetMetadataAllocated", request, api.GetMetadataAllocatedResponse)

    async def changed(self, **fields: Any) -> list[tuple[int, int]] | Failed:
        asked = {
            "security_token": TOKEN,
            "namespace": "default",
            "base_snapshot_id": "s1",
            "target_snapshot_name": "two",
        } | fields
        request = api.GetMetadataDeltaRequest(**asked)
        return await self._ask("GetMetadataDelta", request, api.GetMetadataDeltaResponse)

    async def _ask(self, method: str, request: Any, reply: Any) -> list[tuple[int, int]] | Failed:
        found: list[tuple[int, int]] = []
        async with self.channel() as channel:
            call = channel.unary_stream(
                f"{PATH}/{method}",
                request_serializer=type(request).SerializeToString,
                response_deserializer=reply.FromString,
            )
            try:
                async for message in call(request, timeout=20):
                    ranges = message.block_metadata
                    found += [(each.byte_offset, each.size_bytes) for each in ranges]
            except grpc.aio.AioRpcError as error:
                return Failed(Code(error.code().value[0]), error.details() or "")
        return found


@asynccontextmanager
async def a_world(path: Path, options: MetadataOptions | None = None) -> AsyncIterator[World]:
    """Serving, with the snapshots `one` (s1) and `two` (s2) of the namespace `default`."""
    pki = open_pki(path / "pki", now=RealClock().now(), host_name="here")
    told = Introduction("127.0.0.1", pki.ca_certificate, AUDIENCE)
    chosen = options or MetadataOptions()
    async with FakeCsiDriver(path / "csi.sock") as driver:
        driver.state.plugin.add(PluginService.SNAPSHOT_METADATA_SERVICE)
        driver.state.blocks = {"s1": [(0, 10), (20, 5), (40, 1)], "s2": [(0, 10), (20, 6)]}
        world = World(driver, pki, msgspec.structs.replace(chosen, introduction=told))
        world.server.create(SnapshotClass, objects.a_snapshot_class())
        world.add_snapshot("one", "s1")
        world.add_snapshot("two", "s2")
        running = asyncio.create_task(world.role.run())
        await world.role.ready()
        try:
            yield world
        finally:
            running.cancel()
            await asyncio.wait([running])


def service_of(world: World) -> SnapshotMetadataService:
    (found,) = world.server.list(SnapshotMetadataService).readable
    return found
