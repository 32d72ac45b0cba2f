"""Tables: what `kubectl get` prints, for every kind."""

from typing import Any
from unittest.mock import ANY

import pytest

from tests.fakes.api import Answered, ApiUnderTest
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CLASSES,
    CONFIG_MAPS,
    DRIVERS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    STORED,
    VOLUMES,
    a_claim,
    a_class,
    a_config_map,
    a_driver,
    a_node,
    a_pod,
    a_snapshot,
    a_snapshot_content,
    a_volume,
    an_attachment,
    an_event,
)

Doc = dict[str, Any]

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
KUBECTL = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,"
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)

# name[:type][:format], ^ in front of what shows with `-o wide` alone; then the cells of the example
TABLES: dict[str, tuple[str, list[Any]]] = {
    "Namespace": ("Name::name, Status, Age", ["team", "Active", "2m5s"]),
    "Pod": (
        "Name::name, Ready, Status, Restarts, Age, ^IP, ^Node, ^Nominated Node, ^Readiness Gates",
        ["web", "0/1", "Pending", "0", "2m5s", "<none>", "<none>", "<none>", "<none>"],
    ),
    "Node": (
        "Name::name, Status, Roles, Age, Version, ^Internal-IP, ^External-IP, ^OS-Image, "
        "^Kernel-Version, ^Container-Runtime",
        ["n1", "Unknown", "<none>", "2m5s", ""] + ["<none>"] * 2 + ["<unknown>"] * 3,
    ),
    "PersistentVolume": (
        "Name::name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, "
        "VolumeAttributesClass, Reason, Age, ^VolumeMode",
        [
            *("disk", "5Gi", "RWO", "Retain", "Pending", "", "", "<unset>", "", "2m5s"),
            "Filesystem",
        ],
    ),
    "PersistentVolumeClaim": (
        "Name::name, Status, Volume, Capacity, Access Modes, StorageClass, "
        "VolumeAttributesClass, Age, ^VolumeMode",
        ["data", "Pending", "", "", "", "", "<unset>", "2m5s", "Filesystem"],
    ),
    "StorageClass": (
        "Name::name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age",
        ["fast", "d.example.com", "Delete", "Immediate", False, "2m5s"],
    ),
    "ClusterTrustBundle": (
        "Name::name, SignerName",
        ["example.com:one:v1", "example.com/one"],
    ),
    "ValidatingAdmissionPolicy": (
        "Name::name, Validations:integer, ParamKind, Age",
        ["policy", 1, "<unset>", "2m5s"],
    ),
    "ValidatingAdmissionPolicyBinding": (
        "Name::name, PolicyName, ParamRef, Age",
        ["binding", "none", "<unset>", "2m5s"],
    ),
    "StorageVersionMigration": (
        "Name, Resource, Status",
        ["m", "configmaps", "Succeeded"],
    ),
    "MutatingAdmissionPolicy": (
        "Name::name, Mutations:integer, ParamKind, Age",
        ["policy", 1, "<unset>", "2m5s"],
    ),
    "MutatingAdmissionPolicyBinding": (
        "Name::name, PolicyName, ParamRef, Age",
        ["binding", "none", "<unset>", "2m5s"],
    ),
    "MutatingWebhookConfiguration": ("Name::name, Webhooks:integer, Age", ["hooks", 1, "2m5s"]),
    "ValidatingWebhookConfiguration": ("Name::name, Webhooks:integer, Age", ["hooks", 1, "2m5s"]),
    "VolumeAttributesClass": ("Name::name, DriverName, Age", ["gold", "d.example.com", "2m5s"]),
    "VolumeAttachment": (
        "Name::name, Attacher::name, PV, Node, Attached:boolean, Age",
        ["link", "d.example.com", "disk", "n1", False, "2m5s"],
    ),
    "CSIDriver": (
        "Name::name, AttachRequired:boolean, PodInfoOnMount:boolean, StorageCapacity:boolean, "
        "TokenRequests, RequiresRepublish:boolean, Modes, Age",
        ["d.example.com", True, False, False, "<unset>", False, "Persistent", "2m5s"],
    ),
    "CSINode": ("Name::name, Drivers:integer, Age", ["n1", 0, "2m5s"]),
    "CSIStorageCapacity": ("Name::name, StorageClassName, Capacity", ["room", "fast", "10Gi"]),
    "Secret": ("Name::name, Type, Data, Age", ["password", "Opaque", 1, "2m5s"]),
    "ConfigMap": ("Name::name, Data, Age", ["settings", 1, "2m5s"]),
    "Endpoints": ("Name::name, Endpoints, Age", ["storage", "10.0.0.1:1,10.0.0.2:1", "2m5s"]),
    "Deployment": (
        "Name::name, Ready, Up-to-date, Available, Age, ^Containers, ^Images, ^Selector",
        ["web", "0/1", 0, 0, "2m5s", "c", "busybox:1", "app=web"],
    ),
    "ReplicaSet": (
        "Name::name, Desired:integer, Current:integer, Ready:integer, Age, "
        "^Containers, ^Images, ^Selector",
        ["web", 1, 0, 0, "2m5s", "c", "busybox:1", "app=web"],
    ),
    "StatefulSet": (
        "Name::name, Ready, Age, ^Containers, ^Images",
        ["web", "0/1", "2m5s", "c", "busybox:1"],
    ),
    "DaemonSet": (
        "Name::name, Desired:integer, Current:integer, Ready:integer, Up-to-date:integer, "
        "Available:integer, Node Selector, Age, ^Containers, ^Images, ^Selector",
        ["web", 0, 0, 0, 0, 0, "<none>", "2m5s", "c", "busybox:1", "app=web"],
    ),
    "PodTemplate": (
        "Name::name, Containers, Images, Pod Labels, Age",
        ["web", "c", "busybox:1", "app=web", "2m5s"],
    ),
    "ControllerRevision": (
        "Name::name, Controller, Revision, Age",
        ["web-1", "<none>", 1, "2m5s"],
    ),
    "ServiceAccount": ("Name::name, Age", ["robot", "2m5s"]),
    "Lease": ("Name::name, Holder, Age", ["leader", "me", "2m5s"]),
    "Event": (
        "Last Seen, Type, Reason, Object, ^Subobject, ^Source, Message, ^First Seen, ^Count, "
        "^Name::name",
        [
            *("3m5s", "Warning", "ProvisioningFailed", "persistentvolumeclaim/data", ""),
            *("binder, n1", "no room", "6m5s", 3, "data.1"),
        ],
    ),
    "Event of events.k8s.io": (
        "Last Seen, Type, Reason, Object, ^Subobject, ^Source, Message, ^First Seen, ^Count, "
        "^Name::name",
        [
            *("2m10s", "Normal", "Bound", "persistentvolumeclaim/data", ""),
            *("example.com/binder, binder-0", "it fits", "2m10s", 1, "data.2"),
        ],
    ),
    "VolumeSnapshot": (
        "Name::name, ReadyToUse:boolean, SourcePVC, SourceSnapshotContent, RestoreSize, "
        "SnapshotClass, SnapshotContent, CreationTime:date, Age:date",
        ["snap", None, "data", None, None, "snappy", None, None, "2m5s"],
    ),
    "VolumeSnapshotContent": (
        "Name::name, ReadyToUse:boolean, RestoreSize:integer, DeletionPolicy, Driver, "
        "VolumeSnapshotClass, VolumeSnapshot, VolumeSnapshotNamespace, Age:date",
        ["content", None, None, "Delete", "d.example.com", "snappy", "snap", "default", "2m5s"],
    ),
    "VolumeSnapshotClass": (
        "Name::name, Driver, DeletionPolicy, Age:date",
        ["snappy", "d.example.com", "Retain", "2m5s"],
    ),
    "VolumePopulator": (
        "Name::name, SourceKind",
        ["books", '{"group":"example.com","kind":"Book"}'],
    ),
    "PriorityClass": (
        "Name::name, Value:integer, Global-Default:boolean, Age, PreemptionPolicy",
        ["high", 1000, False, "2m5s", "PreemptLowerPriority"],
    ),
    "NetworkPolicy": ("Name::name, Pod-Selector, Age", ["inner", "app=web", "2m5s"]),
    "EndpointSlice": (
        "Name::name, AddressType, Ports, Endpoints, Age",
        ["web-1", "IPv4", "80", "10.0.0.1", "2m5s"],
    ),
    "ResourceQuota": ("Name::name, Request, Limit, Age", ["quota", "pods: 0/5", "", "2m5s"]),
    "LimitRange": ("Name::name, Age", ["limits", "2m5s"]),
    "Job": (
        "Name::name, Status, Completions, Duration, Age, ^Containers, ^Images, ^Selector",
        ["once", "Running", "0/1", "", "2m5s", "main", "busybox:1", ANY],
    ),
    "CronJob": (
        "Name::name, Schedule, Timezone, Suspend:boolean, Active:integer, Last Schedule, Age, "
        "^Containers, ^Images, ^Selector",
        [
            *("often", "*/5 * * * *", "<none>", "False", 0, "<none>", "2m5s"),
            *("main", "busybox:1", "<none>"),
        ],
    ),
    "PodDisruptionBudget": (
        "Name::name, Min Available, Max Unavailable, Allowed Disruptions:integer, Age",
        ["web", "1", "N/A", 0, "2m5s"],
    ),
    "ReferenceGrant": ("Name::name, Age:date", ["dev", "2m5s"]),
    "SnapshotMetadataService": ("Name::name, Age:date", ["d.example.com", "2m5s"]),
}


def spelled(columns: list[Doc]) -> str:
    return ", ".join(map(_spelled, columns))


def _spelled(column: Doc) -> str:
    kind = "" if column["type"] == "string" else column["type"]
    name = f"{'^' if column['priority'] == 1 else ''}{column['name']}"
    return ":".join([name, kind, column["format"]]).rstrip(":")


async def table_of(api: ApiUnderTest, url: str, accept: str = TABLE) -> Doc:
    answer = await api.get(url, accept=accept)
    assert answer.code == 200, answer.text
    assert answer.content_type == "application/json"
    assert answer.doc["kind"] == "Table"
    return answer.doc


async def row_of(api: ApiUnderTest, collection: str, doc: Doc, status: Doc | None = None) -> Doc:
    """The cells by column, of an object that is created with this status."""
    path = f"{collection}/{doc['metadata']['name']}"
    created = await api.post(collection, doc)
    assert created.code == 201, created.text
    if status is not None:
        reported = await api.patch(f"{path}/status", {"status": status})
        assert reported.code == 200, reported.text
    table = await table_of(api, path)
    names = [column["name"] for column in table["columnDefinitions"]]
    return dict(zip(names, table["rows"][0]["cells"], strict=True))


def test_every_kind_has_its_table() -> None:
    assert TABLES.keys() == STORED.keys()


@pytest.mark.parametrize("kind", TABLES)
async def test_columns_and_cells(api: ApiUnderTest, kind: str) -> None:
    collection, build = STORED[kind]
    doc = build()
    name = doc["metadata"]["name"]
    assert (await api.post(collection, doc)).code == 201
    await api.clock.advance(125)
    listed = await table_of(api, f"{collection}?fieldSelector=metadata.name%3D{name}", KUBECTL)
    columns, cells = TABLES[kind]
    assert spelled(listed["columnDefinitions"]) == columns
    (row,) = listed["rows"]
    assert row["cells"] == cells
    assert (row["object"]["kind"], row["object"]["apiVersion"]) == (
        "PartialObjectMetadata",
        "meta.k8s.io/v1",
    )
    assert row["object"]["metadata"]["name"] == name
    assert row["object"].keys() == {"kind", "apiVersion", "metadata"}
    single = await table_of(api, f"{collection}/{name}")
    assert single["rows"] == listed["rows"]
    assert single["columnDefinitions"] == listed["columnDefinitions"]
    assert single["metadata"]["resourceVersion"] == row["object"]["metadata"]["resourceVersion"]


async def test_a_bound_claim_shows_what_it_got(api: ApiUnderTest) -> None:
    claim = a_claim(storageClassName="fast", volumeName="disk", volumeMode="Block")
    status = {
        "phase": "Bound",
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadOnlyMany", "ReadWriteOnce", "ReadWriteOnce"],
    }
    row = await row_of(api, CLAIMS, claim, status)
    assert row == {
        "Name": "data",
        "Status": "Bound",
        "Volume": "disk",
        "Capacity": "5Gi",
        "Access Modes": "RWO,ROX",
        "StorageClass": "fast",
        "VolumeAttributesClass": "<unset>",
        "Age": "0s",
        "VolumeMode": "Block",
    }


async def test_an_unbound_claim_shows_no_capacity_even_if_its_status_has_one(
    api: ApiUnderTest,
) -> None:
    status = {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"]}
    row = await row_of(api, CLAIMS, a_claim(), status)
    assert (row["Capacity"], row["Access Modes"], row["Volume"]) == ("", "", "")


async def test_what_is_being_deleted_is_terminating(api: ApiUnderTest) -> None:
    for collection, doc in ((CLAIMS, a_claim("x")), (VOLUMES, a_volume("x"))):
        await api.post(collection, doc)
        await api.delete(f"{collection}/x")
        table = await table_of(api, f"{collection}/x")
        assert "Terminating" in table["rows"][0]["cells"]
        assert "Pending" not in table["rows"][0]["cells"]


async def test_the_row_of_a_bound_volume(api: ApiUnderTest) -> None:
    volume = a_volume(
        accessModes=["ReadWriteOncePod"],
        claimRef={"namespace": "default", "name": "data"},
        storageClassName="fast",
        volumeAttributesClassName="gold",
        persistentVolumeReclaimPolicy="Delete",
    )
    row = await row_of(api, VOLUMES, volume, {"phase": "Failed", "reason": "Lost"})
    assert [row[name] for name in ("Access Modes", "Reclaim Policy", "Status", "Claim")] == [
        "RWOP",
        "Delete",
        "Failed",
        "default/data",
    ]
    assert [row[name] for name in ("StorageClass", "VolumeAttributesClass", "Reason")] == [
        "fast",
        "gold",
        "Lost",
    ]


CLASS_NAMES = {
    "the default class says so": ({"storageclass.kubernetes.io/is-default-class": "true"}, True),
    "by its beta annotation too": (
        {"storageclass.beta.kubernetes.io/is-default-class": "true"},
        True,
    ),
    "true is spelled true": ({"storageclass.kubernetes.io/is-default-class": "yes"}, False),
    "no annotation, no default": ({}, False),
}


@pytest.mark.parametrize(("annotations", "is_default"), CLASS_NAMES.values(), ids=CLASS_NAMES)
async def test_the_rows_of_classes(
    api: ApiUnderTest, annotations: Doc, *, is_default: bool
) -> None:
    doc = a_class(allowVolumeExpansion=True, volumeBindingMode="WaitForFirstConsumer")
    doc["metadata"]["annotations"] = annotations
    row = await row_of(api, CLASSES, doc)
    assert row["Name"] == "fast"
    listed = (await api.get(CLASSES, accept=TABLE)).doc["rows"]
    assert listed[0]["cells"][0] == ("fast (default)" if is_default else "fast")
    assert row["AllowVolumeExpansion"] is True
    assert row["VolumeBindingMode"] == "WaitForFirstConsumer"


async def test_the_row_of_an_attached_attachment(api: ApiUnderTest) -> None:
    row = await row_of(api, ATTACHMENTS, an_attachment(), {"attached": True})
    assert row["Attached"] is True


async def test_the_row_of_a_driver_with_everything(api: ApiUnderTest) -> None:
    driver = a_driver(
        attachRequired=False,
        podInfoOnMount=True,
        storageCapacity=True,
        requiresRepublish=True,
        tokenRequests=[{"audience": "a"}, {"audience": "b"}],
        volumeLifecycleModes=["Persistent", "Ephemeral"],
    )
    assert await row_of(api, DRIVERS, driver) == {
        "Name": "d.example.com",
        "AttachRequired": False,
        "PodInfoOnMount": True,
        "StorageCapacity": True,
        "TokenRequests": "a,b",
        "RequiresRepublish": True,
        "Modes": "Persistent,Ephemeral",
        "Age": "0s",
    }


async def test_the_row_of_a_ready_node(api: ApiUnderTest) -> None:
    node = a_node()
    node["metadata"]["labels"] = {
        "node-role.kubernetes.io/storage": "",
        "node-role.kubernetes.io/compute": "",
        "kubernetes.io/role": "edge",
    }
    node["spec"] = {"unschedulable": True}
    status = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}],
        "nodeInfo": {"kubeletVersion": "v1.35.0", "osImage": "Plain Linux"},
    }
    row = await row_of(api, NODES, node, status)
    assert row["Status"] == "Ready,SchedulingDisabled"
    assert row["Roles"] == "compute,edge,storage"
    assert (row["Internal-IP"], row["External-IP"]) == ("10.0.0.7", "<none>")
    assert (row["Version"], row["OS-Image"]) == ("v1.35.0", "Plain Linux")


async def test_the_row_of_a_running_pod(api: ApiUnderTest) -> None:
    status = {
        "phase": "Running",
        "podIP": "10.1.0.1",
        "podIPs": [{"ip": "10.1.0.1"}],
        "containerStatuses": [
            {
                "name": "main",
                "ready": True,
                "restartCount": 2,
                "image": "busybox:1",
                "imageID": "",
                "state": {"running": {"startedAt": "2026-01-02T03:04:00Z"}},
                "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2026-01-02T03:03:55Z"}},
            }
        ],
    }
    row = await row_of(api, PODS, a_pod(node="n1"), status)
    assert row["Ready"] == "1/1"
    assert row["Status"] == "Running"
    assert row["Restarts"] == "2 (10s ago)"
    assert (row["IP"], row["Node"]) == ("10.1.0.1", "n1")


async def test_a_finished_pod_s_row_says_completed(api: ApiUnderTest) -> None:
    await row_of(api, PODS, a_pod(node="n1"), {"phase": "Succeeded"})
    table = await table_of(api, PODS)
    (condition,) = table["rows"][0]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "Completed",
        "True",
        "Succeeded",
    )


async def test_the_row_of_a_finished_snapshot(api: ApiUnderTest) -> None:
    status = {
        "readyToUse": True,
        "restoreSize": "1Gi",
        "boundVolumeSnapshotContentName": "content",
        "creationTime": "2026-01-02T03:03:05Z",
    }
    row = await row_of(api, SNAPSHOTS, a_snapshot(), status)
    assert [row[n] for n in ("ReadyToUse", "RestoreSize", "SnapshotContent", "CreationTime")] == [
        True,
        "1Gi",
        "content",
        "60s",
    ]
    status = {"readyToUse": True, "restoreSize": 1024}
    row = await row_of(api, SNAPSHOT_CONTENTS, a_snapshot_content(), status)
    assert (row["ReadyToUse"], row["RestoreSize"]) == (True, 1024)


async def test_an_event_that_repeats_was_last_seen_when_it_last_repeated(
    api: ApiUnderTest,
) -> None:
    event = an_event(
        eventTime="2026-01-02T02:00:00.000000Z",
        series={"count": 9, "lastObservedTime": "2026-01-02T03:04:00.000000Z"},
        message="  no room \n",
        action="Binding",
        reportingComponent="example.com/binder",
        reportingInstance="binder-0",
    )
    row = await row_of(api, EVENTS, event)
    assert (row["Last Seen"], row["Count"], row["Message"]) == ("5s", 9, "no room")


INCLUDED = {
    "nothing along": ("None", None),
    "metadata along": ("Metadata", "PartialObjectMetadata"),
    "the object along": ("Object", "ConfigMap"),
    "metadata unless asked": ("", "PartialObjectMetadata"),
}


@pytest.mark.parametrize(("asked", "kind"), INCLUDED.values(), ids=INCLUDED)
async def test_what_a_row_includes_of_its_object(
    api: ApiUnderTest, asked: str, kind: str | None
) -> None:
    await api.post(CONFIG_MAPS, a_config_map("c"))
    table = await table_of(api, f"{CONFIG_MAPS}/c?includeObject={asked}")
    along = table["rows"][0]["object"]
    assert (along and along["kind"]) == kind
    if kind == "ConfigMap":
        assert along["data"] == {"colour": "blue"}


@pytest.mark.parametrize("path", [f"{CONFIG_MAPS}/kube-root-ca.crt", CONFIG_MAPS])
async def test_what_a_row_cannot_include_is_400(api: ApiUnderTest, path: str) -> None:
    answer = await api.get(f"{path}?includeObject=Foo", accept=TABLE)
    assert (answer.code, answer.doc["reason"]) == (400, "BadRequest")
    assert "must be 'Metadata', 'Object', 'None', or empty" in answer.doc["message"]


async def test_lists_keep_version_and_pages_as_tables(api: ApiUnderTest) -> None:
    for name in ("a", "b", "c"):
        await api.post(VOLUMES, a_volume(name))
    table = await table_of(api, f"{VOLUMES}?limit=2")
    assert [row["cells"][0] for row in table["rows"]] == ["a", "b"]
    metadata = table["metadata"]
    assert metadata["resourceVersion"] == str(api.parts.backend.store.revision)
    assert metadata["remainingItemCount"] == 1
    rest = await table_of(api, f"{VOLUMES}?limit=2&continue={metadata['continue']}")
    assert [row["cells"][0] for row in rest["rows"]] == ["c"]


async def test_an_empty_list_has_columns_and_no_rows(api: ApiUnderTest) -> None:
    table = await table_of(api, VOLUMES)
    assert table["rows"] == []
    assert table["columnDefinitions"]


async def test_the_old_version_of_tables_is_served(api: ApiUnderTest) -> None:
    accept = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
    table = await table_of(api, NAMESPACES, accept)
    assert table["apiVersion"] == "meta.k8s.io/v1beta1"
    assert table["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


async def test_writes_answer_tables_too(api: ApiUnderTest) -> None:
    def check(answer: Answered, code: int) -> None:
        assert answer.code == code
        assert answer.doc["kind"] == "Table"
        assert answer.doc["rows"][0]["cells"][0] == "c"

    accept = {"Accept": TABLE}
    check(await api.ask("POST", CONFIG_MAPS, a_config_map("c"), accept), 201)
    check(await api.ask("PUT", f"{CONFIG_MAPS}/c", a_config_map("c", a="b"), accept), 200)
    claim = await api.ask("POST", f"{CLAIMS}?dryRun=All", a_claim("c"), accept)
    check(claim, 201)


async def test_refusals_are_never_tables(api: ApiUnderTest) -> None:
    answer = await api.get(f"{CONFIG_MAPS}/missing", accept=TABLE)
    assert (answer.code, answer.doc["kind"]) == (404, "Status")
