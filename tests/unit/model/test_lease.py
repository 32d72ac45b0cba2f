"""Leases as leader election reads them."""

from typing import Any

from mooring.model.lease import Lease, LeaseSpec
from tests.unit.model.reading import read

DOCUMENT: dict[str, Any] = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "binder", "namespace": "kube-system"},
    "spec": {
        "holderIdentity": "host-1",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:10.000000Z",
        "leaseTransitions": 2,
    },
}


def test_a_held_lease() -> None:
    lease = read(DOCUMENT, Lease)
    assert lease.is_held
    assert lease.spec == LeaseSpec(
        "host-1", 15, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:10.000000Z", 2
    )


def test_a_released_lease_names_nobody() -> None:
    released = {"holderIdentity": "", "leaseDurationSeconds": 1}
    assert not read(DOCUMENT | {"spec": released}, Lease).is_held
    assert not read(DOCUMENT | {"spec": {}}, Lease).is_held
