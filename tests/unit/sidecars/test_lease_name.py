import pytest

from mooring.sidecars.attacher.plan import finalizer_of
from mooring.sidecars.lease_name import (
    lease_of_attacher,
    lease_of_provisioner,
    lease_of_snapshotter,
    sanitized,
)

NAMES = {
    "dots become dashes": ("hostpath.csi.k8s.io", "hostpath-csi-k8s-io"),
    "so does all that is neither letter nor digit": ("a_b/c", "a-b-c"),
    "a dash at the end gets an X": ("driver.", "driver-X"),
    "capitals stay": ("Driver", "Driver"),
}


@pytest.mark.parametrize(("driver", "expected"), NAMES.values(), ids=NAMES)
def test_a_drivers_name_as_part_of_others(driver: str, expected: str) -> None:
    assert sanitized(driver) == expected


def test_leases_and_finalizers_are_called_as_upstream_does() -> None:
    driver = "hostpath.csi.k8s.io"
    assert lease_of_provisioner(driver) == "hostpath-csi-k8s-io"
    assert lease_of_attacher(driver) == "external-attacher-leader-hostpath-csi-k8s-io"
    assert lease_of_snapshotter(driver) == "external-snapshotter-leader-hostpath-csi-k8s-io"
    assert finalizer_of(driver) == "external-attacher/hostpath-csi-k8s-io"
