"""The steps that a plan for a pod's ephemeral volumes may hold."""

from typing import Any

import msgspec

from mooring.model.claim import ClaimTemplate
from mooring.model.keys import Key
from mooring.model.pod import Pod


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


class Refuse(msgspec.Struct, frozen=True):
    """Say on the pod why this volume cannot be, and try again later: it may yet become possible."""

    pod: Pod
    volume: str
    problem: str


Step = CreateClaim | Refuse


class Plan(msgspec.Struct, frozen=True):
    because: str
    steps: tuple[Step, ...] = ()


def plan(because: str, *steps: Step) -> Plan:
    return Plan(because, steps)
