"""The specs that Kubernetes itself marks [sig-storage] [Conformance], and the wider set.

`MOORING_E2E=wide` also runs the specs of storage that need no driver; they take an hour.
"""

import os

import pytest

from tests.conformance.e2e.conftest import Run
from tests.conformance.e2e.suite import Selection

CONFORMANCE = Selection(r"\[sig-storage\].*\[Conformance\]")
SPECS = 91  # of release 1.35
_ELSEWHERE = (  # what needs a driver, a server, a cloud, stateful sets, or a busybox with `nc -U`
    r"CSI|NFS|nfs|\[Disruptive\]|\[Flaky\]|\[Feature:|StatefulSet|Flexvolume|hostPathSymlink"
    r"|AWS|Type Socket|Driver: (ceph|rbd|iscsi|gce|azure|aws|cinder|vsphere|pd|windows)|Conformance"
)
WIDE = {
    "without a driver, and on host paths and emptyDirs": Selection(
        r"\[sig-storage\]", rf"{_ELSEWHERE}|\[Slow\]|Driver: local|gce-localssd"
    ),
    "host path types, and local directories, devices and tmpfs": Selection(
        r"\[sig-storage\].*(HostPathType|LocalVolumeType: (dir|block|tmpfs)\])", _ELSEWHERE
    ),
}


def test_kubernetes_own_conformance_tests_of_storage_pass(run: Run) -> None:
    verdict = run(CONFORMANCE)
    assert verdict.failed == {}
    assert len(verdict.passed) == SPECS


@pytest.mark.skipif(
    os.environ.get("MOORING_E2E") != "wide", reason="takes an hour: MOORING_E2E=wide runs it"
)
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("chosen", WIDE.values(), ids=WIDE)
def test_the_wider_set_of_storage_tests_passes(run: Run, chosen: Selection) -> None:
    verdict = run(chosen)
    assert verdict.failed == {}
    assert verdict.passed
