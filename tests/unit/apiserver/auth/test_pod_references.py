"""What pods and volumes refer to."""

from typing import Any

import pytest

from mooring.apiserver.auth.pod_references import (
    References,
    find_api_reference,
    references,
    volume_secrets,
)
from tests.unit.apiserver.auth.cluster import a_pod, a_volume

SECRET_VOLUMES: dict[str, dict[str, Any]] = {
    "azureFile": {"azureFile": {"secretName": "s"}},
    "cephfs": {"cephfs": {"secretRef": {"name": "s"}}},
    "cinder": {"cinder": {"secretRef": {"name": "s"}}},
    "flexVolume": {"flexVolume": {"secretRef": {"name": "s"}}},
    "rbd": {"rbd": {"secretRef": {"name": "s"}}},
    "scaleIO": {"scaleIO": {"secretRef": {"name": "s"}}},
    "iscsi": {"iscsi": {"secretRef": {"name": "s"}}},
    "storageos": {"storageos": {"secretRef": {"name": "s"}}},
    "secret": {"secret": {"secretName": "s"}},
    "csi": {"csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}},
    "projected": {"projected": {"sources": [{"secret": {"name": "s"}}]}},
}


@pytest.mark.parametrize("source", SECRET_VOLUMES.values(), ids=SECRET_VOLUMES)
def test_a_pods_volume_needs_its_secret(source: dict[str, Any]) -> None:
    pod = a_pod("p", "n", volumes=[{"name": "v"} | source])
    assert references(pod).secrets == {"s"}


def test_a_pod_that_refers_to_nothing() -> None:
    found = references(a_pod("p", "n", volumes=[{"name": "v", "emptyDir": {}}]))
    assert found == References(service_accounts=frozenset({"default"}))


def test_empty_names_are_no_references() -> None:
    pod = a_pod("p", "n", imagePullSecrets=[{"name": ""}, {}], volumes=None, containers=None)
    assert references(pod).secrets == set()


IN = {"namespace": "vault", "name": "s"}
VOLUME_SECRETS: dict[str, tuple[dict[str, Any], set[tuple[str, str]]]] = {
    "csi, what the node needs": (
        {
            "csi": {
                "nodeStageSecretRef": {"namespace": "a", "name": "1"},
                "nodePublishSecretRef": {"namespace": "b", "name": "2"},
                "nodeExpandSecretRef": {"namespace": "c", "name": "3"},
                "controllerPublishSecretRef": {"namespace": "d", "name": "4"},
                "controllerExpandSecretRef": {"namespace": "e", "name": "5"},
            }
        },
        {("a", "1"), ("b", "2"), ("c", "3")},
    ),
    "csi without namespace": ({"csi": {"nodeStageSecretRef": {"name": "s"}}}, set()),
    "azureFile with the claim": ({"azureFile": {"secretName": "s"}}, {("default", "s")}),
    "azureFile elsewhere": (
        {"azureFile": {"secretName": "s", "secretNamespace": "vault"}},
        {("vault", "s")},
    ),
    "cephfs with the claim": ({"cephfs": {"secretRef": {"name": "s"}}}, {("default", "s")}),
    "cephfs elsewhere": ({"cephfs": {"secretRef": IN}}, {("vault", "s")}),
    "rbd": ({"rbd": {"secretRef": {"name": "s"}}}, {("default", "s")}),
    "iscsi": ({"iscsi": {"secretRef": {"name": "s"}}}, {("default", "s")}),
    "flexVolume": ({"flexVolume": {"secretRef": {"name": "s"}}}, {("default", "s")}),
    "scaleIO": ({"scaleIO": {"secretRef": {"name": "s"}}}, {("default", "s")}),
    "cinder names its namespace": ({"cinder": {"secretRef": {"name": "s"}}}, set()),
    "storageos names its namespace": ({"storageos": {"secretRef": IN}}, {("vault", "s")}),
    "nfs": ({"nfs": {"server": "x"}}, set()),
}


@pytest.mark.parametrize(("source", "secrets"), VOLUME_SECRETS.values(), ids=VOLUME_SECRETS)
def test_volume_secrets(source: dict[str, Any], secrets: set[tuple[str, str]]) -> None:
    assert set(volume_secrets(a_volume("pv", "claim", **source))) == secrets


def a_volume_of(**source: Any) -> dict[str, Any]:
    return {"serviceAccountName": "", "volumes": [{"name": "v"} | source]}


NEEDED: dict[str, tuple[dict[str, Any], str | None]] = {
    "a service account": ({"serviceAccountName": "web"}, "serviceaccounts"),
    "a pull secret": (
        {"serviceAccountName": "", "imagePullSecrets": [{"name": "s"}]},
        "secrets",
    ),
    "a secret volume without a name": (a_volume_of(secret={}), "secrets (via secret volumes)"),
    "a config map": (a_volume_of(configMap={"name": "c"}), "configmaps"),
    "a resource claim": (
        {"serviceAccountName": "", "resourceClaims": [{"name": "r"}]},
        "resourceclaims",
    ),
    "a CSI volume": (a_volume_of(csi={"driver": "d"}), "csidrivers (via CSI volumes)"),
    "a claim": (a_volume_of(persistentVolumeClaim={"claimName": "c"}), "persistentvolumeclaims"),
    "an ephemeral claim": (
        a_volume_of(ephemeral={}),
        "persistentvolumeclaims (via ephemeral volumes)",
    ),
    "glusterfs": (a_volume_of(glusterfs={}), "endpoints (via glusterFS volumes)"),
    "a token": (
        a_volume_of(projected={"sources": [{"serviceAccountToken": {"path": "t"}}]}),
        "serviceaccounts (via projected volumes)",
    ),
    "a trust bundle": (
        a_volume_of(projected={"sources": [{"clusterTrustBundle": {}}]}),
        "clustertrustbundles",
    ),
    "the pod's own fields": (a_volume_of(projected={"sources": [{"downwardAPI": {}}]}), None),
    "a directory of the host": (a_volume_of(hostPath={"path": "/x"}), None),
    "nothing": ({"serviceAccountName": ""}, None),
}


@pytest.mark.parametrize(("spec", "what"), NEEDED.values(), ids=NEEDED)
def test_what_a_pod_cannot_run_without(spec: dict[str, Any], what: str | None) -> None:
    assert find_api_reference(a_pod("p", "n", **spec)) == what
