"""Pods of small shell scripts, and what a kubectl shows of them."""

from typing import Any

from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc, a_pod, a_volume
from tests.clients.nodes import NODE
from tests.clients.tables import read_tables

IMAGE = "nobody/has-it:1"  # so it runs on the host's root, with the host's programs
STAYS = 'trap "exit 0" TERM; sleep 1000 & wait'
WITHIN = "--timeout=15s"


def a_container(name: str, script: str, **fields: Any) -> Doc:
    return {"name": name, "image": IMAGE, "command": ["/bin/sh", "-c", script]} | fields


def a_script(name: str, script: str = STAYS, **spec: Any) -> Doc:
    """A pod of one container, which runs it; `container` are fields of that."""
    fields = spec.pop("container", {})
    usual = {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1}
    return a_pod(name, **usual | {"containers": [a_container("main", script, **fields)]} | spec)


def mounting(**paths: str) -> Doc:
    """Fields of a container: volumes by their names, and where they are mounted."""
    mounts = [{"name": name, "mountPath": path} for name, path in paths.items()]
    return {"volumeMounts": mounts}


class Pods:
    """What somebody does with them."""

    def __init__(self, kubectl: Kubectl) -> None:
        self.kubectl = kubectl

    def create(self, *docs: Doc) -> None:
        self.kubectl("create", "-f-", given=list(docs))

    def ready(self, *docs: Doc) -> None:
        """Create them, and wait until all pods among them are ready."""
        self.create(*docs)
        names = [f"pod/{doc['metadata']['name']}" for doc in docs if doc["kind"] == "Pod"]
        self.kubectl("wait", "--for=condition=Ready", *names, WITHIN)

    def becomes(self, name: str, path: str, value: str) -> None:
        """`path` is into its status."""
        self.kubectl("wait", f"pod/{name}", f"--for=jsonpath={{.status{path}}}={value}", WITHIN)

    def ends(self, name: str, phase: str = "Succeeded") -> None:
        self.becomes(name, ".phase", phase)

    def logs(self, name: str, *flags: str) -> str:
        return self.kubectl("logs", name, *flags)

    def sh(self, name: str, script: str) -> str:
        return self.kubectl("exec", name, "--", "/bin/sh", "-c", script)

    def uid(self, name: str) -> str:
        return self.kubectl.field(".metadata.uid", "pod", name)

    def status(self, name: str, container: str = "main") -> Doc:
        """Of one of its containers."""
        found = self.kubectl.doc("pod", name)["status"]["containerStatuses"]
        return {each["name"]: dict(each) for each in found}[container]

    def table(self, *columns: str) -> list[tuple[str, ...]]:
        rows = read_tables(self.kubectl("get", "pods"))
        return [tuple(row[column] for column in columns) for row in rows]


def a_local_volume(name: str, path: str, **spec: Any) -> Doc:
    """A directory or device of this machine, which the claim of the same name asks for."""
    wanted = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}}
    fields: Doc = {"local": {"path": path}, "nodeAffinity": affinity}
    doc = a_volume(name, **fields | {"persistentVolumeReclaimPolicy": "Retain"} | spec)
    del doc["spec"]["csi"]
    return doc


def of_claim(name: str, claim: str) -> Doc:
    return {"name": name, "persistentVolumeClaim": {"claimName": claim}}
