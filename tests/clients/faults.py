"""Volumes and snapshots from their making to their end, with a driver whose every call may fail.

`mooring up` and `mooring sidecar all` are processes of their own; the driver is scripted, on a real
socket. Of each pair of objects one is to be deleted with its claim and one is to be retained.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from http.client import MULTIPLE_CHOICES
from pathlib import Path

from mooring.csi.capability import NodeCapability, PluginService
from mooring.csi.outcome import Code
from tests.clients.manifests import Doc
from tests.fakes.csi_driver import After, Behaviour, Fails, FakeCsiDriver, Hangs
from tests.fakes.real_server import RealServer
from tests.fakes.waiting import until

CALL_SECONDS = 1  # then the sidecars give a call up
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
SNAPSHOT_API = "snapshot.storage.k8s.io/v1"
SNAPSHOTS = f"/apis/{SNAPSHOT_API}/namespaces/default/volumesnapshots"
CONTENTS = f"/apis/{SNAPSHOT_API}/volumesnapshotcontents"
SNAPSHOT_CLASSES = f"/apis/{SNAPSHOT_API}/volumesnapshotclasses"
KEPT, DROPPED = "kept", "dropped"
POLICIES = {KEPT: "Retain", DROPPED: "Delete"}


def every_fault(codes: Iterable[Code]) -> list[Behaviour]:
    """Hangs, and each code: once without having done anything, once after all was done."""
    fails = [Fails(code) for code in codes]
    return [Hangs(), After(Hangs()), *fails, *map(After, fails)]


def a_driver(socket: Path) -> FakeCsiDriver:
    driver = FakeCsiDriver(socket)
    driver.state.plugin -= {PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS}
    driver.state.node -= {NodeCapability.EXPAND_VOLUME}
    return driver


class Life:
    """So many claims, and a snapshot of each."""

    def __init__(
        self, server: RealServer, driver: FakeCsiDriver, count: int, seconds: float
    ) -> None:
        self._server = server
        self._driver = driver
        self._count = count
        self._seconds = seconds

    async def run(self, faults: Callable[[str], Sequence[Behaviour]]) -> None:
        """`faults` are those of an RPC, one for each call. Raises: AssertionError, TimeoutError."""
        await self._classes()
        for rpc, step in (
            ("CreateVolume", self._make),
            ("ControllerExpandVolume", self._grow),
            ("CreateSnapshot", self._snap),
            ("DeleteSnapshot", self._delete_snapshots),
            ("DeleteVolume", self._delete_volumes),
        ):
            planned = faults(rpc)
            self._driver.next(rpc, *planned)
            await step()
            assert len(self._driver.requests(rpc)) > len(planned), f"{rpc}: not all came true"
            await self._check()

    async def _classes(self) -> None:
        name = self._driver.state.name
        for kind, policy in POLICIES.items():
            body = {"provisioner": name, "reclaimPolicy": policy, "allowVolumeExpansion": True}
            await self._ask("POST", CLASSES, {"metadata": {"name": kind}, **body})
            body = {"driver": name, "deletionPolicy": policy}
            doc = {"apiVersion": SNAPSHOT_API, "kind": "VolumeSnapshotClass"}
            await self._ask("POST", SNAPSHOT_CLASSES, {**doc, "metadata": {"name": kind}, **body})

    async def _make(self) -> None:
        for name, kind in self._names():
            spec = {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": kind,
                "resources": {"requests": {"storage": "1Gi"}},
            }
            await self._ask("POST", CLAIMS, {"metadata": {"name": name}, "spec": spec})
        await self._wait(CLAIMS, lambda claim: claim["status"].get("phase") == "Bound", self._count)

    async def _grow(self) -> None:
        wanted = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        for name, _ in self._names():
            await self._ask("PATCH", f"{CLAIMS}/{name}", wanted)
        await self._wait(
            CLAIMS, lambda claim: claim["status"]["capacity"]["storage"] == "2Gi", self._count
        )

    async def _snap(self) -> None:
        for name, kind in self._names():
            source = {"persistentVolumeClaimName": name}
            spec = {"source": source, "volumeSnapshotClassName": kind}
            doc = {"apiVersion": SNAPSHOT_API, "kind": "VolumeSnapshot", "spec": spec}
            await self._ask("POST", SNAPSHOTS, {**doc, "metadata": {"name": name}})
        await self._wait(
            SNAPSHOTS, lambda one: one.get("status", {}).get("readyToUse") is True, self._count
        )

    async def _delete_snapshots(self) -> None:
        for name, _ in self._names():
            await self._ask("DELETE", f"{SNAPSHOTS}/{name}")
        await self._wait(SNAPSHOTS, lambda _: True, 0)
        await self._wait(CONTENTS, _is_kept("deletionPolicy"), self._count // 2)
        assert len(self._driver.state.snapshots) == self._count // 2

    async def _delete_volumes(self) -> None:
        for name, _ in self._names():
            await self._ask("DELETE", f"{CLAIMS}/{name}")
        await self._wait(CLAIMS, lambda _: True, 0)
        await self._wait(VOLUMES, _is_kept("persistentVolumeReclaimPolicy"), self._count // 2)
        assert len(self._driver.state.volumes) == self._count // 2

    async def _check(self) -> None:
        """What the API knows is what the driver has: nothing is lost, and nothing leaked."""
        volumes, contents = await self._list(VOLUMES), await self._list(CONTENTS)
        handles = sorted(one["spec"]["csi"]["volumeHandle"] for one in volumes)
        assert handles == sorted(self._driver.state.volumes)
        handles = sorted(one["status"]["snapshotHandle"] for one in contents)
        assert handles == sorted(self._driver.state.snapshots)

    def _names(self) -> Iterable[tuple[str, str]]:
        for number in range(self._count):
            yield f"one-{number}", KEPT if number % 2 else DROPPED

    async def _wait(self, path: str, is_so: Callable[[Doc], bool], count: int) -> None:
        """Until there are exactly so many, and all are so."""

        def is_reached() -> bool:
            found = self._server.ask("GET", path).doc["items"]
            return len(found) == count and all(map(is_so, found))

        await until(is_reached, self._seconds)

    async def _list(self, path: str) -> list[Doc]:
        found: list[Doc] = (await self._ask("GET", path))["items"]
        return found

    async def _ask(self, method: str, path: str, body: Doc | None = None) -> Doc:
        merge = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else None
        reply = await asyncio.to_thread(self._server.ask, method, path, body, merge)
        assert reply.code < MULTIPLE_CHOICES, reply.doc
        return reply.doc


def _is_kept(field: str) -> Callable[[Doc], bool]:
    return lambda found: bool(found["spec"][field] == "Retain")
