"""What the storage kinds take and refuse."""

from typing import Any

import pytest

from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    ATTACHMENTS,
    CLASSES,
    CSI_NODES,
    DRIVERS,
    NODES,
    PODS,
    VOLUMES,
    a_class,
    a_csi_node,
    a_driver,
    a_node,
    a_pod,
    a_volume,
    an_attachment,
)

Doc = dict[str, Any]

LOCAL = {"path": "/mnt/disk"}
ON_NODE = {
    "required": {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}
                ]
            }
        ]
    }
}

NEW_VOLUMES: dict[str, tuple[Doc, str]] = {
    "two sources": (
        a_volume(hostPath={"path": "/x"}),
        "spec.csi: Forbidden: may not specify more than 1 volume type",
    ),
    "no source": (a_volume(csi=None), "spec: Required value: must specify a volume type"),
    "local, and nobody knows where": (
        a_volume(csi=None, local=LOCAL),
        "spec.nodeAffinity: Required value: Local volume requires node affinity",
    ),
    "no capacity": (a_volume(capacity={}), "spec.capacity: "),
    "capacity of something else": (
        a_volume(capacity={"storage": "1Gi", "cpu": "1"}),
        'supported values: "storage"',
    ),
    "an empty capacity": (
        a_volume("disk", "0"),
        'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
    ),
    "no driver": (a_volume(csi={"volumeHandle": "h"}), "spec.csi.driver: Required value"),
    "no handle": (
        a_volume(csi={"driver": "d.example.com"}),
        "spec.csi.volumeHandle: Required value",
    ),
    "a policy that is none": (
        a_volume(persistentVolumeReclaimPolicy="Burn"),
        'spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn"',
    ),
}


@pytest.mark.parametrize(("volume", "message"), NEW_VOLUMES.values(), ids=NEW_VOLUMES)
async def test_refused_volumes(api: ApiUnderTest, volume: Doc, message: str) -> None:
    answer = await api.post(VOLUMES, volume)
    assert answer.code == 422, answer.text
    assert message in answer.doc["message"]
    assert answer.doc["details"]["kind"] == "PersistentVolume"


async def test_a_local_volume_with_its_node_is_taken(api: ApiUnderTest) -> None:
    answer = await api.post(VOLUMES, a_volume(csi=None, local=LOCAL, nodeAffinity=ON_NODE))
    assert answer.code == 201, answer.text


VOLUME_CHANGES: dict[str, tuple[Doc, int, str]] = {
    "another handle": (
        {"csi": {"volumeHandle": "h2"}},
        422,
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after "
        "creation",
    ),
    "more capacity": ({"capacity": {"storage": "9Gi"}}, 200, ""),
    "less capacity": ({"capacity": {"storage": "1Gi"}}, 200, ""),
    "a claim": ({"claimRef": {"namespace": "default", "name": "data"}}, 200, ""),
    "another policy": ({"persistentVolumeReclaimPolicy": "Delete"}, 200, ""),
    "another class": ({"storageClassName": "slow"}, 200, ""),
    "other access modes": ({"accessModes": ["ReadWriteMany"]}, 200, ""),
    "another mode": ({"volumeMode": "Block"}, 422, "field is immutable"),
    "a node, once": ({"nodeAffinity": ON_NODE}, 200, ""),
}


@pytest.mark.parametrize(("spec", "code", "message"), VOLUME_CHANGES.values(), ids=VOLUME_CHANGES)
async def test_changes_of_a_volume(api: ApiUnderTest, spec: Doc, code: int, message: str) -> None:
    await api.post(VOLUMES, a_volume())
    answer = await api.patch(f"{VOLUMES}/disk", {"spec": spec})
    assert answer.code == code, answer.text
    if message:
        assert message in answer.doc["message"]


async def test_a_volume_s_node_stays(api: ApiUnderTest) -> None:
    await api.post(VOLUMES, a_volume(nodeAffinity=ON_NODE))
    answer = await api.patch(f"{VOLUMES}/disk", {"spec": {"nodeAffinity": None}})
    assert answer.code == 422


CLASS_CHANGES: dict[str, tuple[Doc, int, str]] = {
    "parameters": (
        {"parameters": {"a": "c"}},
        422,
        "parameters: Invalid value: null: field is immutable",
    ),
    "the provisioner": (
        {"provisioner": "e.example.com"},
        422,
        "provisioner: Invalid value: null: field is immutable",
    ),
    "the policy": (
        {"reclaimPolicy": "Retain"},
        422,
        "reclaimPolicy: Invalid value: null: field is immutable",
    ),
    "when it binds": ({"volumeBindingMode": "WaitForFirstConsumer"}, 422, "field is immutable"),
    "whether it grows": ({"allowVolumeExpansion": True}, 200, ""),
    "how it is mounted": ({"mountOptions": ["ro"]}, 200, ""),
}


@pytest.mark.parametrize(("change", "code", "message"), CLASS_CHANGES.values(), ids=CLASS_CHANGES)
async def test_changes_of_a_class(api: ApiUnderTest, change: Doc, code: int, message: str) -> None:
    await api.post(CLASSES, a_class(parameters={"a": "b"}))
    answer = await api.patch(f"{CLASSES}/fast", change)
    assert answer.code == code, answer.text
    if message:
        assert message in answer.doc["message"]
        assert answer.doc["message"].startswith('StorageClass.storage.k8s.io "fast" is invalid: ')


async def test_a_class_cannot_recycle(api: ApiUnderTest) -> None:
    answer = await api.post(CLASSES, a_class(reclaimPolicy="Recycle"))
    assert answer.code == 422
    assert (
        'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'
        in (answer.doc["message"])
    )


async def test_a_class_needs_a_provisioner(api: ApiUnderTest) -> None:
    answer = await api.post(CLASSES, a_class() | {"provisioner": ""})
    assert answer.code == 422
    assert "provisioner: Required value" in answer.doc["message"]


async def test_an_attachment_s_spec_is_fixed(api: ApiUnderTest) -> None:
    link = (await api.post(ATTACHMENTS, an_attachment())).doc
    link["spec"]["nodeName"] = "n2"
    answer = await api.put(f"{ATTACHMENTS}/link", link)
    assert answer.code == 422
    assert "spec: Invalid value" in answer.doc["message"]
    assert "field is immutable" in answer.doc["message"]


async def test_a_status_write_is_about_the_status_alone(api: ApiUnderTest) -> None:
    link = (await api.post(ATTACHMENTS, an_attachment() | {"status": {"attached": True}})).doc
    assert link["status"] == {"attached": False}
    link["status"] = {"attached": True, "attachmentMetadata": {"device": "sda"}}
    link["metadata"]["labels"] = {"a": "b"}
    answer = await api.put(f"{ATTACHMENTS}/link/status", link)
    assert answer.code == 200, answer.text
    assert answer.doc["status"]["attached"] is True
    assert "labels" not in answer.doc["metadata"]


async def test_a_spec_write_leaves_the_status(api: ApiUnderTest) -> None:
    await api.post(ATTACHMENTS, an_attachment())
    await api.patch(f"{ATTACHMENTS}/link/status", {"status": {"attached": True}})
    change = {"metadata": {"labels": {"a": "b"}}, "status": {"attached": False}}
    answer = await api.patch(f"{ATTACHMENTS}/link", change)
    assert answer.doc["status"]["attached"] is True
    assert answer.doc["metadata"]["labels"] == {"a": "b"}


async def test_whether_a_driver_attaches_is_fixed(api: ApiUnderTest) -> None:
    await api.post(DRIVERS, a_driver())
    path = f"{DRIVERS}/d.example.com"
    answer = await api.patch(path, {"spec": {"attachRequired": False}})
    assert answer.code == 422
    assert (
        "spec.attachedRequired: Invalid value: false: field is immutable" in (answer.doc["message"])
    )


async def test_what_a_driver_is_told_may_change_and_is_counted(api: ApiUnderTest) -> None:
    made = (await api.post(DRIVERS, a_driver())).doc
    assert "generation" not in made["metadata"]
    path = f"{DRIVERS}/d.example.com"
    for generation, value in ((1, True), (2, False)):
        answer = await api.patch(path, {"spec": {"podInfoOnMount": value}})
        assert answer.code == 200, answer.text
        assert answer.doc["metadata"]["generation"] == generation
    labelled = await api.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert labelled.doc["metadata"]["generation"] == 2


@pytest.mark.parametrize("spec", [{}, {"drivers": []}, {"drivers": None}, None])
async def test_a_node_without_drivers_has_an_empty_list(
    api: ApiUnderTest, spec: Doc | None
) -> None:
    created = await api.post(CSI_NODES, a_csi_node() | {"spec": spec})
    assert created.code == 201, created.text
    assert (await api.get(f"{CSI_NODES}/n1")).doc["spec"] == {"drivers": []}
    assert (await api.get(CSI_NODES)).doc["items"][0]["spec"] == {"drivers": []}


async def test_drivers_come_and_go_but_do_not_change(api: ApiUnderTest) -> None:
    node = (await api.post(CSI_NODES, a_csi_node("n1", "a", "b"))).doc
    node["spec"]["drivers"] = [node["spec"]["drivers"][0], {"name": "c", "nodeID": "x"}]
    node = (await api.put(f"{CSI_NODES}/n1", node)).doc
    assert [driver["name"] for driver in node["spec"]["drivers"]] == ["a", "c"]
    node["spec"]["drivers"][0]["nodeID"] = "other"
    assert (await api.put(f"{CSI_NODES}/n1", node)).code == 422


def binding(node: str, **target: str) -> Doc:
    return {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {"name": "web"},
        "target": {"kind": "Node", "name": node, **target},
    }


async def test_a_pod_is_bound_once(api: ApiUnderTest) -> None:
    await api.post(NODES, a_node())
    await api.post(PODS, a_pod())
    first = await api.post(f"{PODS}/web/binding", binding("n1"))
    assert first.code == 201
    assert (first.doc["kind"], first.doc["status"]) == ("Status", "Success")
    pod = (await api.get(f"{PODS}/web")).doc
    assert pod["spec"]["nodeName"] == "n1"
    (condition,) = (c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled")
    assert condition["status"] == "True"
    second = await api.post(f"{PODS}/web/binding", binding("n2"))
    assert (second.code, second.doc["reason"]) == (409, "Conflict")
    assert 'pod web is already assigned to node "n1"' in second.doc["message"]
    assert (await api.get(f"{PODS}/web")).doc["spec"]["nodeName"] == "n1"


BINDINGS = {
    "of a pod that is not there": ("gone", binding("n1"), 404),
    "to nowhere": ("web", {"metadata": {"name": "web"}, "target": {"kind": "Node"}}, 422),
    "to another kind": ("web", binding("n1", kind="Pod"), 422),
}


@pytest.mark.parametrize(("pod", "body", "code"), BINDINGS.values(), ids=BINDINGS)
async def test_refused_bindings(api: ApiUnderTest, pod: str, body: Doc, code: int) -> None:
    await api.post(PODS, a_pod())
    answer = await api.post(f"{PODS}/{pod}/binding", body | {"metadata": {"name": pod}})
    assert answer.code == code, answer.text


POD_CHANGES: dict[str, tuple[Doc, int]] = {
    "its node": ({"spec": {"nodeName": "n1"}}, 422),
    "its restart policy": ({"spec": {"restartPolicy": "Never"}}, 422),
    "its deadline": ({"spec": {"activeDeadlineSeconds": 5}}, 200),
    "a label": ({"metadata": {"labels": {"a": "b"}}}, 200),
}


@pytest.mark.parametrize(("change", "code"), POD_CHANGES.values(), ids=POD_CHANGES)
async def test_changes_of_a_pod(api: ApiUnderTest, change: Doc, code: int) -> None:
    await api.post(PODS, a_pod())
    answer = await api.patch(f"{PODS}/web", change)
    assert answer.code == code, answer.text
    if code == 422:
        assert (
            "spec: Forbidden: pod updates may not change fields other than"
            in (answer.doc["message"])
        )
