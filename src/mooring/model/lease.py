"""Lease: the current leader, and how long its lease lasts."""

from typing import ClassVar

from mooring.model.meta import ApiObject, Resource
from mooring.model.wire import Wire


class LeaseSpec(Wire, frozen=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(ApiObject, frozen=True):
    resource: ClassVar = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)

    spec: LeaseSpec = LeaseSpec()

    @property
    def is_held(self) -> bool:
        """Whether the lease has a holder; a released one has none."""
        return bool(self.spec.holder_identity)
