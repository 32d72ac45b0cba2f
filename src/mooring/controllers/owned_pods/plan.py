"""The steps about pods that the plan of an owner may hold."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from mooring.model.document import Doc
from mooring.model.meta import ApiObject, OwnerReference
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
        return [*_documents(self.pod.metadata.owner_references), reference_of(self.owner)]


class Release(msgspec.Struct, frozen=True):
    """Let a pod go that no longer matches."""

    owner: PodOwner
    pod: Pod

    def owners(self) -> list[Doc]:
        others = (o for o in self.pod.metadata.owner_references if o.uid != self.owner.uid)
        return _documents(others)


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


def reference_of(owner: ApiObject) -> Doc:
    """How an object says that this is its controller."""
    return {
        "apiVersion": owner.resource.api_version,
        "kind": owner.resource.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _documents(references: Iterable[OwnerReference]) -> list[dict[str, Any]]:
    return [msgspec.json.decode(msgspec.json.encode(reference)) for reference in references]
