"""Pods whose surroundings are killed: what is told of them stays true, and nothing leaks."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.oci.probe import CONMON_ELSEWHERE
from tests.clients.containers import is_alive
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc, a_config_map
from tests.clients.nodes import NODE, ServerWithNode, need_root, server_with_node, wait_for_node
from tests.clients.pods import STAYS, WITHIN, Pods, a_script, mounting
from tests.fakes.mount_namespace import OWN_MOUNTS
from tests.fakes.real_server import RealServer
from tests.fakes.waiting import until

COUNTS = "i=0; while true; do i=$((i+1)); echo $i; sleep 0.01; done"
RESTARTED = ".containerStatuses[0].restartCount"


class Fallible:
    """A server that is to be killed, and the pods there."""

    def __init__(self, server: ServerWithNode, kubectl: Kubectl) -> None:
        self.server = server
        self.pods = Pods(kubectl.as_user(server.kubeconfig).in_namespace("default"))
        self.containers = server.containers

    def first_process(self, pod: str) -> int:
        return self.containers.pid_of(self.containers.id_of(self.pods.uid(pod)))

    def log_of(self, pod: str) -> Path:
        uid = self.pods.uid(pod)
        return self.server.node_root / "logs" / f"default_{pod}_{uid}" / "main" / "0.log"


@pytest.fixture
def fallible(needs_runtime: None, kubectl: Kubectl, tmp_path: Path) -> Iterator[Fallible]:
    with server_with_node(tmp_path / "data") as server:
        yield Fallible(server, kubectl)


async def test_pods_run_on_when_mooring_is_killed_and_their_logs_are_whole(
    fallible: Fallible, tmp_path: Path
) -> None:
    pods, server = fallible.pods, fallible.server
    host: list[Doc] = [{"name": "host", "hostPath": {"path": str(tmp_path)}}]
    waits = "while test ! -e /host/go; do sleep 0.05; done; exit 4"
    once: Doc = {"restartPolicy": "Never", "volumes": host, "container": mounting(host="/host")}
    pods.ready(a_script("counting", COUNTS), a_script("ending", waits, **once), a_script("doomed"))
    names = ("counting", "ending", "doomed")
    before = {name: fallible.first_process(name) for name in names}
    log, doomed = fallible.log_of("counting"), pods.uid("doomed")
    with pods.kubectl.running("logs", "-f", "counting") as following:
        following.line("20")
        server.kill()
    length = log.stat().st_size
    (tmp_path / "go").touch()
    await until(lambda: log.stat().st_size > length + 1000)
    await until(lambda: not is_alive(before["ending"]))
    alone = RealServer(server.data_dir, "--no-node")
    alone.port = server.port
    alone.start()
    pods.kubectl("delete", "pod", "doomed", "--grace-period=0", "--force", WITHIN)
    alone.stop()
    assert is_alive(before["doomed"])

    server.start()

    pods.ends("ending", "Failed")
    assert pods.status("ending")["state"]["terminated"]["exitCode"] == 4
    await until(lambda: not any(fallible.containers.left(doomed).values()))
    assert not is_alive(before["doomed"])
    assert fallible.first_process("counting") == before["counting"]
    status = pods.status("counting")
    assert (status["restartCount"], status["ready"], status["lastState"]) == (0, True, {})
    assert pods.sh("counting", "echo hello") == "hello"
    with pods.kubectl.running("logs", "-f", "counting") as following:
        last = int(following.line(str(int(pods.logs("counting", "--tail=1")) + 20)))
    numbers = pods.logs("counting").split()
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert len(numbers) >= last

    pods.kubectl("delete", "pod", "counting", "ending", WITHIN)
    await until(lambda: not fallible.containers.ids())


async def test_mooring_killed_while_pods_start_and_end_finishes_both(fallible: Fallible) -> None:
    """At whatever point it is killed: the next one knows, or asks."""
    pods, server = fallible.pods, fallible.server
    going = [a_script(f"going-{number}") for number in range(4)]
    coming = [a_script(f"coming-{number}") for number in range(4)]
    pods.ready(*going)
    names = [doc["metadata"]["name"] for doc in going]
    uids = [pods.uid(name) for name in names]
    pods.create(*coming)
    pods.kubectl("delete", "pod", *names, "--wait=false")
    server.kill()

    server.start()

    arriving = [f"pod/{doc['metadata']['name']}" for doc in coming]
    pods.kubectl("wait", *arriving, "--for=condition=Ready", WITHIN)
    pods.kubectl("wait", *(f"pod/{name}" for name in names), "--for=delete", WITHIN)
    await until(lambda: not any(fallible.containers.left(*uids).values()))
    assert len(fallible.containers.ids()) == len(coming)
    assert {pods.status(f"coming-{number}")["restartCount"] for number in range(4)} == {0}


@pytest.fixture
def shared(pod_server: ServerWithNode, kubectl: Kubectl) -> Fallible:
    """One that is not killed itself."""
    return Fallible(pod_server, kubectl)


async def test_a_container_or_shim_that_is_killed_is_told_and_started_again(
    shared: Fallible, unique: str
) -> None:
    pods = shared.pods
    process, shim, once = (f"{unique}-{what}" for what in ("process", "shim", "once"))
    pods.ready(a_script(process), a_script(shim), a_script(once, restartPolicy="Never"))
    ids = {name: shared.containers.id_of(pods.uid(name)) for name in (process, shim, once)}
    first = {name: shared.containers.pid_of(id) for name, id in ids.items()}

    os.kill(first[process], signal.SIGKILL)
    os.kill(shared.containers.shim_of(ids[shim]), signal.SIGKILL)
    os.kill(shared.containers.shim_of(ids[once]), signal.SIGKILL)

    for name in (process, shim):
        pods.becomes(name, RESTARTED, "1")
        pods.kubectl("wait", f"pod/{name}", "--for=condition=Ready", WITHIN)
        assert pods.sh(name, "echo hello") == "hello"
    ended = pods.status(process)["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "Error")
    lost = pods.status(shim)["lastState"]["terminated"]
    assert (lost["exitCode"], lost["reason"]) == (137, "ContainerStatusUnknown")
    pods.ends(once, "Failed")
    assert not any(is_alive(pid) for pid in first.values())
    pods.kubectl("delete", "pod", process, shim, once, WITHIN)


class WithoutRuntime(ServerWithNode):
    """`mooring up` where nobody has installed what runs containers."""

    prefix = (
        *(*OWN_MOUNTS, "sh", "-c"),
        'for name in runc crun conmon; do for place in $(which -a "$name"); do '
        'mount --bind /dev/null "$place"; done; done; exec "$@"',
        "sh",
    )


def test_without_a_runtime_pods_wait_with_their_volumes_and_are_told_the_remedy(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    need_root()
    if any(map(os.path.exists, CONMON_ELSEWHERE)) or shutil.which("unshare") is None:
        pytest.skip("what runs containers cannot be hidden here")
    server = WithoutRuntime(tmp_path / "data")
    try:
        server.start()
        wait_for_node(server)
        pods = Pods(kubectl.as_user(server.kubeconfig).in_namespace("default"))
        settings: Doc = {"name": "settings", "configMap": {"name": "settings"}}
        pod = a_script("web", volumes=[settings], container=mounting(settings="/s"))
        pods.create(a_config_map("settings", colour="blue"), pod)

        told = pods.kubectl.event("web", "FailedCreatePodSandBox")

        assert "Failed to create pod sandbox: containers cannot run: there is no conmon" in told
        assert "apt-get install runc conmon" in told
        assert pods.table("NAME", "READY", "STATUS") == [("web", "0/1", "ContainerCreating")]
        place = server.node_root / "pods" / pods.uid("web")
        file = place / "volumes/kubernetes.io~configmap/settings/colour"
        # Mounts of its own are seen through its own eyes.
        assert Path(f"/proc/{server.pid}/root{file}").read_text() == "blue"
        assert pods.kubectl.refused("exec", "web", "--", "true")
        assert pods.kubectl("get", "node", NODE, "--no-headers").split()[1] == "Ready"
        pods.kubectl("delete", "pod", "web", WITHIN)
    finally:
        server.kill()


def test_a_fork_bomb_and_a_chatterbox_harm_only_themselves(shared: Fallible, unique: str) -> None:
    """Of processes there are so many and no more, and of logs."""
    bomb, chatty = f"{unique}-bomb", f"{unique}-chatty"
    pods = shared.pods
    grows = "while sleep 1000 & do :; done"  # until the shell is not given another process
    talks = "head -c 200000000 /dev/zero | tr '\\0' x | fold -w 1000; echo end; " + STAYS
    pods.create(a_script(bomb, grows, restartPolicy="Never"), a_script(chatty, talks))
    pods.ends(bomb, "Failed")
    assert "Cannot fork" in pods.logs(bomb) or "Resource temporarily" in pods.logs(bomb)
    pods.kubectl("wait", f"pod/{chatty}", "--for=condition=Ready", WITHIN)
    with pods.kubectl.running("logs", "-f", "--tail=1", chatty) as following:
        following.line("end")
    directory = shared.log_of(chatty).parent
    assert sum(path.stat().st_size for path in directory.iterdir()) < 150_000_000
    pods.kubectl("delete", "pod", bomb, chatty, WITHIN)
