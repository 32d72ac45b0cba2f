"""The steps that a plan for a replication controller may hold."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.meta import OwnerReference
from mooring.model.pod import Pod
from mooring.model.replication_controller import (
    ReplicationController,
    ReplicationControllerStatus,
)

_FROM_TEMPLATE = ("labels", "annotations", "finalizers")


class SaveStatus(msgspec.Struct, frozen=True):
    seen: ReplicationController
    status: ReplicationControllerStatus


class Adopt(msgspec.Struct, frozen=True):
    """Adopt a pod without a controller."""

    controller: ReplicationController
    pod: Pod

    def owners(self) -> list[dict[str, Any]]:
        return [*_documents(self.pod.metadata.owner_references), owner_of(self.controller)]


class Release(msgspec.Struct, frozen=True):
    """Let a pod go that no longer fits."""

    controller: ReplicationController
    pod: Pod

    def owners(self) -> list[dict[str, Any]]:
        others = (o for o in self.pod.metadata.owner_references if o.uid != self.controller.uid)
        return _documents(others)


class CreatePod(msgspec.Struct, frozen=True):
    controller: ReplicationController

    def document(self) -> dict[str, Any]:
        """The pod of the template; its name is made up by the API."""
        owner, template = self.controller, self.controller.spec.template
        given = template.get("metadata") or {}
        return {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {
                "generateName": f"{owner.name}-",
                "namespace": owner.namespace,
                **{field: given[field] for field in _FROM_TEMPLATE if field in given},
                "ownerReferences": [owner_of(owner)],
            },
            "spec": template.get("spec") or {},
        }


class DeletePod(msgspec.Struct, frozen=True):
    controller: ReplicationController
    pod: Pod


Step = SaveStatus | Adopt | Release | CreatePod | DeletePod
Plan: TypeAlias = steps.Plan[Step]


def owner_of(controller: ReplicationController) -> dict[str, Any]:
    """How a pod says whose it is."""
    return {
        "apiVersion": controller.resource.api_version,
        "kind": controller.resource.kind,
        "name": controller.name,
        "uid": controller.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _documents(references: Iterable[OwnerReference]) -> list[dict[str, Any]]:
    return [msgspec.json.decode(msgspec.json.encode(reference)) for reference in references]
