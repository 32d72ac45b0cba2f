"""A whole cluster in this process that is fed documents nobody expects.

API, garbage collection, namespaces, events, all controllers, the scheduler and a node with its
volumes and containers run as in `mooring up`, on virtual time. `storm` feeds them what comes of one
seed; `check` is the law: nothing has died, nothing is set aside, ordinary objects are served.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS, SCHEDULER
from mooring.apiserver.kinds.contract import Kind
from mooring.client.local import LocalClient
from mooring.controllers import role as controllers
from mooring.controllers.options import Options
from mooring.plugins.host_path.provision import HostPathProvisioning
from mooring.plugins.host_path.volumes import HostPathPlugin
from mooring.reconcile.loops import Loops
from mooring.reconcile.poison import POISONED
from mooring.reconcile.role import Role
from mooring.reconcile.shared_informer import SharedInformers
from mooring.scheduling import role as scheduling
from tests.fakes import objects
from tests.fakes.api import Answered, ApiUnderTest
from tests.fakes.definitions import a_definition
from tests.fakes.hostile import Doc, Hostile
from tests.scenarios.pods.cluster import Cluster

TRIES = 25  # mutations of one document, of which perhaps a fifth are accepted
NAMESPACE = "team"
SHOWN_AS = (
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
)

_RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
_SUBJECTS = [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}]
_ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
_VOLUMES: tuple[Doc, ...] = (
    {"name": "v", "emptyDir": {}},
    {"name": "v", "configMap": {"name": "settings"}},
    {"name": "v", "secret": {"secretName": "password"}},
    {
        "name": "v",
        "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]},
    },
    {"name": "v", "projected": {"sources": [{"configMap": {"name": "settings"}}]}},
    {"name": "v", "persistentVolumeClaim": {"claimName": "data"}},
    {"name": "v", "hostPath": {"path": "somewhere"}},
    {"name": "v", "csi": {"driver": "d.example.com"}},
    {
        "name": "v",
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            }
        },
    },
)


def _a_busy_pod(rng: random.Random) -> Doc:
    pod = objects.a_pod(node=rng.choice(("n1", "")))
    volume = rng.choice(_VOLUMES)
    container = pod["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    probe = {"exec": {"command": ["true"]}}
    container |= {"livenessProbe": dict(probe), "readinessProbe": dict(probe)}
    container["lifecycle"] = {"preStop": {"exec": {"command": ["true"]}}}
    pod["spec"] |= {"volumes": [volume], "automountServiceAccountToken": False}
    return pod


def _a_volume(rng: random.Random) -> Doc:
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]}]
    sources: tuple[Doc, ...] = (
        {},
        {"csi": None, "hostPath": {"path": "somewhere"}},
        {
            "csi": None,
            "local": {"path": "somewhere"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
        {"csi": None, "nfs": {"server": "s", "path": "/x"}},
    )
    return objects.a_volume(**rng.choice(sources), storageClassName=rng.choice(("", "fast")))


def _a_controller() -> Doc:
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "main", "image": "busybox:1"}]},
    }
    return {
        "metadata": {"name": "many"},
        "spec": {"replicas": 1, "selector": {"app": "x"}, "template": template},
    }


def _a_group_content() -> Doc:
    reference = {"name": "group", "namespace": "default"}
    source = {"volumeHandles": ["h1"]}
    spec = {"deletionPolicy": "Delete", "driver": "d.example.com", "source": source}
    return {"metadata": {"name": "c"}, "spec": {**spec, "volumeGroupSnapshotRef": reference}}


Seed = Callable[[random.Random], Doc]

SEEDS: dict[str, Seed] = {
    "pods": _a_busy_pod,
    "persistentvolumes": _a_volume,
    "persistentvolumeclaims": lambda c: objects.a_claim(
        storageClassName=c.choice(("", "fast", "slow"))
    ),
    "storageclasses": lambda c: objects.a_class(
        volumeBindingMode=c.choice(("Immediate", "WaitForFirstConsumer"))
    ),
    "namespaces": lambda _: objects.a_namespace(),
    "nodes": lambda _: objects.a_node(),
    "secrets": lambda _: objects.a_secret(),
    "configmaps": lambda _: objects.a_config_map(),
    "serviceaccounts": lambda _: objects.a_service_account(),
    "volumeattachments": lambda _: objects.an_attachment(),
    "csidrivers": lambda _: objects.a_driver(),
    "csinodes": lambda _: objects.a_csi_node("n1", "d.example.com"),
    "volumeattributesclasses": lambda _: objects.an_attributes_class(),
    "csistoragecapacities": lambda _: objects.a_capacity(),
    "volumesnapshots": lambda _: objects.a_snapshot(),
    "volumesnapshotcontents": lambda _: objects.a_snapshot_content(),
    "volumesnapshotclasses": lambda _: objects.a_snapshot_class(),
    "volumepopulators": lambda _: objects.a_populator(),
    "referencegrants": lambda _: objects.a_grant(),
    "snapshotmetadataservices": lambda _: objects.a_metadata_service(),
    "leases": lambda _: objects.a_lease(),
    "customresourcedefinitions": lambda _: a_definition(),
    "clustertrustbundles": lambda _: objects.a_trust_bundle(),
    "mutatingwebhookconfigurations": lambda _: objects.a_webhook_configuration("Mutating"),
    "validatingwebhookconfigurations": lambda _: objects.a_webhook_configuration(),
    "mutatingadmissionpolicies": lambda _: objects.a_mutating_policy(),
    "mutatingadmissionpolicybindings": lambda _: objects.a_mutating_binding(),
    "storageversionmigrations": lambda _: objects.a_migration(),
    "validatingadmissionpolicies": lambda _: objects.an_admission_policy(),
    "validatingadmissionpolicybindings": lambda _: objects.a_policy_binding(),
    "replicationcontrollers": lambda _: _a_controller(),
    "networkpolicies": lambda _: objects.a_network_policy(),
    "endpointslices": lambda _: objects.an_endpoint_slice(),
    "resourcequotas": lambda _: objects.a_quota(**{"pods": "9", "requests.storage": "5Gi"}),
    "limitranges": lambda _: objects.a_limit_range(),
    "jobs": lambda c: objects.a_job(completions=c.choice((1, 3)), parallelism=2),
    "cronjobs": lambda _: objects.a_cron_job(),
    "priorityclasses": lambda _: objects.a_priority_class(),
    "poddisruptionbudgets": lambda c: objects.a_budget(minAvailable=c.choice((1, "50%"))),
    "deployments": lambda _: objects.a_deployment(),
    "replicasets": lambda _: objects.a_replica_set(),
    "statefulsets": lambda _: objects.a_stateful_set(),
    "daemonsets": lambda _: objects.a_daemon_set(),
    "podtemplates": lambda _: objects.a_pod_template(),
    "controllerrevisions": lambda _: objects.a_revision(),
    "endpoints": lambda _: objects.some_endpoints(),
    "services": lambda _: {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}},
    "roles": lambda _: {"metadata": {"name": "r"}, "rules": _RULES},
    "clusterroles": lambda _: {"metadata": {"name": "r"}, "rules": _RULES},
    "rolebindings": lambda _: {"metadata": {"name": "b"}, "roleRef": _ROLE, "subjects": _SUBJECTS},
    "clusterrolebindings": lambda _: {
        "metadata": {"name": "b"},
        "roleRef": _ROLE,
        "subjects": _SUBJECTS,
    },
    "volumegroupsnapshots": lambda _: {
        "metadata": {"name": "group"},
        "spec": {"source": {"selector": {"matchLabels": {"a": "b"}}}},
    },
    "volumegroupsnapshotclasses": lambda _: {
        "metadata": {"name": "g"},
        "driver": "d.example.com",
        "deletionPolicy": "Delete",
    },
    "volumegroupsnapshotcontents": lambda _: _a_group_content(),
}
_EVENTS: dict[str, Seed] = {
    "": lambda _: objects.an_event(),
    "events.k8s.io": lambda _: objects.a_new_event(),
}

# What makes a volume of the host, or a class of one, leave the directory of the test.
_WEIGHTS = {"pods": 8, "persistentvolumes": 5, "persistentvolumeclaims": 5, "storageclasses": 2}


def seed_of(kind: Kind) -> Seed | None:
    return _EVENTS[kind.group] if kind.plural == "events" else SEEDS.get(kind.plural)


def stored_kinds(api: ApiUnderTest) -> list[Kind]:
    kinds = api.parts.backend.kinds.all()
    return [kind for kind in kinds if {"create", "get"} <= set(kind.verbs)]


class World:
    def __init__(
        self, api: ApiUnderTest, cluster: Cluster, tasks: list[asyncio.Task[None]]
    ) -> None:
        self.api = api
        self.cluster = cluster
        self.accepted = self.refused = 0
        self._tasks = tasks
        self._made: list[tuple[Kind, str]] = []  # and where
        self._count = 0

    async def storm(self, seed: int, rounds: int) -> None:
        """Create, change, write statuses, let time pass, delete."""
        rng = random.Random(seed)  # noqa: S311  repeatable
        hostile = Hostile(self.api.parts.backend.schema, rng)
        kinds = stored_kinds(self.api)
        weights = [_WEIGHTS.get(kind.plural, 1) for kind in kinds]
        for _ in range(rounds):
            kind = rng.choices(kinds, weights)[0]
            await self._create(kind, hostile, rng)
            for _ in range(3):
                await self._touch(hostile, rng)
            await self.api.clock.advance(rng.choice((0.0, 0.1, 1.0, 30.0)))
        await self.api.clock.advance(60)

    async def end(self, seed: int) -> None:
        """Delete everything, in whatever way; namespaces last."""
        rng = random.Random(-seed)  # noqa: S311  repeatable
        for kind, url in rng.sample(self._made, len(self._made)):
            if kind.plural != "namespaces":
                await self._delete(url, rng)
        await self.ask("DELETE", f"/api/v1/namespaces/{NAMESPACE}")
        await self.api.clock.advance(120)

    async def check(self, poisoned: int) -> None:
        dead = [task for task in self._tasks if task.done()]
        assert not dead, [task.exception() for task in dead]
        assert POISONED.total() == poisoned, "an exception was set aside: see the captured log"
        assert (await self.api.get("/livez")).code == 200
        for kind in stored_kinds(self.api):
            for form in SHOWN_AS:
                answer = await self.api.get(_collection(kind, ""), accept=form)
                assert answer.code == 200, (kind.plural, form, answer.text)
        await self._serves_ordinary_objects()

    async def _serves_ordinary_objects(self) -> None:
        self._count += 1
        name = f"ordinary-{self._count}"
        source: Doc = {"csi": None, "nfs": {"server": "s", "path": "/x"}}
        volume = objects.a_volume(name, storageClassName=name, **source)  # nobody else's class
        claim = objects.a_claim(name, storageClassName=name)
        gone = {"apiVersion": "v1", "kind": "Pod", "name": "gone", "uid": "gone"}
        rubbish = objects.a_config_map(name)
        rubbish["metadata"]["ownerReferences"] = [gone]
        space = objects.a_namespace(name)
        pod = objects.a_pod(name)
        pod["spec"] |= {
            "automountServiceAccountToken": False,
            "tolerations": [{"operator": "Exists"}],
        }
        posts = (
            (objects.VOLUMES, volume),
            (objects.CLAIMS, claim),
            (objects.CONFIG_MAPS, rubbish),
            (objects.NAMESPACES, space),
            (objects.PODS, pod),
        )
        for url, doc in posts:
            answer = await self.ask("POST", url, doc)
            assert answer.code == 201, answer.text
        await self.ask("DELETE", f"{objects.NAMESPACES}/{name}")
        for _ in range(40):
            await self.api.clock.advance(1)
        bound = (await self.api.get(f"{objects.CLAIMS}/{name}")).doc
        assert bound["status"]["phase"] == "Bound", bound
        assert (await self.api.get(f"{objects.CONFIG_MAPS}/{name}")).code == 404
        assert (await self.api.get(f"{objects.NAMESPACES}/{name}")).code == 404
        told = (await self.api.get(f"{objects.PODS}/{name}")).doc
        conditions = {one["type"]: one for one in told["status"].get("conditions", ())}
        assert "nodeName" in told["spec"] or "PodScheduled" in conditions, told

    # one request

    async def ask(self, method: str, url: str, body: Any = None, kind: str = "json") -> Answered:
        headers = {"content-type": f"application/{kind}"} if body is not None else {}
        answer = await self.api.ask(method, url, body, headers)
        assert answer.code < 500, (method, url, body, answer.text)
        return answer

    async def _create(self, kind: Kind, hostile: Hostile, rng: random.Random) -> None:
        seed = seed_of(kind)
        assert seed is not None, f"no document of {kind.plural} to begin with"
        namespace = rng.choice(("default", NAMESPACE)) if kind.namespaced else ""
        url = _collection(kind, namespace)
        doc = {**seed(rng), "kind": kind.kind, "apiVersion": kind.api_version}
        self._count += 1
        if rng.random() < 0.7 and kind.plural not in ("clustertrustbundles", "nodes"):
            doc["metadata"] = {**doc["metadata"], "name": f"{doc['metadata']['name']}{self._count}"}
        for _ in range(TRIES):
            tried = hostile.changed(doc, kind.message)
            if (await self.ask("POST", f"{url}?dryRun=All", tried)).code in (200, 201):
                doc = tried
                self.accepted += 1
            else:
                self.refused += 1
        answer = await self.ask("POST", url, doc)
        if answer.code == 201:
            self._made.append((kind, f"{url}/{answer.doc['metadata']['name']}"))

    async def _touch(self, hostile: Hostile, rng: random.Random) -> None:
        if not self._made:
            return
        kind, url = rng.choice(self._made[-30:])
        found = await self.ask("GET", url)
        if found.code != 200:
            return
        match rng.randrange(4):
            case 0 if kind.status:
                doc = found.doc
                for _ in range(TRIES):
                    tried = hostile.changed(doc, kind.message, below="status")
                    dry = await self.ask("PUT", f"{url}/status?dryRun=All", tried)
                    doc = tried if dry.code == 200 else doc
                await self.ask("PUT", f"{url}/status", doc)
            case 1 | 2:
                tried = hostile.changed(found.doc, kind.message)
                await self.ask("PUT", url, tried)
            case _:
                if rng.random() < 0.3:
                    await self._delete(url, rng)

    async def _delete(self, url: str, rng: random.Random) -> None:
        body: Doc = {}
        if rng.random() < 0.5:
            body["gracePeriodSeconds"] = rng.choice((0, 1, 30, 2**63 - 1, -1))
        if rng.random() < 0.5:
            body["propagationPolicy"] = rng.choice(("Foreground", "Background", "Orphan"))
        await self.ask("DELETE", url, body)


def _collection(kind: Kind, namespace: str) -> str:
    group = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    return (
        f"{group}/namespaces/{namespace}/{kind.plural}" if namespace else f"{group}/{kind.plural}"
    )


@asynccontextmanager
async def hostile_world(api: ApiUnderTest, directory: Path) -> AsyncIterator[World]:
    """Before: the process may make files below its working directory."""
    cluster = Cluster(api, directory / "node")
    await cluster.a_node()
    for url, doc in (
        (objects.NAMESPACES, objects.a_namespace(NAMESPACE)),
        (objects.CONFIG_MAPS, objects.a_config_map()),
        (objects.SECRETS, objects.a_secret()),
    ):
        await api.post(url, doc)
    backend, clock, rng = api.parts.backend, api.clock, random.Random(3)  # noqa: S311
    plugin = HostPathPlugin(directory, HostPathProvisioning.ON)
    as_controllers = LocalClient(InProcessApi(backend, CONTROLLERS))
    as_scheduler = LocalClient(InProcessApi(backend, SCHEDULER))
    informers = SharedInformers(as_controllers, clock, rng)
    loops = Loops(controllers.NAME, as_controllers, clock, rng, informers)
    scheduler = Loops(scheduling.NAME, as_scheduler, clock, rng, informers)
    roles: tuple[Role, ...] = (
        informers,
        controllers.build(loops, Options(plugin)),
        scheduling.build(scheduler),
    )
    async with cluster.node(real=True), asyncio.TaskGroup() as tasks:
        owned = [tasks.create_task(role.run()) for role in roles]
        await api.settle()
        yield World(api, cluster, owned)
        for task in owned:
            task.cancel()
