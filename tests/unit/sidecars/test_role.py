"""Sidecars of many drivers in one process, on real sockets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import SIDECARS
from mooring.client.contract import EVERYTHING, Change, Scope, T
from mooring.client.local import LocalClient
from mooring.clock import RealClock
from mooring.csi.capability import ControllerCapability, NodeCapability, PluginService
from mooring.csi.proto import csi_pb2
from mooring.model.volume import Volume
from mooring.reconcile.lease import Terms
from mooring.reconcile.loops import Loops
from mooring.reconcile.shared_informer import SharedInformer, SharedInformers
from mooring.sidecars.driver_flags import parse_flags
from mooring.sidecars.options import SidecarOptions
from mooring.sidecars.role import NO_LEASES, Leases, SidecarsRole
from mooring.sidecars.role import SIDECARS as ALL
from tests.api.conftest import api, pki  # noqa: F401  fixtures
from tests.fakes.api import ApiUnderTest
from tests.fakes.csi_driver import FakeCsiDriver
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CLASSES,
    CSI_NODES,
    VOLUMES,
    a_claim,
    a_class,
    a_lease,
)

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
MADE_BY = "volume.kubernetes.io/storage-provisioner"
SELECTED = "volume.kubernetes.io/selected-node"


@asynccontextmanager
async def running(role: SidecarsRole) -> AsyncIterator[SidecarsRole]:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(role.run())
        await role.synced()
        yield role
        task.cancel()


def role_on(
    api: ApiUnderTest,  # noqa: F811  the fixture
    *sidecars: str,
    leases: Leases = NO_LEASES,
    node: str = "",
) -> SidecarsRole:
    parts = api.parts
    client = LocalClient(InProcessApi(parts.backend, SIDECARS, check=parts.access.check))
    loops = Loops(SidecarsRole.name, client, RealClock(), Random(1))  # noqa: S311  no secret
    return SidecarsRole(loops, SidecarOptions(node=node), leases, sidecars or ALL)


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    clock = RealClock()
    async with asyncio.timeout(10):
        while not await look():
            await clock.sleep(0.01)


async def a_claim_of(api: ApiUnderTest, driver: str, name: str) -> None:  # noqa: F811
    """As the binder leaves it for the driver's provisioner."""
    await api.post(CLASSES, {**a_class(f"class-{name}"), "provisioner": driver})
    claim = a_claim(name, storageClassName=f"class-{name}")
    claim["metadata"]["annotations"] = {MADE_BY: driver}
    answer = await api.post(CLAIMS, claim)
    assert answer.code == 201, answer.text


async def handles(api: ApiUnderTest) -> set[str]:  # noqa: F811
    items = (await api.get(VOLUMES)).doc["items"]
    return {item["spec"]["csi"]["driver"] for item in items}


@pytest.fixture
async def drivers(tmp_path: Path) -> AsyncIterator[list[FakeCsiDriver]]:
    made = [FakeCsiDriver(tmp_path / f"{number}.sock") for number in range(3)]
    for number, driver in enumerate(made):
        driver.state.name = f"d{number}.example.com"
        driver.state.plugin = {PluginService.CONTROLLER_SERVICE}
    async with made[0], made[1], made[2]:
        yield made


async def test_every_driver_that_is_added_is_served_and_none_that_is_removed(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
) -> None:
    role = role_on(api)
    role.add(drivers[0].state.name, str(drivers[0].socket))
    async with running(role):
        role.add(drivers[1].state.name, str(drivers[1].socket))
        for number in range(2):
            await a_claim_of(api, drivers[number].state.name, f"c{number}")
        await until(lambda: _all_of(api, {"d0.example.com", "d1.example.com"}))
        role.remove(drivers[0].state.name)
        await a_claim_of(api, drivers[0].state.name, "later")
        await a_claim_of(api, drivers[1].state.name, "other")
        await until(lambda: _volumes(api, 3))
    assert len(drivers[0].state.volumes) == 1
    assert len(drivers[1].state.volumes) == 2


async def test_on_its_own_node_a_driver_is_served_that_names_its_place(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
    caplog: pytest.LogCaptureFixture,
) -> None:
    placed, unplaced = drivers[0], drivers[1]
    for driver in (placed, unplaced):
        driver.state.plugin.add(PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS)
    placed.state.topology = {"host": "n1"}
    role = role_on(api, "provisioner", node="n1")
    async with running(role):
        for number, driver in enumerate((unplaced, placed)):
            role.add(driver.state.name, str(driver.socket))
            await a_claim_of(api, driver.state.name, f"c{number}")
            selected = {"metadata": {"annotations": {SELECTED: "n1"}}}
            await api.patch(f"{CLAIMS}/c{number}", selected)
        await until(lambda: _volumes(api, 1))
        await until(lambda: _is_said(caplog, "names no place"))
    assert (len(placed.state.volumes), len(unplaced.state.volumes)) == (1, 0)
    (said,) = (each for each in caplog.messages if "names no place" in each)
    assert "driver=d1.example.com" in said


async def _is_said(caplog: pytest.LogCaptureFixture, words: str) -> bool:
    return any(words in message for message in caplog.messages)


async def test_a_driver_is_counted_while_it_is_served(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
) -> None:
    role = role_on(api)
    first, second = drivers[0], drivers[1]
    async with running(role):
        for driver in (first, second):
            role.add(driver.state.name, str(driver.socket))
        await a_claim_of(api, first.state.name, "c0")
        await until(lambda: _volumes(api, 1))
        await until(lambda: _counts_queues_of(role, first, second))
        role.remove(first.state.name)
        await until(lambda: _counts_queues_of(role, second))
        provisioned = "controller_persistentvolumeclaim_provision_total"
        assert _samples(role, provisioned) == {"class-c0"}, "it was, whoever is served by now"
        role.add(first.state.name, str(first.socket))
        await until(lambda: _counts_queues_of(role, first, second))


async def _counts_queues_of(role: SidecarsRole, *drivers: FakeCsiDriver) -> bool:
    parts = (
        *("claims", "volumes", "capacity", "attachments", "attached_volumes"),
        *("snapshot_contents", "group_snapshot_contents", "health"),
    )
    names = {f"{driver.state.name}/{part}" for driver in drivers for part in parts}
    names |= {f"{driver.state.name}-pvc" for driver in drivers}
    recorders = {driver.state.name for driver in drivers}
    recorders |= {f"external-resizer {driver.state.name}" for driver in drivers}
    recorders |= {f"csi-snapshotter {driver.state.name}" for driver in drivers}
    recorders |= {f"{driver.state.name}/health" for driver in drivers}
    is_shown = _samples(role, "workqueue_adds_total") == names
    return is_shown and _samples(role, "mooring_recorder_events_total") == recorders


def _samples(role: SidecarsRole, name: str) -> set[str]:
    """The first label of each; a label is there once."""
    (collector,) = role.collectors()
    found = [
        tuple(sample.labels.values())
        for family in collector.collect()
        for sample in family.samples
        if sample.name == name
    ]
    assert len(set(found)) == len(found)
    return {labels[0] for labels in found}


async def test_a_driver_that_goes_leaves_no_handler(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
) -> None:
    client = LocalClient(InProcessApi(api.parts.backend, SIDECARS))
    informers = SharedInformers(client, RealClock(), Random(2))  # noqa: S311  no secret
    loops = Loops(SidecarsRole.name, client, RealClock(), Random(1), informers)  # noqa: S311
    role = SidecarsRole(loops, SidecarOptions())
    volumes = informers.share(Volume)
    assert isinstance(volumes, SharedInformer)
    async with asyncio.TaskGroup() as tasks:
        shared = tasks.create_task(informers.run())
        async with running(role):
            before = len(volumes._reflector._listeners)
            for _ in range(3):
                role.add(drivers[0].state.name, str(drivers[0].socket))
                await until(lambda: _handlers_are(volumes, before + 3))
                role.remove(drivers[0].state.name)
                await until(lambda: _handlers_are(volumes, before))
        shared.cancel()


async def _handlers_are(volumes: SharedInformer[Volume], count: int) -> bool:
    return len(volumes._reflector._listeners) == count


async def test_a_socket_that_lies_about_its_name_is_not_served(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
) -> None:
    role = role_on(api)
    async with running(role):
        role.add("d0.example.com", str(drivers[1].socket))
        role.add("d2.example.com", str(drivers[2].socket))
        await a_claim_of(api, "d0.example.com", "c0")
        await a_claim_of(api, "d1.example.com", "c1")
        await a_claim_of(api, "d2.example.com", "c2")
        await until(lambda: _all_of(api, {"d2.example.com"}))
    assert not drivers[1].state.volumes


async def test_a_driver_that_comes_back_able_to_attach_is_served_so(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
) -> None:
    driver = drivers[0]
    able, driver.state.controller = driver.state.controller, set()
    role = role_on(api, "attacher")
    role.add(driver.state.name, str(driver.socket))
    async with running(role):
        await _attachment(api, driver.state.name, "first")
        await until(lambda: _attached(api, "first"))
        assert not driver.state.attachments
        await driver.stop()
        driver.state.controller = able
        await driver.start()
        await until(lambda: _serves_attachments(api, driver))
    assert driver.state.attachments


async def test_leases_have_the_names_of_those_of_upstream(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
) -> None:
    role = role_on(api, leases=Leases("kube-system"))
    role.add_unnamed(str(drivers[0].socket))
    async with running(role):
        await a_claim_of(api, drivers[0].state.name, "c0")
        await until(lambda: _volumes(api, 1))
        leases = (await api.get(LEASES)).doc["items"]
    assert {lease["metadata"]["name"] for lease in leases} == {
        "d0-example-com",
        "external-attacher-leader-d0-example-com",
        "external-health-monitor-leader-d0-example-com",
        "external-resizer-d0-example-com",
        "external-snapshotter-leader-d0-example-com",
    }


async def test_a_driver_whose_own_sidecar_holds_the_lease_elsewhere_is_left_to_it(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
) -> None:
    driver = drivers[0]
    answer = await api.post(LEASES, a_lease("d0-example-com", "their-pod"))
    assert answer.code == 201, answer.text
    role = role_on(api, leases=Leases("default", yields=True))
    role.add(driver.state.name, str(driver.socket))
    async with running(role):
        await a_claim_of(api, driver.state.name, "theirs")
        await _attachment(api, driver.state.name, "ours")
        await until(lambda: _serves_attachments(api, driver))
        assert not driver.state.names, "its attacher has no lease, its provisioner has"
        lease = f"{LEASES}/d0-example-com"
        await api.patch(lease, {"spec": {"holderIdentity": ""}})
        await until(lambda: _has_volumes_made(driver, 1))
        await api.patch(lease, {"spec": {"holderIdentity": "their-pod"}})
        ours = "/apis/coordination.k8s.io/v1/namespaces/default/leases/d0-example-com"
        await until(lambda: _is_given_back(api, ours))
        await a_claim_of(api, driver.state.name, "theirs-too")
        role.add(drivers[1].state.name, str(drivers[1].socket))
        await a_claim_of(api, drivers[1].state.name, "later")
        await until(lambda: _has_volumes_made(drivers[1], 1))
    assert len(driver.state.names) == 1


async def test_a_lease_that_anybody_can_make_does_not_stop_a_driver_without_own_sidecars(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
) -> None:
    driver = drivers[0]
    squatted = a_lease("d0-example-com", "a-tenant")
    assert (await api.post(LEASES, squatted)).code == 201
    alone = frozenset({driver.state.name})
    role = role_on(api, leases=Leases("default", yields=True, alone_for=alone))
    role.add(driver.state.name, str(driver.socket))
    async with running(role):
        await a_claim_of(api, driver.state.name, "ours")
        await until(lambda: _has_volumes_made(driver, 1))


async def _has_volumes_made(driver: FakeCsiDriver, count: int) -> bool:
    return len(driver.state.names) == count


async def _is_given_back(api: ApiUnderTest, lease: str) -> bool:  # noqa: F811
    return not (await api.get(lease)).doc["spec"].get("holderIdentity")


class Behind(LocalClient):
    """Its watches bring nothing: what is new is seen by lists alone."""

    @asynccontextmanager
    async def watch(
        self, kind: type[T], version: str, scope: Scope = EVERYTHING
    ) -> AsyncIterator[AsyncIterator[Change[T]]]:
        yield self._nothing()

    async def _nothing(self) -> AsyncIterator[Change[T]]:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")
        yield


async def test_what_the_leader_before_wrote_last_is_known_to_who_takes_over(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
) -> None:
    """The watch is behind: without another list, the claim would wait for the next change of it."""
    driver, lease = drivers[0], f"{LEASES}/d0-example-com"
    assert (await api.post(LEASES, a_lease("d0-example-com", "another"))).code == 201
    client = Behind(InProcessApi(api.parts.backend, SIDECARS, check=api.parts.access.check))
    loops = Loops(SidecarsRole.name, client, RealClock(), Random(1))  # noqa: S311  no secret
    quick = Terms(lease=2, renew_deadline=1.0, retry=0.05)
    role = SidecarsRole(
        loops, SidecarOptions(), Leases("kube-system", terms=quick), ["provisioner"]
    )
    role.add(driver.state.name, str(driver.socket))
    async with running(role):
        await a_claim_of(api, driver.state.name, "late")
        await api.patch(lease, {"spec": {"holderIdentity": ""}})
        await until(lambda: _has_volumes_made(driver, 1))


async def test_a_driver_has_the_flags_that_are_its_own(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
) -> None:
    parts = api.parts
    client = LocalClient(InProcessApi(parts.backend, SIDECARS, check=parts.access.check))
    loops = Loops(SidecarsRole.name, client, RealClock(), Random(1))  # noqa: S311  no secret
    flagged = parse_flags(["d0.example.com:extra-create-metadata=true"], SidecarOptions())
    role = SidecarsRole(loops, SidecarOptions(), NO_LEASES, ALL, flagged)
    for driver in drivers[:2]:
        role.add(driver.state.name, str(driver.socket))
    async with running(role):
        for number in range(2):
            await a_claim_of(api, drivers[number].state.name, f"c{number}")
        await until(lambda: _volumes(api, 2))
    told = ["csi.storage.k8s.io/pvc/name" in _created_with(driver) for driver in drivers[:2]]
    assert told == [True, False]


def _created_with(driver: FakeCsiDriver) -> dict[str, str]:
    (request,) = driver.requests("CreateVolume")
    assert isinstance(request, csi_pb2.CreateVolumeRequest)
    return dict(request.parameters)


async def test_a_driver_without_snapshots_has_no_snapshotter(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
) -> None:
    drivers[0].state.controller.discard(ControllerCapability.CREATE_DELETE_SNAPSHOT)
    role = role_on(api, leases=Leases("kube-system"))
    role.add_unnamed(str(drivers[0].socket))
    async with running(role):
        await a_claim_of(api, drivers[0].state.name, "c0")
        await until(lambda: _volumes(api, 1))
        names = {each["metadata"]["name"] for each in (await api.get(LEASES)).doc["items"]}
    assert "external-snapshotter-leader-d0-example-com" not in names


async def test_a_driver_that_neither_grows_nor_changes_volumes_has_no_resizer(
    api: ApiUnderTest,  # noqa: F811  the fixture
    drivers: list[FakeCsiDriver],
) -> None:
    driver = drivers[0]
    driver.state.controller.discard(ControllerCapability.CREATE_DELETE_SNAPSHOT)
    driver.state.controller = driver.state.controller - {
        ControllerCapability.EXPAND_VOLUME,
        ControllerCapability.MODIFY_VOLUME,
    }
    driver.state.node = driver.state.node - {NodeCapability.EXPAND_VOLUME}
    role = role_on(api, leases=Leases("kube-system"))
    role.add_unnamed(str(driver.socket))
    async with running(role):
        await a_claim_of(api, driver.state.name, "c0")
        await until(lambda: _volumes(api, 1))
        leases = (await api.get(LEASES)).doc["items"]
    names = {lease["metadata"]["name"] for lease in leases}
    assert names == {
        "d0-example-com",
        "external-attacher-leader-d0-example-com",
        "external-health-monitor-leader-d0-example-com",
    }


async def _all_of(api: ApiUnderTest, names: set[str]) -> bool:  # noqa: F811
    return await handles(api) == names


async def _volumes(api: ApiUnderTest, count: int) -> bool:  # noqa: F811
    return len((await api.get(VOLUMES)).doc["items"]) == count


async def _attached(api: ApiUnderTest, name: str) -> bool:  # noqa: F811
    return bool((await api.get(f"{ATTACHMENTS}/{name}")).doc["status"]["attached"])


async def _attachment(api: ApiUnderTest, driver: str, name: str) -> None:  # noqa: F811
    spec = {"attacher": driver, "nodeName": "n1", "source": {"persistentVolumeName": name}}
    meta = {"kind": "VolumeAttachment", "apiVersion": "storage.k8s.io/v1"}
    answer = await api.post(ATTACHMENTS, {**meta, "metadata": {"name": name}, "spec": spec})
    assert answer.code == 201, answer.text


async def _serves_attachments(api: ApiUnderTest, driver: FakeCsiDriver) -> bool:  # noqa: F811
    """Ask for one more attachment, and look whether the driver has heard of any."""
    name = f"link-{len((await api.get(ATTACHMENTS)).doc['items'])}"
    entry = {"name": driver.state.name, "nodeID": "node-1"}
    node = {"kind": "CSINode", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "n1"}}
    await api.post(CSI_NODES, {**node, "spec": {"drivers": [entry]}})
    csi = {"driver": driver.state.name, "volumeHandle": "vol-x"}
    driver.state.volumes["vol-x"] = csi_pb2.Volume(volume_id="vol-x", capacity_bytes=1)
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": csi}
    volume = {"kind": "PersistentVolume", "apiVersion": "v1", "metadata": {"name": name}}
    await api.post(VOLUMES, {**volume, "spec": spec})
    await _attachment(api, driver.state.name, name)
    return bool(driver.state.attachments)
