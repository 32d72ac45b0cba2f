"""The steps about ControllerRevisions that the plan of an owner of pods may hold."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.controllers.owned_pods.ownership import reference_of
from mooring.model.controller_revision import ControllerRevision
from mooring.model.document import Doc
from mooring.model.pod_owner import PodOwner


class CreateRevision(msgspec.Struct, frozen=True):
    """Keep the template of the owner; if its name is taken, the owner counts a collision."""

    owner: PodOwner
    name: str
    revision: int
    labels: Mapping[str, str]
    data: Mapping[str, Any]
    collisions: int  # so many names were taken before

    def document(self) -> Doc:
        owner = self.owner
        return {
            "kind": "ControllerRevision",
            "apiVersion": "apps/v1",
            "metadata": {
                "name": self.name,
                "namespace": owner.namespace,
                "labels": dict(self.labels),
                "annotations": dict(owner.metadata.annotations),
                "ownerReferences": [reference_of(owner)],
            },
            "data": self.data,
            "revision": self.revision,
        }


class RaiseRevision(msgspec.Struct, frozen=True):
    """The template went back to this one: it is the newest again."""

    seen: ControllerRevision
    revision: int


class AdoptRevision(msgspec.Struct, frozen=True):
    owner: PodOwner
    seen: ControllerRevision


class DeleteRevision(msgspec.Struct, frozen=True):
    seen: ControllerRevision


RevisionStep = CreateRevision | RaiseRevision | AdoptRevision | DeleteRevision
