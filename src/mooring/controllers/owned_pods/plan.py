"""The steps about pods that the plan of an owner may hold."""

from typing import Final

import msgspec

from mooring.controllers.owned_pods.ownership import (
    reference_of,
    references_with,
    references_without,
)
from mooring.model.document import Doc
from mooring.model.pod import Pod
from mooring.model.pod_owner import PodOwner, Template

MOST_AT_ONCE: Final = 500
"""Pods that one pass may create, or delete."""

_FROM_TEMPLATE = ("labels", "annotations", "finalizers")


class Adopt(msgspec.Struct, frozen=True):
    """Adopt a pod without a controller, if the owner is still there and not being deleted."""

    owner: PodOwner
    pod: Pod

    def owners(self) -> list[Doc]:
        return references_with(self.pod, self.owner)


class Release(msgspec.Struct, frozen=True):
    """Let a pod go that no longer matches."""

    owner: PodOwner
    pod: Pod

    def owners(self) -> list[Doc]:
        return references_without(self.pod, self.owner)


class CreatePods(msgspec.Struct, frozen=True):
    """Create these, in batches that grow as long as none fails."""

    owner: PodOwner
    documents: tuple[Doc, ...]


class DeletePod(msgspec.Struct, frozen=True):
    owner: PodOwner
    pod: Pod


PodStep = Adopt | Release | CreatePods | DeletePod


def pod_of(owner: PodOwner, template: Template) -> Doc:
    """The pod of the template; its name is made up by the API."""
    given = template.get("metadata") or {}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": f"{owner.name}-",
            "namespace": owner.namespace,
            **{field: given[field] for field in _FROM_TEMPLATE if field in given},
            "ownerReferences": [reference_of(owner)],
        },
        "spec": template.get("spec") or {},
    }
