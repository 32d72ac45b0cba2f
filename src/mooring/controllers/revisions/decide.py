"""Which revision the template of an owner has, and which revisions are forgotten.

Always true:

- Revisions are compared by their data; the name only has to be free.
- A template that an earlier revision has takes that revision again, under its name, as the newest.
- A revision that a pod was made from is kept, whatever the limit says.
"""

from collections.abc import Iterable, Mapping, Set
from typing import Any, Final

import msgspec

from mooring.controllers.revisions.plan import (
    AdoptRevision,
    CreateRevision,
    DeleteRevision,
    RaiseRevision,
    RevisionStep,
)
from mooring.model.controller_revision import ControllerRevision
from mooring.model.pod_owner import PodOwner, Template
from mooring.model.safe_hash import safe_hash

_MOST_PREFIX: Final = 223  # of an owner's name, in front of the hash
_REPLACE: Final = {"$patch": "replace"}  # `kubectl rollout undo` applies the data as a patch


class History(msgspec.Struct, frozen=True):
    """The revisions of an owner, and what makes the one of its template the newest."""

    update: str  # the name of the template's revision
    hash: str
    known: tuple[ControllerRevision, ...]  # from the oldest to the newest, `update` maybe not yet
    steps: tuple[RevisionStep, ...] = ()

    def find(self, name: str) -> ControllerRevision | None:
        return next((revision for revision in self.known if revision.name == name), None)


def decide_history(
    owner: PodOwner,
    template: Template,
    found: Iterable[ControllerRevision],
    hash_label: str,
    collisions: int,
) -> History:
    known = tuple(sorted(found, key=_age))
    adopted = [
        AdoptRevision(owner, revision)
        for revision in known
        if revision.metadata.find_controller() is None
    ]
    data = _in_order({"spec": {"template": {**template, **_REPLACE}}})
    newest = known[-1].revision if known else 0
    equal = [revision for revision in known if revision.data == data]
    if not equal:
        hashed = safe_hash(data, collisions)
        name = f"{owner.name[:_MOST_PREFIX]}-{hashed}"
        labels = {**((template.get("metadata") or {}).get("labels") or {}), hash_label: hashed}
        made = CreateRevision(owner, name, newest + 1, labels, data, collisions)
        return History(name, hashed, known, (*adopted, made))
    update = equal[-1]
    hashed = update.metadata.labels.get(hash_label) or update.name.rpartition("-")[2]
    raised = [RaiseRevision(update, newest + 1)] if update.revision < newest else []
    return History(update.name, hashed, known, (*adopted, *raised))


def template_of(revision: ControllerRevision) -> Template:
    """The template that a revision keeps."""
    kept: Mapping[str, Any] = (revision.data.get("spec") or {}).get("template") or {}
    return {field: value for field, value in kept.items() if field not in _REPLACE}


def forget(
    old: Iterable[ControllerRevision], in_use: Set[str], limit: int
) -> tuple[DeleteRevision, ...]:
    """So many of the oldest as there are more than `limit`; none whose name is in use."""
    revisions = sorted(old, key=_age)
    unused = [revision for revision in revisions if revision.name not in in_use]
    return tuple(map(DeleteRevision, unused[: max(0, len(revisions) - limit)]))


def _in_order(value: Any) -> Any:
    """With its keys in order: other controllers compare the data of revisions as it is written."""
    if isinstance(value, Mapping):
        return {key: _in_order(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_in_order(each) for each in value]
    return value


def _age(revision: ControllerRevision) -> tuple[int, str, str]:
    return (revision.revision, revision.metadata.creation_timestamp or "", revision.name)
