"""A cluster on which situations are made, explained and healed, whoever's cluster it is."""

import asyncio
import http.client
import json
import random
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mooring.client.http import HttpClient
from mooring.client.kubeconfig import Surroundings, find_endpoint
from mooring.client.tls import Tls
from mooring.clock import RealClock
from mooring.why.answer import Answer
from mooring.why.explain import explain
from mooring.why.kinds import parse_subject
from mooring.why.read import read_world
from tests.clients.kubectl import Kubectl, Ran

Doc = dict[str, Any]

PLURALS = {
    "StorageClass": "storageclasses",
    "VolumeSnapshotClass": "volumesnapshotclasses",
    "VolumeAttributesClass": "volumeattributesclasses",
    "PriorityClass": "priorityclasses",
    "CSIStorageCapacity": "csistoragecapacities",
}
CLUSTER = frozenset(
    {
        "PersistentVolume",
        "StorageClass",
        "Node",
        "CSINode",
        "CSIDriver",
        "VolumeSnapshotClass",
        "VolumeAttachment",
        "Namespace",
        "PriorityClass",
        "VolumeAttributesClass",
        "ValidatingWebhookConfiguration",
    }
)


class Stage:
    """One namespace of one cluster."""

    def __init__(self, kubeconfig: Path, kubectl: Kubectl, namespace: str) -> None:
        self.clock = RealClock()
        self._endpoint = find_endpoint(kubeconfig, Surroundings({}, self.clock))
        self._kubectl = kubectl.in_namespace(namespace)
        self.namespace = namespace
        self._made: list[str] = []
        parts = urlsplit(self._endpoint.server)
        self._runner = asyncio.Runner()
        self._reads = HttpClient(self._endpoint, self.clock, random.SystemRandom())
        proof = self._runner.run(self._endpoint.source.proof())
        context = Tls(self._endpoint.trust).context(proof)
        assert isinstance(context, ssl.SSLContext)
        self._connection = http.client.HTTPSConnection(
            parts.hostname or "", parts.port, timeout=30, context=context
        )
        token = "" if proof.token is None else proof.token.reveal().decode()
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def ask(self, method: str, path: str, body: Doc | None = None) -> tuple[int, Doc]:
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {**self._headers, "Content-Type": media}
        given = None if body is None else json.dumps(body)
        self._connection.request(method, path, given, headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")

    def create(self, doc: Doc) -> Doc:
        """With a status, if it has one: that is written as whoever reports it would."""
        path = self.collection(doc["apiVersion"], doc["kind"])
        code, made = self.ask("POST", path, doc)
        for _ in range(200):
            if code != 403 or "serviceaccount" not in made["message"]:
                break
            self.pause()  # a controller makes the account of a new namespace
            code, made = self.ask("POST", path, doc)
        assert code == 201, made
        name = made["metadata"]["name"]
        if doc["kind"] in CLUSTER:
            self._made.append(f"{path}/{name}")
        if "status" in doc:
            made = self.patch(f"{path}/{name}/status", {"status": doc["status"]})
        return made

    def patch(self, path: str, change: Doc) -> Doc:
        code, made = self.ask("PATCH", path, change)
        assert code == 200, made
        return made

    def collection(self, version: str, kind: str) -> str:
        plural = PLURALS.get(kind, f"{kind.lower()}s")
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return (
            f"{base}/{plural}"
            if kind in CLUSTER
            else (f"{base}/namespaces/{self.namespace}/{plural}")
        )

    def find(self, version: str, kind: str, name: str) -> Doc | None:
        code, found = self.ask("GET", f"{self.collection(version, kind)}/{name}")
        return found if code == 200 else None

    def why(self, subject: str) -> Answer:
        return self._runner.run(self._why(subject))

    async def _why(self, subject: str) -> Answer:
        wanted = parse_subject(subject, self.namespace)
        return explain(await read_world(self._reads, wanted), wanted, self.clock.now())

    def run(self, command: str, place: Path) -> Ran:
        return self._kubectl.shell(command, place)

    def pause(self) -> None:
        self._runner.run(self.clock.sleep(0.05))

    def close(self) -> None:
        """What was made for the whole cluster goes; the rest goes with its namespace."""
        _, volumes = self.ask("GET", "/api/v1/persistentvolumes")
        names = (each["metadata"]["name"] for each in volumes["items"])
        mine = [
            f"/api/v1/persistentvolumes/{name}"
            for name in names
            if name.startswith(f"for-{self.namespace}-")  # as a fix calls it
        ]
        for path in {*self._made, *mine}:
            self.ask("PATCH", path, {"metadata": {"finalizers": None}})
            self.ask("DELETE", path)
        self.ask("DELETE", f"/api/v1/namespaces/{self.namespace}")
        self._connection.close()
        self._runner.run(self._reads.close())
        self._runner.close()
