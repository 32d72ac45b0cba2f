"""Objects of a cluster, written by hand, step by step."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPSConnection
from typing import Any

from tests.conformance.peers import Kubernetes
from tests.fakes.real_server import Doc, RealServer, Reply

CORE = "/api/v1"
STORAGE = "/apis/storage.k8s.io/v1"
MERGE = {"Content-Type": "application/merge-patch+json"}
DRIVER = "disk.example.com"
THREADS = 8


class KubernetesServer:
    """Kubernetes' API server, asked as ours is."""

    def __init__(self, api: Kubernetes) -> None:
        self._api = api
        self.kubeconfig = api.kubeconfig
        self.data_dir = api.directory / "data"
        self.url = api.url

    def token(self) -> str:
        return self._api.token

    def connect(self) -> HTTPSConnection:
        return HTTPSConnection(self._api.host, self._api.port, timeout=30, context=self._api.tls())

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        connection = self.connect()
        sent = json.dumps(body).encode() if isinstance(body, dict) else body
        heads = {"Authorization": f"Bearer {self.token()}", "Content-Type": "application/json"}
        connection.request(method, path, sent, {**heads, **(headers or {})})
        answer = connection.getresponse()
        reply = Reply(answer.status, answer.read(), dict(answer.getheaders()))
        connection.close()
        return reply


class Cluster:
    def __init__(self, server: RealServer | KubernetesServer) -> None:
        self.server = server
        self.post(
            f"{STORAGE}/storageclasses", {"metadata": {"name": "fast"}, "provisioner": DRIVER}
        )
        self.post(f"{CORE}/nodes", {"metadata": {"name": "n1"}})
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        self.status(f"{CORE}/nodes/n1", ready)
        self.namespace("team")

    def post(self, path: str, document: Doc) -> None:
        reply = self.server.ask("POST", path, document)
        assert reply.code in (201, 409), (path, reply)

    def patch(self, path: str, change: Doc) -> None:
        reply = self.server.ask("PATCH", path, json.dumps(change).encode(), MERGE)
        assert reply.code == 200, (path, reply)

    def status(self, path: str, status: Doc) -> None:
        self.patch(f"{path}/status", {"status": status})

    def namespace(self, name: str) -> None:
        self.post(f"{CORE}/namespaces", {"metadata": {"name": name}})
        self.post(f"{CORE}/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})

    def claim(self, name: str, storage_class: str = "fast", namespace: str = "team") -> None:
        path = f"{CORE}/namespaces/{namespace}/persistentvolumeclaims"
        self.post(path, {"metadata": {"name": name}, "spec": claim_spec(storage_class)})

    def bind(self, name: str, namespace: str = "team") -> None:
        """A volume is made, and the claim bound to it."""
        volume = f"pv-{namespace}-{name}"
        spec: Doc = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name},
            "csi": {"driver": DRIVER, "volumeHandle": volume},
        }
        self.post(f"{CORE}/persistentvolumes", {"metadata": {"name": volume}, "spec": spec})
        self.status(f"{CORE}/persistentvolumes/{volume}", {"phase": "Bound"})
        path = f"{CORE}/namespaces/{namespace}/persistentvolumeclaims/{name}"
        self.patch(path, {"spec": {"volumeName": volume}})
        self.status(path, {"phase": "Bound", "capacity": {"storage": "1Gi"}})

    def event(self, claim: str, *, reason: str, source: str, message: str) -> None:
        about = {"kind": "PersistentVolumeClaim", "namespace": "team", "name": claim}
        told = {"type": "Warning", "reason": reason, "message": message, "count": 1}
        by = {"source": {"component": source}, "lastTimestamp": "2026-01-01T00:00:00Z"}
        event = {"metadata": {"name": f"{claim}.1"}, "involvedObject": about, **told, **by}
        self.post(f"{CORE}/namespaces/team/events", event)

    def pod(self, name: str, claim: str, namespace: str = "team") -> None:
        spec: Doc = {
            "containers": [{"name": "main", "image": "busybox"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        }
        self.post(f"{CORE}/namespaces/{namespace}/pods", {"metadata": {"name": name}, "spec": spec})

    def schedule(self, pod: str) -> None:
        target = {"kind": "Node", "name": "n1"}
        self.post(
            f"{CORE}/namespaces/team/pods/{pod}/binding",
            {"target": target, "metadata": {"name": pod}},
        )

    def attach(self, claim: str, **status: Any) -> None:
        name = f"link-{claim}"
        source = {"persistentVolumeName": f"pv-team-{claim}"}
        spec = {"attacher": DRIVER, "nodeName": "n1", "source": source}
        self.post(f"{STORAGE}/volumeattachments", {"metadata": {"name": name}, "spec": spec})
        if status:
            self.status(f"{STORAGE}/volumeattachments/{name}", status)

    def run(self, pod: str, state: Doc, *, mounted: bool = True) -> None:
        condition = {"type": "PodReadyToStartContainers", "status": str(mounted)}
        container = {"name": "main", "image": "x", "imageID": "", "ready": True, "restartCount": 0}
        status = {
            "phase": "Running" if "running" in state else "Pending",
            "conditions": [condition],
            "containerStatuses": [{**container, "state": state}],
        }
        self.status(f"{CORE}/namespaces/team/pods/{pod}", status)

    def fill(self, count: int) -> None:
        """So many claims in the namespace `many`."""
        self.namespace("many")
        with ThreadPoolExecutor(THREADS) as threads:
            for made in [
                threads.submit(self._fill, range(i, count, THREADS)) for i in range(THREADS)
            ]:
                made.result()

    def _fill(self, numbers: range) -> None:
        """On one connection."""
        path = f"{CORE}/namespaces/many/persistentvolumeclaims"
        headers = {
            "Authorization": f"Bearer {self.server.token()}",
            "Content-Type": "application/json",
        }
        connection = self.server.connect()
        for number in numbers:
            document = {"metadata": {"name": f"c-{number:05d}"}, "spec": claim_spec("fast")}
            connection.request("POST", path, json.dumps(document).encode(), headers)
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 201, body
        connection.close()


def claim_spec(storage_class: str) -> Doc:
    return {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": storage_class,
    }
