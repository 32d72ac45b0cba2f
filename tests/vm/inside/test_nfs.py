"""nfs volumes of pods, on a real server that restarts, forgets directories, and hangs."""

import asyncio
from pathlib import Path
from time import monotonic

from mooring.host.mount import Mounts
from mooring.host.mountinfo import read_table
from mooring.model.pod_volume import PodVolume
from mooring.model.volume_source import NfsSource
from mooring.plugins.nfs import Nfs
from tests.clients.kubectl import Doc, Kubectl
from tests.clients.manifests import a_claim, a_volume
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import STAYS, Pods, a_script, mounting, of_claim
from tests.unit.plugins.world import a_host, a_pod, a_request, inline
from tests.vm.inside.nfs_server import ADDRESS, NfsServer
from tests.vm.inside.programs import eventually, sh

MANY = 100


def nfs_volume(path: str, **fields: object) -> Doc:
    return {"name": "data", "nfs": {"server": ADDRESS, "path": path, **fields}}


def a_user(name: str, volume: Doc, script: str = STAYS) -> Doc:
    return a_script(name, script, volumes=[volume], container=mounting(data="/data"))


def an_nfs_pv(name: str, path: str, policy: str) -> Doc:
    doc = a_volume(name, nfs={"server": ADDRESS, "path": path}, accessModes=["ReadWriteMany"])
    del doc["spec"]["csi"]
    doc["spec"] |= {"persistentVolumeReclaimPolicy": policy, "mountOptions": ["vers=4.2", "hard"]}
    return doc


def is_mounted_for(server: ServerWithNode, uid: str) -> bool:
    return any(uid in entry.at for entry in read_table().below(server.node_root))


def test_what_one_pod_writes_another_reads(nfs: NfsServer, pods: Pods, unique: str) -> None:
    files, path = nfs.export(unique)
    pods.ready(a_user("writer", nfs_volume(path)))
    pods.sh("writer", "echo hello > /data/file")
    assert (files / "file").read_text() == "hello\n"
    pods.ready(a_user("reader", nfs_volume(path, readOnly=True)))
    assert pods.sh("reader", "cat /data/file; touch /data/x 2>/dev/null || echo no") == "hello\nno"
    pods.kubectl("delete", "pod", "writer", "reader")


def test_a_server_that_restarts_is_waited_for(nfs: NfsServer, pods: Pods, unique: str) -> None:
    files, path = nfs.export(unique)
    pods.ready(a_user("writer", nfs_volume(path)))
    pods.sh("writer", "echo one > /data/file")
    nfs.hang()
    pods.kubectl("exec", "writer", "--", "sh", "-c", "(echo two >> /data/file) >/dev/null 2>&1 &")
    nfs.resume()
    eventually(lambda: (files / "file").read_text() == "one\ntwo\n", "the write arrives")
    pods.kubectl("delete", "pod", "writer")


def test_a_stale_handle_does_not_keep_a_pod(
    nfs: NfsServer, pods: Pods, server: ServerWithNode, unique: str
) -> None:
    files, path = nfs.export(unique)
    pods.ready(a_user("writer", nfs_volume(path)))
    uid = pods.uid("writer")
    files.rmdir()
    eventually(lambda: "Stale" in pods.sh("writer", "ls /data 2>&1 || true"), "the handle is stale")
    pods.kubectl("delete", "pod", "writer")
    eventually(lambda: not is_mounted_for(server, uid), "it is unmounted")


def test_a_server_that_hangs_holds_up_only_its_own_volumes(
    nfs: NfsServer, pods: Pods, server: ServerWithNode, unique: str
) -> None:
    _, path = nfs.export(unique)
    pods.ready(a_user("stuck", nfs_volume(path)))
    uid = pods.uid("stuck")
    nfs.hang()
    try:
        pods.create(a_user("waits", nfs_volume(path)))
        started = monotonic()
        pods.ready(a_user("free", {"name": "data", "emptyDir": {}}))
        print(f"a pod beside a hung server: {monotonic() - started:.1f} s")  # noqa: T201
        pods.kubectl("delete", "pod", "stuck", "--wait=false")
        started = monotonic()
        eventually(lambda: not is_mounted_for(server, uid), "it is unmounted", 300)
        print(f"unmounted from a hung server: {monotonic() - started:.1f} s")  # noqa: T201
        assert pods.sh("free", "echo alive") == "alive"
    finally:
        nfs.resume()
    pods.kubectl("wait", "pod/waits", "--for=condition=Ready", "--timeout=280s")
    pods.kubectl("delete", "pod", "waits", "free")


def test_a_recycled_volume_is_empty_and_free_again(
    nfs: NfsServer, pods: Pods, kubectl: Kubectl, unique: str
) -> None:
    files, path = nfs.export(unique)
    claim = a_claim("c", accessModes=["ReadWriteMany"], volumeName=unique)
    kubectl("create", "-f-", given=[an_nfs_pv(unique, path, "Recycle"), claim])
    pods.ready(a_user("writer", of_claim("data", "c")))
    pods.sh("writer", "mkdir /data/deep; echo secret > /data/deep/.file")
    found = [one for one in read_table().entries if one.fs_type == "nfs4" and unique in one.source]
    assert found
    assert "vers=4.2" in found[0].super_options
    kubectl("delete", "pod", "writer")
    kubectl("delete", "pvc", "c")
    kubectl("wait", f"pv/{unique}", "--for=jsonpath={.status.phase}=Available", "--timeout=280s")
    assert list(files.iterdir()) == []
    kubectl("delete", "pv", unique)


async def test_a_hundred_mounts_cost_what_a_shell_loop_of_mount_costs(
    nfs: NfsServer, tmp_path: Path, unique: str
) -> None:
    _, path = nfs.export(unique)
    looped = tmp_path / "loop"
    started = monotonic()
    sh(
        f"for i in $(seq {MANY}); do mkdir -p {looped}/$i && "
        f"mount -t nfs {ADDRESS}:{path} {looped}/$i || exit 1; done",
        600,
    )
    by_shell = monotonic() - started
    sh(f"umount {looped}/*", 600)
    plugin = Nfs(a_host(tmp_path, Mounts()))
    use = inline(PodVolume(name="data", nfs=NfsSource(ADDRESS, path)))
    mounters = [plugin.mounter(use, a_pod(uid=f"pod-{number}")) for number in range(MANY)]
    started = monotonic()
    await asyncio.gather(*(mounter.set_up(a_request()) for mounter in mounters))
    by_node = monotonic() - started
    assert len(read_table().below(tmp_path / "node")) == MANY
    for number in range(MANY):
        await plugin.unmounter("data", f"pod-{number}").tear_down()
    assert read_table().below(tmp_path / "node") == ()
    print(f"{MANY} nfs mounts: {by_node:.1f} s, shell loop {by_shell:.1f} s")  # noqa: T201
    assert by_node <= 1.3 * by_shell
