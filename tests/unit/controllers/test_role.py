"""All controllers over an API in this process: what they ask of it, and what they count."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from mooring.apiserver.api.in_process import Cursor, InProcessApi
from mooring.apiserver.auth.attributes import AccessAttributes
from mooring.apiserver.auth.authorize import Authorizer
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.contract import Scope
from mooring.client.local import LocalClient
from mooring.controllers import role
from mooring.controllers.options import Options
from mooring.errors import StoreError, UsageError
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import Resource
from mooring.model.timestamp import to_seconds
from mooring.model.wellknown import Annotation, TaintKey
from mooring.plugins.csi.attachment_name import attachment_name
from mooring.plugins.host_path.provision import HostPathProvisioning
from mooring.plugins.host_path.volumes import HostPathPlugin
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest, make_pki, running_api
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CLASSES,
    DAEMON_SETS,
    DEFAULT,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    ENDPOINTS,
    NODES,
    PODS,
    REPLICA_SETS,
    SNAPSHOTS,
    STATEFUL_SETS,
    VOLUMES,
    a_claim,
    a_class,
    a_daemon_set,
    a_deployment,
    a_node,
    a_pod,
    a_replica_set,
    a_stateful_set,
    a_volume,
)
from tests.scenarios.snapshots.cluster import GROUPS, Cluster

TURNS = 300  # more than any of this takes
GONE = "gone"
SERVER = {"name": "server", "labels": {"app": "web"}}


class Noted:
    """A server in this process that writes down what it was asked for."""

    def __init__(self, api: InProcessApi) -> None:
        self.attempts: set[AccessAttributes] = set()
        self._api = api

    def _note(self, verb: str, resource: Resource, part: str = "") -> None:
        self.attempts.add(
            AccessAttributes(
                verb, resource.group, resource.version, resource.plural, subresource=part
            )
        )

    async def get(self, resource: Resource, key: Key) -> bytes:
        self._note("get", resource)
        return await self._api.get(resource, key)

    async def list(self, resource: Resource, scope: Scope) -> tuple[Sequence[bytes], str]:
        self._note("list", resource)
        return await self._api.list(resource, scope)

    async def watch(
        self, resource: Resource, version: str, scope: Scope, on_change: Callable[[], None]
    ) -> Cursor:
        self._note("watch", resource)
        return await self._api.watch(resource, version, scope, on_change)

    async def create(self, resource: Resource, doc: Doc) -> bytes:
        self._note("create", resource)
        return await self._api.create(resource, doc)

    async def patch(
        self, resource: Resource, key: Key, version: str, changes: Sequence[tuple[str, Doc]]
    ) -> bytes:
        for part, _ in changes:
            self._note("patch", resource, part)
        return await self._api.patch(resource, key, version, changes)

    async def post(self, resource: Resource, key: Key, part: str, doc: Doc) -> bytes:
        self._note("create", resource, part)
        return await self._api.post(resource, key, part, doc)

    async def delete(self, resource: Resource, key: Key, uid: str, grace: int | None) -> None:
        self._note("delete", resource)
        await self._api.delete(resource, key, uid, grace)


class World:
    def __init__(self, api: ApiUnderTest, temporary: Path) -> None:
        self.api = api
        self.asked = Noted(InProcessApi(api.parts.backend, CONTROLLERS))
        host_path = HostPathPlugin(temporary, HostPathProvisioning.ON)
        rng = random.Random(1)  # noqa: S311  not for secrets
        loops = Loops(role.NAME, LocalClient(self.asked), api.clock, rng)
        self.controllers = role.build(loops, Options(host_path))
        self.running = asyncio.create_task(self.controllers.run())

    async def until(self, path: str, phase: str) -> None:
        """Let it happen. The hostPath plugin works in a thread, so turns alone do not suffice."""
        seen = ""
        for _ in range(TURNS):
            answer = await self.api.get(path)
            seen = GONE if answer.code == 404 else answer.doc["status"].get("phase", "")
            if seen == phase:
                return
            await asyncio.to_thread(int)
            await self.api.clock.advance(0.1)
        pytest.fail(f"{path} does not become {phase} but {seen}")


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def world(pki: Pki, tmp_path: Path) -> AsyncIterator[World]:
    async with running_api(pki, tmp_path) as api:
        world = World(api, tmp_path)
        await world.controllers.synced()
        yield world
        world.running.cancel()
        await asyncio.wait({world.running})


async def lives(world: World) -> None:
    """A volume is bound and released, another made and deleted; a pod has its own."""
    api = world.api
    await api.post(VOLUMES, a_volume("books"))
    await api.post(CLAIMS, a_claim("books"))
    await world.until(f"{CLAIMS}/books", "Bound")
    await api.delete(f"{CLAIMS}/books")
    await world.until(f"{VOLUMES}/books", "Released")
    await api.post(CLASSES, a_class("made") | {"provisioner": "kubernetes.io/host-path"})
    template = {"spec": a_claim("x", storageClassName="made")["spec"]}
    pod = a_pod("web")
    pod["spec"]["volumes"] = [{"name": "own", "ephemeral": {"volumeClaimTemplate": template}}]
    assert (await api.post(PODS, pod)).code == 201
    await world.until(f"{CLAIMS}/web-own", "Bound")
    name = (await api.get(f"{CLAIMS}/web-own")).doc["spec"]["volumeName"]
    await api.delete(f"{PODS}/web")
    await world.until(f"{VOLUMES}/{name}", GONE)
    await attaches(world)


async def attaches(world: World) -> None:
    """A volume is attached and detached."""
    api, node = world.api, a_node()
    node["metadata"]["annotations"] = {Annotation.CONTROLLER_ATTACHES: "true"}
    await api.post(NODES, node)
    await api.post(VOLUMES, a_volume("disk", claimRef={"namespace": "default", "name": "disk"}))
    await api.post(CLAIMS, a_claim("disk", volumeName="disk"))
    await world.until(f"{CLAIMS}/disk", "Bound")
    await api.post(PODS, a_pod("db", "n1", "disk"))
    attachment = f"{ATTACHMENTS}/{attachment_name('h1', 'd.example.com', 'n1')}"
    await world.until(attachment, "")
    await api.patch(f"{attachment}/status", {"status": {"attached": True}})
    await api.clock.advance(1)
    await api.delete(f"{PODS}/db?gracePeriodSeconds=0")
    await world.until(attachment, GONE)


async def loses_a_node(world: World) -> None:
    """A node falls silent, another is deleted; pods are marked, evicted and collected."""
    api, ready = world.api, {"conditions": [{"type": "Ready", "status": "True"}]}
    for name in ("silent", "leaving", "living"):
        await api.post(NODES, a_node(name))
        await api.patch(f"{NODES}/{name}/status", {"status": ready})
    for name in ("silent", "leaving"):
        await api.post(PODS, a_pod(f"on-{name}", name))
        await api.patch(f"{PODS}/on-{name}/status", {"status": {"phase": "Running", **ready}})
    await api.delete(f"{NODES}/leaving")
    for _ in range(5):
        await api.clock.advance(10)
        beat = [{**ready["conditions"][0], "lastHeartbeatTime": to_seconds(api.clock.now())}]
        await api.patch(f"{NODES}/living/status", {"status": {"conditions": beat}})
    await world.until(f"{PODS}/on-leaving", GONE)
    taint = {"key": TaintKey.OUT_OF_SERVICE, "effect": "NoExecute"}
    await api.patch(f"{NODES}/silent", {"spec": {"taints": [taint]}})
    await world.until(f"{PODS}/on-silent", GONE)


async def rolls_out(world: World) -> None:
    """A deployment adopts a replica set, replaces it, and forgets it."""
    api = world.api
    await api.post(REPLICA_SETS, a_replica_set())
    metadata = {"name": "web", "labels": {"app": "web"}}
    await api.patch(f"{REPLICA_SETS}/web", {"metadata": metadata})
    deployed = a_deployment(replicas=0, revisionHistoryLimit=0)
    assert (await api.post(DEPLOYMENTS, deployed)).code == 201
    for _ in range(5):
        await api.clock.advance(1)
    template = {"spec": {"containers": [{"name": "c", "image": "busybox:2"}]}}
    await api.patch(f"{DEPLOYMENTS}/web", {"spec": {"template": template}})
    await world.until(f"{REPLICA_SETS}/web", GONE)


async def keeps_sets(world: World) -> None:
    """A stateful set with a claim that goes with it, and a daemon set, each with two templates."""
    api = world.api
    claim = {"metadata": {"name": "data"}, "spec": a_claim()["spec"]}
    retention = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    numbered = a_stateful_set(
        "numbered",
        volumeClaimTemplates=[claim],
        persistentVolumeClaimRetentionPolicy=retention,
        revisionHistoryLimit=0,
    )
    assert (await api.post(STATEFUL_SETS, numbered)).code == 201
    assert (await api.post(DAEMON_SETS, a_daemon_set("agent", revisionHistoryLimit=0))).code == 201
    for image in ("busybox:2", "busybox:3"):
        for path in (f"{STATEFUL_SETS}/numbered", f"{DAEMON_SETS}/agent"):
            containers = [{"name": "c", "image": image}]
            template = {"spec": {"containers": containers}}
            assert (await api.patch(path, {"spec": {"template": template}})).code == 200
        for _ in range(5):
            await api.clock.advance(1)


async def takes_snapshots(world: World) -> None:
    """Of a claim and of a group of one, with a sidecar beside; then all of it is deleted."""
    cluster = Cluster(world.api)
    await cluster.claim("photos", app="album")
    await cluster.snapshot_class()
    await cluster.group_class()
    await cluster.snapshot(claim="photos")
    await cluster.group(selector={"matchLabels": {"app": "album"}})
    await cluster.goes_on()
    assert (await cluster.get(GROUPS, "all"))["status"]["readyToUse"]
    await cluster.delete(GROUPS, "all")
    await cluster.delete(SNAPSHOTS, "snap")
    await cluster.goes_on()
    assert await cluster.all(SNAPSHOTS) == []


async def serves(world: World) -> None:
    """A service gets a pod, loses it, and goes."""
    api, slices = world.api, ENDPOINT_SLICES
    ports = {"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
    await api.post(f"{DEFAULT}/services", {"metadata": {"name": "web"}, **ports})
    await api.clock.advance(1)
    await api.post(PODS, a_pod("server", "n1") | {"metadata": SERVER})
    await api.patch(f"{PODS}/server/status", {"status": {"podIP": "10.0.0.7"}})
    await api.clock.advance(1)
    (written,) = (await api.get(slices)).doc["items"]
    assert [each["addresses"] for each in written["endpoints"]] == [["10.0.0.7"]]
    await api.delete(f"{PODS}/server?gracePeriodSeconds=0")
    await api.delete(f"{DEFAULT}/services/web")
    await api.clock.advance(1)
    assert (await api.get(f"{ENDPOINTS}/web")).code == 404


async def test_their_role_has_the_rights_to_all_they_do(world: World) -> None:
    await takes_snapshots(world)
    await lives(world)
    await loses_a_node(world)
    await serves(world)
    await rolls_out(world)
    await keeps_sets(world)

    authorizer = Authorizer(world.api.parts.nodes)
    for attempt in world.asked.attempts:
        assert authorizer.authorize(CONTROLLERS, attempt).allowed, attempt
    done = {(each.verb, each.resource, each.subresource) for each in world.asked.attempts}
    assert {
        ("patch", "persistentvolumes", "status"),
        ("patch", "persistentvolumeclaims", "status"),
        ("create", "persistentvolumes", ""),
        ("create", "persistentvolumeclaims", ""),
        ("create", "events", ""),
        ("delete", "persistentvolumes", ""),
        ("watch", "volumeattributesclasses", ""),
        ("create", "volumeattachments", ""),
        ("delete", "volumeattachments", ""),
        ("patch", "nodes", "status"),
        ("patch", "nodes", ""),
        ("patch", "pods", "status"),
        ("delete", "pods", ""),
        ("get", "nodes", ""),
        ("get", "leases", ""),
        ("watch", "leases", ""),
        ("create", "volumesnapshotcontents", ""),
        ("delete", "volumesnapshotcontents", ""),
        ("patch", "volumesnapshotcontents", "status"),
        ("create", "volumesnapshots", ""),
        ("patch", "volumesnapshots", "status"),
        ("create", "volumegroupsnapshotcontents", ""),
        ("delete", "volumegroupsnapshotcontents", ""),
        ("patch", "volumegroupsnapshots", "status"),
        ("watch", "volumepopulators", ""),
        ("create", "endpointslices", ""),
        ("patch", "endpointslices", ""),
        ("create", "endpoints", ""),
        ("delete", "endpoints", ""),
        ("patch", "deployments", "status"),
        ("get", "deployments", ""),
        ("create", "replicasets", ""),
        ("patch", "replicasets", ""),
        ("patch", "replicasets", "status"),
        ("delete", "replicasets", ""),
        ("patch", "statefulsets", "status"),
        ("patch", "daemonsets", "status"),
        ("create", "controllerrevisions", ""),
        ("delete", "controllerrevisions", ""),
    } <= done


async def test_what_they_count_is_told_under_the_names_of_kubernetes(world: World) -> None:
    await takes_snapshots(world)
    await lives(world)
    await loses_a_node(world)
    registry = CollectorRegistry()
    for collector in world.controllers.collectors():
        registry.register(collector)

    families = list(text_string_to_metric_families(generate_latest(registry).decode()))

    names = [family.name for family in families]
    assert len(names) == len(set(names))
    samples = {(s.name, *s.labels.values()): s.value for f in families for s in f.samples}
    assert samples["workqueue_adds_total", "claims"] > 0
    assert samples["pv_collector_unbound_pv_count", ""] == 1
    assert samples["ephemeral_volume_controller_create_total",] == 1
    assert samples["mooring_informer_lists_total", "persistentvolumes"] == 1
    made = ("provision", "kubernetes.io/host-path")
    assert samples["volume_operation_total_seconds_count", *made] == 1
    attached = ("false", "volume_attach", "success", "kubernetes.io/csi:d.example.com")
    assert samples["storage_operation_duration_seconds_count", *attached] == 1
    assert samples["node_collector_zone_size", ""] == 3
    assert samples["node_collector_unhealthy_nodes_in_zone", ""] == 2
    assert samples["node_collector_zone_health", ""] == pytest.approx(100 / 3)
    assert samples["node_collector_evictions_total", ""] >= 1
    assert samples["taint_eviction_controller_pod_deletions_total",] == 1
    forced = "pod_gc_collector_force_delete_pods_total"
    assert samples[forced, "default", "orphaned"] == 1
    assert samples[forced, "default", "out-of-service"] == 1
    snapshots = "snapshot_controller_operation_total_seconds_count"
    assert samples[snapshots, "d.example.com", "DeleteGroupSnapshot", "success", "dynamic"] == 1
    assert samples["snapshot_controller_operations_in_flight",] == 0
    queues = {labels[0] for name, *labels in samples if name == "workqueue_depth"}
    assert queues == {
        *("claims", "pvcprotection", "pvprotection", "vacprotection"),
        *("ephemeral_volume", "volume_expand", "volume_expand_back_ends", "replicationmanager"),
        *("replicaset", "deployment", "statefulset", "daemonset"),
        *("attachdetach", "attachdetach_nodes"),
        *("node_lifecycle_controller", "noexec_taint_pod"),
        *("pod_gc", "orphaned_pods_nodes", "pod_gc_finished", "disruption"),
        "endpoint_slice",
        *("job", "job_orphan_pod", "cronjob", "ttl_jobs_to_delete"),
        *("snapshot-controller-snapshot", "snapshot-controller-content"),
        *("snapshot-controller-claim", "snapshot-controller-group-snapshot"),
        *("snapshot-controller-group-content", "data_source_validator"),
    }


async def test_a_database_that_cannot_write_for_a_while_kills_nobody(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = world.api.parts.backend.store
    await world.api.post(VOLUMES, a_volume("books"))
    await world.api.post(CLAIMS, a_claim("books"))
    await world.api.post(CLAIMS, a_claim("too-large", "1Ti"))  # of which there is an event to tell
    refused = 0

    async def write(*_: object) -> None:
        nonlocal refused
        refused += 1
        raise StoreError("the database could not be written: disk full")

    with monkeypatch.context() as full:
        full.setattr(store, "write", write)
        await world.api.clock.advance(5)
    assert refused > 1
    assert not world.running.done()

    await world.until(f"{CLAIMS}/books", "Bound")


OF_VOLUMES = ("binding", "protection", "ephemeral", "expansion", "attachment", "replication")
CHOICES = {
    "all but those that must be named": ("*", OF_VOLUMES),
    "one less": ("*,-replication", OF_VOLUMES[:-1]),
    "one more": ("*,pod-gc", (*OF_VOLUMES, "pod-gc")),
    "all": (
        ",".join(("*", *role.NAMED)),
        tuple(role.CONTROLLERS),
    ),
    "one alone": (" attachment ", ("attachment",)),
    "named and left out": ("binding,-binding", ()),
}


@pytest.mark.parametrize(("text", "chosen"), CHOICES.values(), ids=CHOICES)
def test_which_controllers_are_chosen(text: str, chosen: tuple[str, ...]) -> None:
    assert role.choose(text) == chosen


def test_a_controller_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="no controller 'nodelifecycle'; there are binding, "):
        role.choose("*,-nodelifecycle")
