"""The ControllerRevisions of an owner."""

from collections.abc import Iterator

from mooring.model.controller_revision import ControllerRevision
from mooring.model.keys import Key
from mooring.model.pod_owner import PodOwner
from mooring.reconcile.informer import Informer

_OWNED = "revisions: by controller"
_FREE = "revisions: without a controller, by namespace"


class OwnedRevisions:
    """The revisions of the owners of one kind."""

    def __init__(self, kind: str, revisions: Informer[ControllerRevision]) -> None:
        self._kind = kind
        self._revisions = revisions
        revisions.add_index(_OWNED, _controller)
        revisions.add_index(_FREE, _free_in)

    def of(self, owner: PodOwner) -> tuple[ControllerRevision, ...]:
        """Its own, and those without a controller that its selector matches."""
        free = self._revisions.by_index(_FREE, owner.namespace)
        return (
            *self._revisions.by_index(_OWNED, owner.uid),
            *(revision for revision in free if owner.selects(revision.metadata.labels)),
        )

    def concerned(self, *seen: ControllerRevision | None) -> Iterator[Key]:
        """The owners of a revision, before and after a change."""
        for revision in seen:
            owner = None if revision is None else revision.metadata.find_controller()
            if revision is not None and owner is not None and owner.kind == self._kind:
                yield Key(revision.namespace, owner.name)


def _controller(revision: ControllerRevision) -> list[str]:
    owner = revision.metadata.find_controller()
    return [] if owner is None else [owner.uid]


def _free_in(revision: ControllerRevision) -> list[str]:
    return [] if revision.metadata.find_controller() else [revision.namespace]
