"""iSCSI disks of pods: sessions come with the first pod and go with the last."""

from pathlib import Path
from struct import pack
from time import monotonic

from tests.clients.kubectl import Doc, Kubectl
from tests.clients.manifests import a_secret
from tests.clients.nodes import NODE, ServerWithNode
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

PASSWORD = "correct-horse-battery"
CLOSED_SERVER = 2
# A table with one Linux partition, from sector 2048 on.
PARTITIONS = bytes(450) + b"\x83\0\0\0" + pack("<II", 2048, 8192) + bytes(48) + b"\x55\xaa"


def test_a_disk_is_formatted_once_and_keeps_its_files(
    iscsi: IscsiTargets, pods: Pods, unique: str
) -> None:
    target = iscsi.add()
    pods.create(*a_claimed_disk(unique, "c", target))
    started = monotonic()
    pods.ready(a_user("first", of_claim("data", "c")))
    print(f"a pod on a new iSCSI disk: {monotonic() - started:.1f} s")  # noqa: T201
    pods.sh("first", "echo hello > /data/file")
    attached = pods.kubectl.field(".status.volumesAttached[*].name", "node", NODE)
    assert f"kubernetes.io/iscsi/{PORTAL}:{target.iqn}:1" in attached
    pods.kubectl("delete", "pod", "first")
    eventually(lambda: not target.has_session, "the session is over")
    pods.ready(a_user("second", of_claim("data", "c")))
    assert pods.sh("second", "cat /data/file") == "hello"
    pods.kubectl("delete", "pod", "second")
    eventually(lambda: not target.has_session, "the session is over")
    eventually(
        lambda: "iscsi" not in pods.kubectl.field(".status.volumesAttached", "node", NODE),
        "it is off the node's list",
    )


def test_chap_opens_what_is_closed_without_it(iscsi: IscsiTargets, pods: Pods) -> None:
    target = iscsi.add(user="mooring", password=PASSWORD)
    chap = {"chapAuthSession": True, "secretRef": {"name": "chap"}}
    keys = ("node.session.auth.username", "node.session.auth.password")
    wrong = a_secret("chap", **dict(zip(keys, ("mooring", "not-the-password"), strict=True)))
    pods.create({**wrong, "type": "kubernetes.io/iscsi-chap"})
    volume = an_iscsi_volume(target)
    volume["iscsi"] |= chap
    pods.create(a_user("reader", volume))
    said = pods.kubectl.event("reader", "FailedMount", "failed to get any path")
    assert "not-the-password" not in said
    right = a_secret("chap", **dict(zip(keys, ("mooring", PASSWORD), strict=True)))
    pods.kubectl("apply", "-f-", given=[{**right, "type": "kubernetes.io/iscsi-chap"}])
    pods.kubectl("wait", "pod/reader", "--for=condition=Ready", "--timeout=280s")
    records = sh(f"grep -rl {PASSWORD} /etc/iscsi").split()
    assert records
    assert all(Path(path).stat().st_mode & 0o077 == 0 for path in records)
    pods.kubectl("delete", "pod", "reader")
    eventually(lambda: not target.has_session, "the session is over")
    assert sh(f"grep -rl {PASSWORD} /etc/iscsi/nodes || true") == ""


def test_chap_of_the_discovery_is_apart_from_that_of_the_session(
    iscsi: IscsiTargets, pods: Pods
) -> None:
    closed = IscsiTargets(CLOSED_SERVER)
    closed.start_beside()
    target = closed.add()
    closed.close_discovery("finder", PASSWORD)
    without = an_iscsi_volume(target, targetPortal=closed.portal)
    pods.create(a_user("stranger", without))
    pods.kubectl.event("stranger", "FailedMount", "failed to get any path")
    assert "failed to sendtargets" in messages(pods.kubectl)
    pods.kubectl("delete", "pod", "stranger")  # one node takes a disk for one pod that names it
    keys = ("discovery.sendtargets.auth.username", "discovery.sendtargets.auth.password")
    secret = a_secret("chap", **dict(zip(keys, ("finder", PASSWORD), strict=True)))
    pods.create({**secret, "type": "kubernetes.io/iscsi-chap"})
    chap: Doc = {"chapAuthDiscovery": True, "secretRef": {"name": "chap"}}
    pods.ready(a_user("reader", an_iscsi_volume(target, targetPortal=closed.portal, **chap)))
    records = sh(f"grep -rl {PASSWORD} /etc/iscsi").split()
    assert records
    assert all(Path(path).stat().st_mode & 0o077 == 0 for path in records)
    pods.kubectl("delete", "pod", "reader")
    eventually(lambda: not target.has_session, "the session is over")


def test_a_session_lasts_until_its_last_disk_is_gone(
    iscsi: IscsiTargets, pods: Pods, unique: str
) -> None:
    target = iscsi.add(luns=2)
    for lun in target.disks:
        pods.create(*a_claimed_disk(f"{unique}-{lun}", f"c{lun}", target, lun))
    pods.ready(*(a_user(f"on-{lun}", of_claim("data", f"c{lun}")) for lun in target.disks))
    assert sh("iscsiadm -m session").count(target.iqn) == 1
    uid = pods.uid("on-1")
    pods.kubectl("delete", "pod", "on-1")
    eventually(lambda: uid not in sh("cat /proc/mounts"), "it is unmounted")
    pods.sh("on-2", "echo still > /data/file && sync /data/file")
    assert target.has_session
    pods.kubectl("delete", "pod", "on-2")
    eventually(lambda: not target.has_session, "the session is over")


def test_a_session_cut_in_the_middle_of_a_write_goes_on(iscsi: IscsiTargets, pods: Pods) -> None:
    target = iscsi.add()
    pods.ready(a_user("writer", an_iscsi_volume(target)))
    write = "head -c 20000000 /dev/zero > /data/file; sync; echo $? > /data/done"
    iscsi.silence()
    try:
        pods.kubectl("exec", "writer", "--", "sh", "-c", f"({write}) >/dev/null 2>&1 &")
        pods.ready(a_user("beside", {"name": "data", "emptyDir": {}}))
        eventually(
            lambda: (
                "LOGGED_IN" not in sh("iscsiadm -m session -P 1 | grep 'Session State' || true")
                or "FAILED" in sh("iscsiadm -m session -P 1")
            ),
            "the session is cut",
            90,
        )
    finally:
        iscsi.wake()
    eventually(
        lambda: pods.sh("writer", "cat /data/done 2>/dev/null || true") == "0", "it is written"
    )
    assert pods.sh("writer", "wc -c < /data/file") == "20000000"
    pods.kubectl("delete", "pod", "writer", "beside")
    eventually(lambda: not target.has_session, "the session is over")


def test_a_node_that_was_killed_finds_its_disks_again(
    iscsi: IscsiTargets, pods: Pods, server: ServerWithNode
) -> None:
    target = iscsi.add()
    pods.ready(a_user("writer", an_iscsi_volume(target)))
    pods.sh("writer", "echo before > /data/file")
    server.kill()
    server.start()
    eventually(lambda: pods.sh("writer", "cat /data/file") == "before", "the pod goes on")
    pods.kubectl("delete", "pod", "writer")
    eventually(lambda: not target.has_session, "the session is over")


def test_a_disk_of_somebody_else_is_neither_formatted_nor_mounted(
    iscsi: IscsiTargets, pods: Pods, kubectl: Kubectl, unique: str
) -> None:
    target = iscsi.add(luns=2)
    sh(f"mkswap {target.disks[1]}")
    with target.disks[2].open("r+b") as disk:
        disk.write(PARTITIONS)
    before = {lun: digest(path) for lun, path in target.disks.items()}
    for lun in target.disks:
        pods.create(*a_claimed_disk(f"{unique}-{lun}", f"c{lun}", target, lun))
        pods.create(a_user(f"on-{lun}", of_claim("data", f"c{lun}")))
        kubectl.event(f"on-{lun}", "FailedMount", "mount failed")
    kubectl("delete", "pod", "on-1", "on-2")
    eventually(lambda: not target.has_session, "the session is over")
    assert {lun: digest(path) for lun, path in target.disks.items()} == before
