"""Namespace: a scope for names."""

from typing import ClassVar

from mooring.model.condition import Condition
from mooring.model.meta import ApiObject, Resource
from mooring.model.wire import Wire, Word


class NamespacePhase(Word):
    ACTIVE = "Active"
    TERMINATING = "Terminating"


class NamespaceSpec(Wire, frozen=True):
    finalizers: tuple[str, ...] = ()


class NamespaceStatus(Wire, frozen=True):
    phase: NamespacePhase = NamespacePhase.ACTIVE
    conditions: tuple[Condition, ...] = ()


class Namespace(ApiObject, frozen=True):
    resource: ClassVar = Resource("", "v1", "Namespace", "namespaces", namespaced=False)

    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()

    @property
    def is_terminating(self) -> bool:
        return self.status.phase is NamespacePhase.TERMINATING
