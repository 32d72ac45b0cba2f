"""The replica sets of a deployment: the one of the present template, and the others."""

from collections.abc import Iterable
from typing import Any

import msgspec

from mooring.model.deployment import Deployment
from mooring.model.pod_owner import Template
from mooring.model.replica_set import ReplicaSet
from mooring.model.selector import find_int64
from mooring.model.wellknown import Annotation, Label


class Sets(msgspec.Struct, frozen=True):
    new: ReplicaSet | None
    old: tuple[ReplicaSet, ...]  # from the oldest to the youngest

    @property
    def all(self) -> tuple[ReplicaSet, ...]:
        return self.old if self.new is None else (*self.old, self.new)

    @property
    def active(self) -> tuple[ReplicaSet, ...]:
        """Those that want pods."""
        return tuple(each for each in self.all if each.spec.replicas)

    @property
    def active_old(self) -> tuple[ReplicaSet, ...]:
        return tuple(each for each in self.old if each.spec.replicas)


def sort_out(deployment: Deployment, sets: Iterable[ReplicaSet]) -> Sets:
    """The oldest of those with the present template is the new one: it keeps its name."""
    by_age = sorted(sets, key=age_of)
    wanted = _comparable(deployment.spec.template)
    new = next((each for each in by_age if _comparable(each.spec.template) == wanted), None)
    return Sets(new, tuple(each for each in by_age if each is not new))


def age_of(each: ReplicaSet) -> tuple[str, str]:
    """Sorts the oldest to the front."""
    return (each.metadata.creation_timestamp or "", each.name)


def has_template(each: ReplicaSet, template: Template) -> bool:
    return _comparable(each.spec.template) == _comparable(template)


def wanted_pods(sets: Iterable[ReplicaSet]) -> int:
    return sum(each.spec.replicas for each in sets)


def lasting_pods(each: ReplicaSet) -> int:
    """Those that are available, and will be when there are no more than wanted."""
    return min(each.status.available_replicas, each.spec.replicas)


def revision_of(each: ReplicaSet) -> int:
    """Zero when it says none, or nonsense."""
    return find_int64(each.metadata.annotations.get(Annotation.REVISION)) or 0


def _comparable(template: Template) -> dict[str, Any]:
    """The template without the label that distinguishes replica sets."""
    metadata = dict(template.get("metadata") or {})
    labels = dict(metadata.get("labels") or {})
    labels.pop(Label.POD_TEMPLATE_HASH, None)
    metadata["labels"] = labels
    kept = {field: value for field, value in metadata.items() if value}
    return {**template, "metadata": kept}
