"""iSCSI disks that pods have as devices, without a file system."""

from mooring.host.scsi import ScsiTree
from tests.clients.kubectl import Doc
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import Pods, of_claim
from tests.vm.inside.iscsi_targets import IscsiTargets, Target
from tests.vm.inside.iscsi_volumes import RAW, a_claimed_disk, a_raw_disk, a_raw_user, a_user
from tests.vm.inside.programs import eventually, sh

_READ = f"head -c 5 {RAW}"
_WRITE = f"printf hello | dd of={RAW} conv=fsync,notrunc status=none"


def device_of(targets: IscsiTargets, target: Target) -> str:
    return str(ScsiTree().find_iscsi_device(targets.portal, target.iqn, 1))


def gone(pods: Pods, target: Target, *names: str) -> None:
    pods.kubectl("delete", "pod", *names)
    eventually(lambda: not target.has_session, "the session is over")


def test_a_raw_disk_keeps_its_bytes_and_is_never_formatted(
    iscsi: IscsiTargets, pods: Pods, unique: str
) -> None:
    target = iscsi.add()
    pods.ready(*a_raw_disk(unique, "c", target), a_raw_user("first", "c"))
    assert pods.sh("first", f"stat -c %F {RAW}") == "block special file"
    pods.sh("first", _WRITE)
    gone(pods, target, "first")
    assert sh("losetup --list --noheadings --output BACK-FILE | grep iscsi || true") == ""
    content = target.disks[1].read_bytes()
    assert content == b"hello".ljust(len(content), b"\0")
    pods.ready(a_raw_user("second", "c"))
    assert pods.sh("second", _READ) == "hello"
    gone(pods, target, "second")


def test_a_node_that_was_killed_lets_a_raw_disk_go(
    iscsi: IscsiTargets, pods: Pods, server: ServerWithNode, unique: str
) -> None:
    target = iscsi.add()
    pods.ready(*a_raw_disk(unique, "c", target), a_raw_user("writer", "c"))
    pods.sh("writer", _WRITE)
    server.kill()
    server.start()
    eventually(lambda: pods.sh("writer", _READ) == "hello", "the pod goes on")
    gone(pods, target, "writer")


def test_a_raw_disk_whose_session_is_cut_while_it_is_written_has_all_of_it(
    iscsi: IscsiTargets, pods: Pods, unique: str
) -> None:
    target = iscsi.add()
    pods.ready(*a_raw_disk(unique, "c", target), a_raw_user("writer", "c"))
    write = (
        f"seq 1 2000000 | head -c 12000000 | dd of={RAW} bs=64k conv=fsync,notrunc iflag=fullblock"
    )
    state = "iscsiadm -m session -P 1 | grep 'Session State'"
    iscsi.silence()
    try:
        script = f"({write}; echo $? > /run/raw-written) >/dev/null 2>&1 &"
        pods.kubectl("exec", "writer", "--", "sh", "-c", script)
        eventually(lambda: "FAILED" in sh(state) or "FREE" in sh(state), "the session is cut", 90)
    finally:
        iscsi.wake()
    done = "cat /run/raw-written 2>/dev/null || true"
    eventually(lambda: pods.sh("writer", done) == "0", "it is written")
    gone(pods, target, "writer")
    wanted = sh("seq 1 2000000 | head -c 12000000 | sha256sum")
    assert sh(f"head -c 12000000 {target.disks[1]} | sha256sum") == wanted


def test_disks_that_come_back_under_each_others_names_are_told_apart(
    iscsi: IscsiTargets, pods: Pods, unique: str
) -> None:
    files, raw = iscsi.add(), iscsi.add()
    pods.create(*a_claimed_disk(f"{unique}-files", "files", files))
    pods.create(*a_raw_disk(f"{unique}-raw", "raw", raw))
    on_files: Doc = a_user("on-files", of_claim("data", "files"))
    on_raw: Doc = a_raw_user("on-raw", "raw")
    pods.ready(on_files)
    pods.ready(on_raw)
    before = device_of(iscsi, files), device_of(iscsi, raw)
    pods.sh("on-files", "echo kept > /data/file; sync /data/file")
    pods.sh("on-raw", _WRITE)
    gone(pods, files, "on-files")
    gone(pods, raw, "on-raw")

    pods.ready(on_raw)
    pods.ready(on_files)
    assert (device_of(iscsi, raw), device_of(iscsi, files)) == before
    assert pods.sh("on-files", "cat /data/file") == "kept"
    assert pods.sh("on-raw", _READ) == "hello"
    gone(pods, files, "on-files")
    gone(pods, raw, "on-raw")
