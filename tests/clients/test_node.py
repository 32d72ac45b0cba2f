"""A node of its own, seen through a real kubectl and on its disk: volumes come, change and go."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.containers import PROMPTLY
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc, a_claim, a_class, a_config_map, a_pod, a_secret, a_volume
from tests.clients.nodes import (
    NODE,
    PodDirectory,
    PowerlessServer,
    ServerWithNode,
    joined_node,
    need_root,
    network,
    server_with_node,
)
from tests.clients.pods import STAYS
from tests.fakes.real_server import RealServer, command
from tests.fakes.waiting import until

READY = "--for=condition=Ready"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its name is short: there are sockets below, whose paths must be."""
    return tmp_path_factory.mktemp("n") / "data"


@pytest.fixture
def server(data_dir: Path) -> Iterator[ServerWithNode]:
    need_root()
    with server_with_node(data_dir) as running:
        yield running


@pytest.fixture
def mine(kubectl: Kubectl, server: RealServer) -> Kubectl:
    return kubectl.as_user(server.kubeconfig).in_namespace("default")


def a_disk(tmp_path: Path) -> Doc:
    """A volume that is a directory of this machine."""
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "file").write_text("on the disk")
    doc = a_volume("disk", storageClassName="local", persistentVolumeReclaimPolicy="Retain")
    del doc["spec"]["csi"]
    wanted = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}
    terms = [{"matchExpressions": [wanted]}]
    doc["spec"]["local"] = {"path": str(disk)}
    doc["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return doc


def a_pod_with(name: str, *volumes: Doc, **spec: object) -> Doc:
    mounts = [{"name": one["name"], "mountPath": f"/{one['name']}"} for one in volumes]
    container = {"name": "main", "image": "nobody/main:1", "volumeMounts": mounts}
    return a_pod(name, containers=[container], volumes=list(volumes), **spec)


def everything(host_path: Path) -> list[Doc]:
    projected: list[Doc] = [
        {"serviceAccountToken": {"path": "token"}},
        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"configMap": {"name": "settings"}},
    ]
    return [
        {"name": "scratch", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory"}},
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "keys", "secret": {"secretName": "keys"}},
        {"name": "all", "projected": {"sources": projected}},
        {"name": "host", "hostPath": {"path": str(host_path), "type": "Directory"}},
        {"name": "disk", "persistentVolumeClaim": {"claimName": "data"}},
    ]


async def create_everything(mine: Kubectl, server: ServerWithNode, tmp_path: Path) -> PodDirectory:
    """A pod with a volume of every kind; all of them are there afterwards."""
    by_hand = {"provisioner": "kubernetes.io/no-provisioner"}
    waits = a_class("local", volumeBindingMode="WaitForFirstConsumer") | by_hand
    mine("create", "-f-", given=[waits, a_disk(tmp_path), a_claim(storageClassName="local")])
    mine("create", "-f-", given=[a_config_map("settings", colour="blue"), a_secret("keys", a="b")])
    mine("create", "-f-", given=a_pod_with("web", *everything(tmp_path)))
    pod = PodDirectory(server.node_root, mine.field(".metadata.uid", "pod/web"))
    await until(lambda: pod.shows("local-volume", "disk", "file", "on the disk"))
    await until(lambda: pod.shows("configmap", "settings", "colour", "blue"))
    await until(lambda: pod.shows("secret", "keys", "a", "b"))
    await until(lambda: pod.shows("projected", "all", "name", "web"))
    await until(lambda: pod.volume("empty-dir", "scratch").is_dir())
    await until(lambda: "volumes/kubernetes.io~empty-dir/memory" in pod.mounts())
    return pod


def shows_usage(server: RealServer, claim: str) -> bool:
    wanted = (
        f'kubelet_volume_stats_used_bytes{{namespace="default",persistentvolumeclaim="{claim}"}}'
    )
    return wanted in server.ask("GET", "/metrics").body.decode()


async def test_a_pod_gets_its_volumes_sees_them_change_and_gives_them_back(
    mine: Kubectl, server: ServerWithNode, tmp_path: Path
) -> None:
    pod = await create_everything(mine, server, tmp_path)
    token = (pod.volume("projected", "all") / "token").read_text()
    assert server.ask("GET", "/api", token=token).code == 200

    mine("patch", "configmap", "settings", "--patch", '{"data":{"colour":"red"}}')
    await until(lambda: pod.shows("configmap", "settings", "colour", "red"))
    await until(lambda: pod.shows("projected", "all", "colour", "red"))

    (pod.volume("local-volume", "disk") / "written").write_text("kept")
    await until(lambda: shows_usage(server, "data"))
    mine("delete", "pod", "web", "--timeout=20s")
    assert not pod.path.exists()
    assert not pod.mounts()
    assert (tmp_path / "disk" / "written").read_text() == "kept"
    assert mine.run("get", "pod", "web").code != 0
    assert server.log.read_text() == ""


async def test_after_a_kill_the_same_mounts_are_there_and_still_cared_for(
    mine: Kubectl, server: ServerWithNode, tmp_path: Path
) -> None:
    pod = await create_everything(mine, server, tmp_path)
    (pod.volume("empty-dir", "memory") / "file").write_text("kept")
    before = pod.mounts()
    assert before
    server.kill()
    assert pod.mounts() == before

    server.start()
    mine("patch", "configmap", "settings", "--patch", '{"data":{"colour":"green"}}')
    await until(lambda: pod.shows("configmap", "settings", "colour", "green"))
    assert pod.mounts() == before
    assert pod.shows("empty-dir", "memory", "file", "kept")

    mine("delete", "pod", "web", "--timeout=20s")
    assert not pod.path.exists()
    assert not pod.mounts()


async def test_a_pod_that_is_deleted_while_nobody_runs_is_taken_down_by_the_next_start(
    mine: Kubectl, server: ServerWithNode, tmp_path: Path
) -> None:
    pod = await create_everything(mine, server, tmp_path)
    server.kill()
    alone = RealServer(server.data_dir, "--no-node")
    alone.port = server.port
    alone.start()
    mine("delete", "pod", "web", "--grace-period=0", "--force", "--timeout=20s")
    assert pod.mounts()
    alone.stop()

    server.start()
    await until(lambda: not pod.path.exists())
    assert not pod.mounts()
    assert (tmp_path / "disk" / "file").read_text() == "on the disk"


async def test_a_node_that_was_deleted_registers_again(mine: Kubectl) -> None:
    first = mine.field(".metadata.uid", f"node/{NODE}")
    mine("delete", "node", NODE)
    await until(lambda: mine.run("get", "node", NODE).code == 0)
    mine("wait", f"node/{NODE}", READY, "--timeout=15s")
    assert mine.field(".metadata.uid", f"node/{NODE}") != first


async def test_a_second_node_joins_with_its_own_rights_and_no_others(
    needs_runtime: None, mine: Kubectl, server: ServerWithNode, tmp_path: Path
) -> None:
    mine("create", "-f-", given=[a_secret("hers", a="b"), a_secret("his", a="c")])
    with joined_node(server, "other", tmp_path, flags=("--host-rootfs",)):
        await until(lambda: mine.run("get", "node", "other").code == 0)
        mine("wait", "node/other", READY, "--timeout=15s")
        volume: Doc = {"name": "keys", "secret": {"secretName": "hers"}}
        mine("create", "-f-", given=a_pod_with("web", volume, nodeName="other"))
        pod = PodDirectory(tmp_path / "other", mine.field(".metadata.uid", "pod/web"))
        mine("wait", "pod/web", READY, "--timeout=15s")
        assert mine("exec", "web", "--", "cat", "/keys/a") == "b"

        other = mine.as_user(tmp_path / "other.kubeconfig")
        assert other.doc("secret", "hers")["metadata"]["name"] == "hers"
        assert "no relationship found between node 'other'" in other.refused("get", "secret", "his")
        assert "can only read" in other.refused("delete", "secret", "hers")
        assert "only its own Node object" in other.refused("get", "node", NODE)

        mine("delete", "pod", "web", "--timeout=20s")
        assert not pod.path.exists()


async def test_a_node_joins_from_another_network(
    needs_runtime: None, kubectl: Kubectl, tmp_path: Path
) -> None:
    with network("10.213.47.1", "10.213.47.2") as inside:
        server = RealServer(tmp_path / "far", "--host", "10.213.47.1").start()
        mine = kubectl.as_user(server.kubeconfig).in_namespace("default")
        try:
            with joined_node(server, "other", tmp_path, *inside, flags=("--host-rootfs",)):
                await until(lambda: mine.run("get", "node", "other").code == 0)
                mine("wait", "node/other", READY, "--timeout=15s")
                assert "10.213.47.2" in mine("get", "node", "other", "-o", "wide")
                volume: Doc = {"name": "memory", "emptyDir": {"medium": "Memory"}}
                doc = a_pod_with("web", volume)
                doc["spec"]["containers"][0]["command"] = ["sh", "-c", f"echo hello; {STAYS}"]
                mine("create", "-f-", given=doc)
                pod = PodDirectory(tmp_path / "other", mine.field(".metadata.uid", "pod/web"))
                mine("wait", "pod/web", READY, "--timeout=15s")
                assert "volumes/kubernetes.io~empty-dir/memory" in pod.mounts()
                assert mine("logs", "web") == "hello"
                assert mine("exec", "web", "--", "stat", "-fc", "%T", "/memory") == "tmpfs"
                mine("delete", "pod", "web", "--timeout=20s")
                assert not pod.path.exists()
        finally:
            server.kill()


def test_two_nodes_never_share_a_root_directory(server: ServerWithNode, tmp_path: Path) -> None:
    run = command(
        *("node", "--kubeconfig", str(server.kubeconfig), "--node-name", "other"),
        *("--root-dir", str(server.node_root)),
    )
    ran = subprocess.run(run, capture_output=True, text=True, timeout=PROMPTLY, check=False)  # noqa: S603
    assert ran.returncode == 1
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"mooring: {server.node_root} is in use by another mooring")
    assert line.endswith("choose another --root-dir")


async def test_a_node_that_may_not_mount_serves_what_needs_no_mount_and_says_so(
    data_dir: Path,
) -> None:
    need_root()
    if shutil.which(PowerlessServer.prefix[0]) is None:
        pytest.skip("setpriv, which takes rights away, is not installed")
    server = PowerlessServer(data_dir)
    server.start()
    assert any("mount" in server.next_line() for _ in range(4))  # of the block
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    await until(lambda: server.ask("GET", account).code == 200)
    volume: Doc = {"name": "scratch", "emptyDir": {}}
    pod = a_pod_with("web", volume, nodeName=NODE, automountServiceAccountToken=False)
    made = server.ask("POST", PODS, pod)
    assert made.code == 201, made.body
    place = PodDirectory(server.node_root, made.doc["metadata"]["uid"])
    await until(place.volume("empty-dir", "scratch").is_dir)
    node = server.ask("GET", f"/api/v1/nodes/{NODE}").doc
    assert node["status"]["conditions"][-1]["reason"] == "KubeletReady"
    assert server.ask("DELETE", f"{PODS}/web").code == 200
    await until(lambda: server.ask("GET", f"{PODS}/web").code == 404)
    assert not place.path.exists()

    assert server.stop() == 0
    assert server.log.read_text() == ""  # the block has said it
