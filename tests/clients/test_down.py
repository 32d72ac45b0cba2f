"""`mooring down` after every kind of end: real containers, mounts and loop devices."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mooring.host.mountinfo import canonical, read_table
from tests.clients.containers import is_alive, loop_devices, processes_about
from tests.clients.csi import short_directory
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import a_claim, a_config_map
from tests.clients.mooring_command import done, mooring, refused
from tests.clients.nodes import ServerWithNode, server_with_node, wait_for_node
from tests.clients.pods import Pods, a_local_volume, a_script, mounting, of_claim
from tests.fakes.hanging_disk import hanging_disk
from tests.fakes.real_server import command

LOOP = "mooring-loop"
SMALL = "16Mi"
SLEEPS = "exec sleep 1000"  # heeds no signal, being the first process
ENDS_WITH_7 = 'trap "exit 7" TERM; sleep 1000 & wait'
PROMPTLY = 6.0


@pytest.fixture
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    """At a path that is short enough for the socket of the bundled driver."""
    with short_directory() as place, server_with_node(place / "d") as running:
        yield running


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    return Pods(kubectl)


def down(server: ServerWithNode) -> str:
    return done("down", "--data-dir", server.data_dir)


def below(root: Path) -> list[str]:
    return [entry.at for entry in read_table().below(canonical(root))]


def check_nothing_left(server: ServerWithNode) -> None:
    assert below(server.node_root) == []
    assert loop_devices(server.data_dir) == {}
    assert loop_devices(server.node_root) == {}
    containers = server.containers
    assert [id for id in containers.ids() if processes_about(id)] == []
    assert not any(is_alive(containers.pid_of(id)) for id in containers.ids())
    assert processes_about(str(containers.state)) == []


def a_loop_claim(name: str, **spec: object) -> dict[str, object]:
    return a_claim(name, SMALL, storageClassName=LOOP, **spec)


def a_mixed_pod(name: str, script: str) -> dict[str, object]:
    volumes = [
        of_claim("data", "data"),
        {"name": "memory", "emptyDir": {"medium": "Memory"}},
        {"name": "settings", "configMap": {"name": "settings"}},
        of_claim("raw", "raw"),
    ]
    container = mounting(data="/data", memory="/memory", settings="/settings")
    container["volumeDevices"] = [{"name": "raw", "devicePath": "/dev/raw"}]
    container["volumeMounts"].append({"name": "data", "mountPath": "/part", "subPath": "part"})
    return a_script(name, script, volumes=volumes, container=container)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=lambda end: end.name)
def test_nothing_runs_or_is_mounted_afterwards_and_the_next_start_has_everything(
    server: ServerWithNode, pods: Pods, end: signal.Signals
) -> None:
    raw = a_loop_claim("raw", volumeMode="Block")
    pods.ready(
        a_config_map("settings"),
        a_loop_claim("data"),
        raw,
        a_mixed_pod("mixed", ENDS_WITH_7),
        a_script("sleeps", SLEEPS),
    )
    written = pods.sh("mixed", "date > /data/first; cat /data/first")
    objects = pods.kubectl("get", "pods,pvc,pv", "-A", "-o", "name")
    server.send(end)
    server.wait()

    began = time.monotonic()
    said = down(server)
    assert time.monotonic() - began < PROMPTLY
    assert "2 containers ended" in said
    assert "2 driver volumes released" in said
    check_nothing_left(server)
    assert down(server) == "nothing was running or mounted\n"

    server.start()
    wait_for_node(server)
    pods.kubectl(
        "wait",
        *("pod/mixed", "pod/sleeps", "--timeout=30s"),
        "--for=jsonpath={.status.containerStatuses[0].restartCount}=1",
    )
    assert pods.status("mixed")["lastState"]["terminated"]["exitCode"] == 7
    assert pods.status("sleeps")["lastState"]["terminated"]["exitCode"] == 128 + signal.SIGKILL
    pods.kubectl("wait", "--for=condition=Ready", "pod/mixed", "pod/sleeps", "--timeout=30s")
    assert pods.kubectl("get", "pods,pvc,pv", "-A", "-o", "name") == objects
    assert pods.sh("mixed", "cat /data/first") == written
    server.stop()
    down(server)
    check_nothing_left(server)


def test_beside_a_running_up_it_is_refused_and_nothing_ends(
    server: ServerWithNode, pods: Pods
) -> None:
    pods.ready(a_script("stays"))
    line = refused("down", "--data-dir", server.data_dir)
    assert line == (
        f"{server.data_dir} is in use by `mooring up` (pid {server.pid}): stop it first, with "
        "Ctrl-C or SIGTERM"
    )
    assert pods.sh("stays", "echo here") == "here"


@contextmanager
def a_process_in(directory: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "1000"], cwd=directory) as process:  # noqa: S607
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.timeout(120)
def test_a_foreign_process_in_a_volume_is_named_and_everything_else_is_done(
    server: ServerWithNode, pods: Pods
) -> None:
    volumes = [of_claim("data", "used")]
    fields = {"volumes": volumes, "container": mounting(data="/data")}
    other = {"volumes": [of_claim("data", "other")], "container": mounting(data="/data")}
    pods.ready(
        a_loop_claim("used"),
        a_loop_claim("other"),
        a_script("one", "echo kept > /data/file; exec sleep 1000", **fields),
        a_script("two", SLEEPS, **other),
    )
    uid = pods.uid("one")
    server.kill()
    (at,) = [each for each in below(server.node_root) if uid in each and "/volumes/" in each]
    with a_process_in(Path(at)) as process:
        ended = mooring("down", "--data-dir", server.data_dir)
        assert ended.returncode == 1
        assert ended.stderr == (
            f"mooring: {at} stays mounted: in use by (pid {process.pid}, sleep 1000): end it, then "
            "try again\n"
        )
        assert "2 containers ended" in ended.stdout
        left = [each for each in below(server.node_root) if each != str(server.node_root)]
        assert at in left
        assert len(left) == 2  # where it is staged
        assert len(loop_devices(server.data_dir)) == 1
        assert (Path(at) / "file").read_text() == "kept\n"
    down(server)
    check_nothing_left(server)


@pytest.mark.timeout(120)
def test_a_raw_volume_that_somebody_has_open_is_named_and_keeps_its_device(
    server: ServerWithNode, pods: Pods
) -> None:
    raw = a_loop_claim("raw", volumeMode="Block")
    device = {"volumeDevices": [{"name": "raw", "devicePath": "/dev/raw"}]}
    pods.ready(raw, a_script("one", SLEEPS, volumes=[of_claim("raw", "raw")], container=device))
    server.kill()
    (attached,) = loop_devices(server.data_dir)
    with attached.open("rb"):
        line = refused("down", "--data-dir", server.data_dir)
        assert f"{attached} is open in (pid {os.getpid()}, " in line
        assert list(loop_devices(server.data_dir)) == [attached]
    down(server)
    check_nothing_left(server)


def test_two_at_once_end_well_and_the_second_says_so(server: ServerWithNode, pods: Pods) -> None:
    pods.ready(a_script("slow", 'trap "" TERM; while true; do sleep 1; done'))
    pods.ready(a_script("waits", 'trap "sleep 3; exit 0" TERM; sleep 1000 & wait'))
    server.kill()
    words = command("down", "--data-dir", str(server.data_dir))
    both = [
        subprocess.Popen(words, stderr=subprocess.PIPE, text=True)  # noqa: S603  our own program
        for _ in range(2)
    ]
    complaints = {process.pid: process.communicate(timeout=30)[1] for process in both}
    winner, loser = sorted(both, key=lambda process: process.returncode)
    assert (winner.returncode, loser.returncode) == (0, 1)
    assert f"is in use by `mooring down` (pid {winner.pid}): wait for it" in complaints[loser.pid]
    check_nothing_left(server)


@pytest.mark.timeout(120)
def test_a_hung_disk_below_a_volume_holds_up_nothing(
    server: ServerWithNode, pods: Pods, tmp_path: Path
) -> None:
    with hanging_disk(tmp_path / "disk") as disk:
        disk.heal()
        hung = a_local_volume("hung", str(disk.at))
        pods.ready(
            hung,
            a_claim("hung", volumeName="hung"),
            a_script("hangs", SLEEPS, volumes=[of_claim("d", "hung")], container=mounting(d="/d")),
            a_script("well", SLEEPS),
        )
        server.kill()
        disk.hang()
        down(server)
        check_nothing_left(server)


@pytest.mark.timeout(120)
def test_a_container_that_cannot_be_killed_is_named_and_the_others_end(
    server: ServerWithNode, pods: Pods, tmp_path: Path
) -> None:
    with hanging_disk(tmp_path / "disk", takes_questions=True) as disk:
        disk.heal()
        hung = a_local_volume("hung", str(disk.at))
        script = 'while [ ! -e /go ]; do sleep 0.1; done; ls /d/file; echo "$?"; exec sleep 1000'
        volumes = [of_claim("d", "hung")]
        pods.ready(
            hung,
            a_claim("hung", volumeName="hung"),
            a_script("stuck", script, volumes=volumes, container=mounting(d="/d")),
            a_script("well", SLEEPS),
        )
        disk.hang()
        pods.sh("stuck", "touch /go")
        assert disk.asked.wait(15)
        server.kill()
        began = time.monotonic()
        ended = mooring("down", "--data-dir", server.data_dir)
        assert time.monotonic() - began < 20
        assert ended.returncode == 1
        assert [line.partition(": a process")[0] for line in ended.stderr.splitlines()] == [
            f"mooring: container main of pod {pods.kubectl.namespace}/stuck cannot be killed"
        ]
        uid = pods_uid(server, "well")
        assert not server.containers.left(uid)["processes"]
    down(server)
    check_nothing_left(server)


def pods_uid(server: ServerWithNode, pod: str) -> str:
    """Of one that has a record of its container."""
    for id in server.containers.ids():
        record = json.loads((server.containers.directory / id / "record.json").read_text())
        if record["owner"]["pod"] == pod:
            return str(record["owner"]["pod_uid"])
    pytest.fail(f"no container of {pod}")


def test_the_end_of_up_says_what_goes_on(server: ServerWithNode, pods: Pods) -> None:
    memory = {"name": "m", "emptyDir": {"medium": "Memory"}}
    pods.ready(a_script("stays", volumes=[memory], container=mounting(m="/m")))
    process = server._process
    assert process is not None
    assert process.stdout is not None
    server.send(signal.SIGINT)
    *_, last = process.stdout.read().splitlines()  # behind the rest of the ready block
    assert last == (
        "1 pod goes on running and 1 volume stays mounted; to end that: mooring down --data-dir "
        f"{server.data_dir}"
    )
    assert server.wait() == 0
    down(server)
    server.start()
    wait_for_node(server)


def test_what_is_no_data_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    line = refused("down", "--data-dir", tmp_path)
    assert line.startswith(f"{tmp_path} is no data directory of mooring (it has no mooring.db): ")
    assert os.listdir(tmp_path) == ["file"]
