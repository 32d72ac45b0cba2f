"""The steps that a plan for a pod's ephemeral volumes may hold."""

from typing import Any, TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.claim import ClaimTemplate
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.steps import Emit, Fail

FAILED = "FailedBinding"


class CreateClaim(msgspec.Struct, frozen=True):
    """Make the claim of a volume, owned by the pod."""

    pod: Pod
    volume: str
    name: Key
    template: ClaimTemplate

    def document(self) -> dict[str, Any]:
        """What the API is to store.

        A claim's spec is known in full here, so that a typed template loses nothing of it; what
        the template leaves open, the API fills in.
        """
        pod, given = self.pod, self.template.metadata
        metadata: dict[str, Any] = {
            "name": self.name.name,
            "namespace": self.name.namespace,
            "ownerReferences": [
                {
                    "apiVersion": pod.resource.api_version,
                    "kind": pod.resource.kind,
                    "name": pod.name,
                    "uid": pod.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        }
        if given and given.labels:
            metadata["labels"] = dict(given.labels)
        if given and given.annotations:
            metadata["annotations"] = dict(given.annotations)
        return {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "metadata": metadata,
            "spec": msgspec.json.decode(msgspec.json.encode(self.template.spec)),
        }


Step = CreateClaim | Emit | Fail
Plan: TypeAlias = steps.Plan[Step]


def refuse(pod: Pod, volume: str, problem: str) -> tuple[Emit, Fail]:
    """Say on the pod why this volume cannot be, and try again later: it may yet become possible."""
    words = f"ephemeral volume {volume}: {problem}"
    return Emit(pod, EventType.WARNING, FAILED, words), Fail(words)
