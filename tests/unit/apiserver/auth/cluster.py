"""A small cluster for the tests of authorization: two nodes, their pods, claims and volumes."""

from collections.abc import Iterable
from typing import Any

from mooring.model.document import Doc


def a_pod(name: str, node: str, namespace: str = "default", **spec: Any) -> Doc:
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{namespace}-{name}",
            "generation": 1,
        },
        "spec": {"nodeName": node, "serviceAccountName": "default", "containers": []} | spec,
    }


def a_claim(name: str, volume: str = "", namespace: str = "default") -> Doc:
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"volumeName": volume},
        "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
    }


def a_volume(name: str, claim: str = "", namespace: str = "default", **source: Any) -> Doc:
    ref = {"claimRef": {"namespace": namespace, "name": claim}} if claim else {}
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": ref | source}


class Cluster:
    """The objects that node rules look up."""

    def __init__(self, *, pods: Iterable[Doc] = (), claims: Iterable[Doc] = ()) -> None:
        self.pods = {(p["metadata"]["namespace"], p["metadata"]["name"]): p for p in pods}
        self.claims = {(c["metadata"]["namespace"], c["metadata"]["name"]): c for c in claims}
        self.volumes: dict[str, Doc] = {}
        self.attachments: dict[str, Doc] = {}
        self.nodes: dict[str, Doc] = {}
        self.csi_drivers: dict[str, Doc] = {}
        self.searches = 0  # through the pods of a node

    def pods_on_node(self, node: str) -> Iterable[Doc]:
        self.searches += 1
        return [pod for pod in self.pods.values() if pod["spec"].get("nodeName") == node]

    def pod(self, namespace: str, name: str) -> Doc | None:
        return self.pods.get((namespace, name))

    def claim(self, namespace: str, name: str) -> Doc | None:
        return self.claims.get((namespace, name))

    def volume(self, name: str) -> Doc | None:
        return self.volumes.get(name)

    def attachment(self, name: str) -> Doc | None:
        return self.attachments.get(name)

    def node(self, name: str) -> Doc | None:
        return self.nodes.get(name)

    def csi_driver(self, name: str) -> Doc | None:
        return self.csi_drivers.get(name)


def two_nodes() -> Cluster:
    """On n1: `web` (claim `data`, on volume `pv-data`, and more). On n2: `other`."""
    web = a_pod(
        "web",
        "n1",
        serviceAccountName="web-account",
        imagePullSecrets=[{"name": "pull"}],
        initContainers=[{"name": "i", "envFrom": [{"configMapRef": {"name": "init-env"}}]}],
        containers=[
            {
                "name": "c",
                "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "one-key"}}}],
                "envFrom": [{"secretRef": {"name": "env"}}],
            }
        ],
        ephemeralContainers=[
            {
                "name": "e",
                "env": [{"name": "Y", "valueFrom": {"configMapKeyRef": {"name": "one-map"}}}],
            }
        ],
        volumes=[
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"name": "s", "secret": {"secretName": "mounted"}},
            {"name": "c", "configMap": {"name": "settings"}},
            {
                "name": "p",
                "projected": {
                    "sources": [
                        {"secret": {"name": "projected"}},
                        {"configMap": {"name": "kube-root-ca.crt"}},
                        {"serviceAccountToken": {"path": "token"}},
                    ]
                },
            },
            {
                "name": "inline",
                "csi": {"driver": "inline.csi", "nodePublishSecretRef": {"name": "inline"}},
            },
        ],
    )
    other = a_pod(
        "other",
        "n2",
        serviceAccountName="other-account",
        volumes=[
            {"name": "s", "secret": {"secretName": "others"}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "others-data"}},
        ],
    )
    cluster = Cluster(
        pods=[web, other],
        claims=[
            a_claim("data", "pv-data"),
            a_claim("web-scratch", "pv-scratch"),
            a_claim("others-data", "pv-others"),
            a_claim("unused", "pv-unused"),
        ],
    )
    secrets = {
        "driver": "disk.csi",
        "nodeStageSecretRef": {"namespace": "storage", "name": "stage"},
        "nodePublishSecretRef": {"namespace": "storage", "name": "publish"},
        "nodeExpandSecretRef": {"namespace": "storage", "name": "expand"},
        "controllerPublishSecretRef": {"namespace": "storage", "name": "controller"},
    }
    cluster.volumes = {
        "pv-data": a_volume("pv-data", "data", csi=secrets),
        "pv-scratch": a_volume("pv-scratch", "web-scratch", iscsi={"secretRef": {"name": "chap"}}),
        "pv-others": a_volume("pv-others", "others-data"),
        "pv-unused": a_volume("pv-unused", "unused"),
        "pv-free": a_volume("pv-free"),
    }
    cluster.attachments = {
        "va-n1": {"metadata": {"name": "va-n1"}, "spec": {"nodeName": "n1"}},
        "va-n2": {"metadata": {"name": "va-n2"}, "spec": {"nodeName": "n2"}},
    }
    cluster.nodes = {
        "n1": {"metadata": {"name": "n1", "uid": "uid-n1"}},
        "n2": {"metadata": {"name": "n2", "uid": "uid-n2"}},
    }
    cluster.csi_drivers = {
        "disk.csi": {"spec": {"tokenRequests": [{"audience": "vault"}]}},
        "inline.csi": {"spec": {"tokenRequests": [{"audience": "inline-vault"}]}},
    }
    return cluster
