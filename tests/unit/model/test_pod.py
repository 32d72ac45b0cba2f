"""Pods as storage controllers read them."""

from typing import Any

import pytest

from mooring.model.pod import Pod, PodPhase
from mooring.model.pod_volume import (
    ClaimSource,
    ConfigMapSource,
    EmptyDirSource,
    FieldRef,
    GitRepoSource,
    ImageSource,
    InlineCsiSource,
    KeyToPath,
    PodVolume,
    SecretSource,
    VolumeDevice,
    VolumeMount,
)
from mooring.model.quantity import parse
from mooring.model.reference import LocalObjectReference
from mooring.model.taint import Toleration
from mooring.model.volume_source import HostPathSource, NfsSource
from mooring.model.wire import Wire, read_document
from tests.unit.model.reading import read

DOCUMENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "namespace": "ns", "uid": "u-pod"},
    "spec": {
        "nodeName": "n1",
        "serviceAccountName": "default",
        "schedulerName": "default-scheduler",
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "nodeSelector": {"disk": "ssd"},
        "securityContext": {"fsGroup": 1000, "fsGroupChangePolicy": "OnRootMismatch"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchFields": [
                            {"key": "metadata.name", "operator": "In", "values": ["n1"]}
                        ]}
                    ]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 7, "preference": {"matchExpressions": [
                        {"key": "zone", "operator": "Exists"}
                    ]}}
                ],
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []},
        },
        "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 300}],
        "schedulingGates": [{"name": "wait"}],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {
                "metadata": {"creationTimestamp": None, "labels": {"a": "b"}},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }}},
            {"name": "kube-api-access-x", "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {
                    "name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }},
                {"downwardAPI": {"items": [
                    {"path": "namespace", "fieldRef": {
                        "apiVersion": "v1", "fieldPath": "metadata.namespace",
                    }}
                ]}},
            ]}},
        ],
        "containers": [
            {
                "name": "main",
                "image": "nginx",
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data", "subPath": "a", "readOnly": True}
                ],
                "volumeDevices": [{"name": "scratch", "devicePath": "/dev/xvda"}],
                "securityContext": {"privileged": True},
            }
        ],
        "initContainers": [{"name": "init", "image": "nginx"}],
    },
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.9",
        "hostIP": "10.0.0.1",
        "conditions": [{"type": "PodScheduled", "status": "True", "lastProbeTime": None}],
    },
}  # fmt: skip


def test_a_running_pod() -> None:
    pod = read(DOCUMENT, Pod)
    assert pod.is_scheduled
    assert not pod.is_finished
    assert pod.spec.node_selector == {"disk": "ssd"}
    assert pod.spec.security_context.fs_group == 1000
    assert pod.spec.security_context.fs_group_change_policy == "OnRootMismatch"
    assert pod.spec.tolerations == (Toleration("gpu", "Exists", toleration_seconds=300),)
    assert [gate.name for gate in pod.spec.scheduling_gates] == ["wait"]
    assert [container.name for container in pod.spec.init_containers] == ["init"]
    assert pod.status.pod_ip == "10.0.0.9"
    assert pod.status.host_ip == "10.0.0.1"
    assert list(pod.claim_names()) == ["data-web-0", "web-0-scratch"]


def test_its_containers_see_volumes_as_files_and_devices() -> None:
    (container,) = read(DOCUMENT, Pod).spec.containers
    assert container.volume_mounts == (VolumeMount("data", "/data", read_only=True, sub_path="a"),)
    assert container.volume_devices == (VolumeDevice("scratch", "/dev/xvda"),)
    assert container.security_context is not None
    assert container.security_context.privileged


def test_its_affinity() -> None:
    affinity = read(DOCUMENT, Pod).spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    assert affinity.node_affinity.required is not None
    assert affinity.node_affinity.required.matches({}, {"metadata.name": "n1"})
    (preferred,) = affinity.node_affinity.preferred
    assert preferred.weight == 7
    assert preferred.preference.matches({"zone": "z1"}, {})


def test_its_volumes() -> None:
    data, scratch, access = read(DOCUMENT, Pod).spec.volumes
    assert data.find_source() == ("persistentVolumeClaim", ClaimSource("data-web-0"))
    assert scratch.ephemeral is not None
    template = scratch.ephemeral.volume_claim_template
    assert template is not None
    assert template.metadata is not None
    assert template.metadata.labels == {"a": "b"}
    assert parse(template.spec.resources.requests["storage"]) == parse("1Gi")
    assert access.projected is not None
    token, config_map, downward = access.projected.sources or ()
    assert token.service_account_token is not None
    assert token.service_account_token.expiration_seconds == 3607
    assert config_map.config_map is not None
    assert config_map.config_map.items == (KeyToPath("ca.crt", "ca.crt"),)
    assert downward.downward_api is not None
    assert downward.downward_api.items[0].field_ref == FieldRef("metadata.namespace")


@pytest.mark.parametrize("phase", list(PodPhase))
def test_finished_means_succeeded_or_failed(phase: PodPhase) -> None:
    pod = read(DOCUMENT | {"status": {"phase": phase.value}}, Pod)
    assert pod.is_finished is (phase in {"Succeeded", "Failed"})


def test_a_new_pod_is_pending_and_not_scheduled() -> None:
    pod = read(DOCUMENT | {"spec": {"containers": []}, "status": {}}, Pod)
    assert pod.status.phase is PodPhase.PENDING
    assert not pod.is_scheduled
    assert list(pod.claim_names()) == []


SOURCES: dict[str, tuple[dict[str, Any], Wire | dict[str, Any]]] = {
    "emptyDir": ({"medium": "Memory", "sizeLimit": "1Gi"}, EmptyDirSource("Memory", "1Gi")),
    "hostPath": ({"path": "/d"}, HostPathSource("/d")),
    "nfs": ({"server": "s", "path": "/e"}, NfsSource("s", "/e")),
    "secret": ({"secretName": "s", "defaultMode": 420}, SecretSource("s", default_mode=420)),
    "configMap": ({"name": "c", "optional": True}, ConfigMapSource("c", optional=True)),
    "image": ({"reference": "i"}, ImageSource("i")),
    "csi": (
        {"driver": "d", "nodePublishSecretRef": {"name": "s"}},
        InlineCsiSource("d", node_publish_secret_ref=LocalObjectReference("s")),
    ),
    "gitRepo": ({"repository": "r"}, GitRepoSource("r")),
    "scaleIO": ({"gateway": "g"}, {"gateway": "g"}),
}


@pytest.mark.parametrize("name", SOURCES)
def test_source(name: str) -> None:
    document, source = SOURCES[name]
    volume = read_document({"name": "v", name: document}, PodVolume)
    assert volume.find_source() == (name, source)
    assert read(DOCUMENT, Pod).find_claim_name(volume) is None


TERMINATED = {
    "finished": ({}, {"phase": "Succeeded"}, True),
    "failed": ({}, {"phase": "Failed"}, True),
    "running": ({}, {"phase": "Running"}, False),
    "deleted and its containers have ended": (
        {"deletionTimestamp": "2026-01-02T03:04:05Z"},
        {
            "phase": "Running",
            "containerStatuses": [{"name": "a", "state": {"terminated": {"x": 1}}}],
        },
        True,
    ),
    "deleted and one container still runs": (
        {"deletionTimestamp": "2026-01-02T03:04:05Z"},
        {"phase": "Running", "containerStatuses": [{"name": "a", "state": {"running": {}}}]},
        False,
    ),
    "deleted and an init container still runs": (
        {"deletionTimestamp": "2026-01-02T03:04:05Z"},
        {"phase": "Pending", "initContainerStatuses": [{"name": "a", "state": {"running": {}}}]},
        False,
    ),
    "deleted and somebody still looks round in it": (
        {"deletionTimestamp": "2026-01-02T03:04:05Z"},
        {
            "phase": "Running",
            "ephemeralContainerStatuses": [{"name": "a", "state": {"running": {}}}],
        },
        False,
    ),
    "deleted before any container ran": (
        {"deletionTimestamp": "2026-01-02T03:04:05Z"},
        {"phase": "Pending"},
        True,
    ),
}


@pytest.mark.parametrize(("metadata", "status", "ended"), TERMINATED.values(), ids=TERMINATED)
def test_whether_a_pod_is_over(
    *, metadata: dict[str, Any], status: dict[str, Any], ended: bool
) -> None:
    pod = read_document({"metadata": {"name": "p", **metadata}, "status": status}, Pod)
    assert pod.is_terminated is ended


def test_what_it_asks_of_a_node() -> None:
    spec = {
        "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}],
        "initContainers": [{"name": "b", "restartPolicy": "Always"}],
        "overhead": {"memory": "1Mi"},
        "priority": 7,
        "preemptionPolicy": "Never",
    }
    found = read_document({"metadata": {"name": "p"}, "spec": spec}, Pod).spec
    assert found.containers[0].resources.requests == {"cpu": "1"}
    assert found.init_containers[0].restart_policy == "Always"
    assert found.overhead == {"memory": "1Mi"}
    assert (found.priority, found.preemption_policy) == (7, "Never")


def test_claims_made_for_it_are_its_own() -> None:
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "books"}},
        {"name": "scratch", "ephemeral": {}},
    ]
    pod = read_document({"metadata": {"name": "web"}, "spec": {"volumes": volumes}}, Pod)
    assert list(pod.shared_claim_names()) == ["books"]
    assert list(pod.claim_names()) == ["books", "web-scratch"]
