"""iSCSI disks with several portals: dead ones, ones that lie, and multipath."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from mooring.host.mountinfo import read_table
from tests.clients.kubectl import Doc
from tests.clients.pods import Pods, of_claim
from tests.vm.inside.iscsi_targets import PORTAL, IscsiTargets
from tests.vm.inside.iscsi_volumes import (
    a_claimed_disk,
    a_user,
    an_iscsi_volume,
    digest,
    messages,
)
from tests.vm.inside.programs import eventually, sh
from tests.vm.inside.udev import udev

DEAD = f"{PORTAL}:3299"  # nobody listens there
LIAR = 1
TWO_WAYS = ("10.77.0.1", "10.77.0.2")
CONFIGURATION = """defaults {
  find_multipaths yes
  path_grouping_policy multibus
  polling_interval 2
  max_polling_interval 4
}
"""
LINES = 40


@pytest.fixture
def multipathd(iscsi: IscsiTargets) -> Iterator[None]:
    """And udev, of which it hears of disks."""
    Path("/etc/multipath.conf").write_text(CONFIGURATION)
    sh("modprobe dm_multipath")
    with udev():
        sh("multipathd")
        eventually(lambda: sh("multipathd show status || true") != "", "multipathd answers")
        for address in TWO_WAYS:
            sh(f"ip address add {address}/32 dev lo")
        yield
        for address in TWO_WAYS:
            sh(f"ip address del {address}/32 dev lo 2>/dev/null || true")
        sh("multipathd shutdown || true")  # it may be gone before its answer is
        eventually(lambda: sh("pidof multipathd || true") == "", "multipathd has ended")


def test_a_disk_comes_by_the_portal_that_lives(
    iscsi: IscsiTargets, pods: Pods, unique: str
) -> None:
    target = iscsi.add()
    two: Doc = {"targetPortal": DEAD, "portals": [PORTAL]}
    started = monotonic()
    pods.ready(*a_claimed_disk(unique, "c", target, **two), a_user("one", of_claim("data", "c")))
    print(f"a pod whose first portal is dead: {monotonic() - started:.1f} s")  # noqa: T201
    pods.sh("one", "echo hello > /data/file; sync /data/file")
    assert sh("iscsiadm -m session").count(target.iqn) == 1
    pods.kubectl("delete", "pod", "one")
    eventually(lambda: not target.has_session, "the session is over")


def test_a_portal_without_the_lun_leaves_no_session(iscsi: IscsiTargets, pods: Pods) -> None:
    target = iscsi.add()
    before = digest(target.disks[1])
    pods.create(a_user("one", an_iscsi_volume(target, lun=7)))
    pods.kubectl.event("one", "FailedMount", "failed to get any path")
    assert "Could not attach disk: Timeout after 30s" in messages(pods.kubectl)
    pods.kubectl("delete", "pod", "one")
    eventually(lambda: not target.has_session, "the session is over")
    assert digest(target.disks[1]) == before


def test_a_portal_with_another_disk_of_the_same_name_does_not_get_it_formatted(
    iscsi: IscsiTargets, pods: Pods
) -> None:
    target = iscsi.add()
    liar = IscsiTargets(LIAR)
    liar.start_beside()
    other = liar.add(iqn=target.iqn)
    sh(f"mkswap {other.disks[1]}")
    before = digest(other.disks[1])
    pods.ready(a_user("one", an_iscsi_volume(target, portals=[liar.portal])))
    pods.sh("one", "echo hello > /data/file; sync /data/file")
    pods.kubectl("delete", "pod", "one")
    eventually(lambda: not target.has_session, "the sessions are over")
    assert digest(other.disks[1]) == before
    assert "ext4" in sh(f"blkid -p {target.disks[1]}")


@pytest.mark.usefixtures("multipathd")
def test_a_disk_by_two_portals_outlives_the_loss_of_one_in_the_middle_of_a_write(
    iscsi: IscsiTargets, pods: Pods
) -> None:
    target = iscsi.add()
    first, second = TWO_WAYS
    pods.ready(a_user("writer", an_iscsi_volume(target, targetPortal=first, portals=[second])))
    device = next(
        one.source for one in read_table().entries if str(one.mount_point).endswith("-lun-1")
    )
    assert Path(device).resolve().name.startswith("dm-"), device
    assert sh("iscsiadm -m session").count(target.iqn) == len(TWO_WAYS)

    write = (
        f"for i in $(seq {LINES}); do seq $i 20000 >> /data/file;"
        " sync /data/file || exit; echo $i > /data/at; done"
    )
    pods.kubectl("exec", "writer", "--", "sh", "-c", f"({write}) >/dev/null 2>&1 &")
    at = "cat /data/at 2>/dev/null || echo 0"
    eventually(lambda: int(pods.sh("writer", at) or 0) > 1, "it writes")
    sh(f"ip address del {second}/32 dev lo")
    assert int(pods.sh("writer", at) or 0) < LINES, "the path was cut too late"
    eventually(lambda: pods.sh("writer", at) == str(LINES), "it goes on by the other path", 240)
    assert "failed" in sh("multipathd show paths")
    wanted = sh(f"for i in $(seq {LINES}); do seq $i 20000; done | sha256sum")
    sh("sync; echo 3 > /proc/sys/vm/drop_caches")
    assert pods.sh("writer", "sha256sum < /data/file") == wanted

    sh(f"ip address add {second}/32 dev lo")
    eventually(lambda: "failed" not in sh("multipathd show paths"), "the path is back")
    pods.kubectl("delete", "pod", "writer")
    eventually(lambda: not target.has_session, "the sessions are over")
    assert "IET" not in sh("multipath -l")
