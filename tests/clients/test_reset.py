"""`mooring reset`: what goes, what stays, and what keeps it from going."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.host.mountinfo import canonical, read_table
from tests.clients.csi import short_directory
from tests.clients.kubectl import Kubectl
from tests.clients.mooring_command import done, mooring, refused
from tests.clients.nodes import ServerWithNode, server_with_node, wait_for_node
from tests.clients.pods import Pods, a_script, mounting, of_claim
from tests.clients.test_down import SLEEPS, a_loop_claim, a_process_in, check_nothing_left
from tests.fakes.real_server import RealServer, command


@pytest.fixture
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with short_directory() as place, server_with_node(place / "d") as running:
        yield running


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    return Pods(kubectl)


def fill(pods: Pods) -> None:
    """A pod with a volume of the bundled driver."""
    fields = {"volumes": [of_claim("data", "data")], "container": mounting(data="/data")}
    pods.ready(a_loop_claim("data"), a_script("one", SLEEPS, **fields))


@pytest.mark.timeout(120)
def test_it_asks_and_then_removes_all_that_is_its_own_and_the_next_start_is_the_first(
    server: ServerWithNode, pods: Pods
) -> None:
    fill(pods)
    (server.data_dir / "notes.txt").write_text("mine")
    (server.node_root / "profiles").mkdir()
    server.kill()

    no = mooring("reset", "--data-dir", server.data_dir, given="n\n")
    assert no.returncode == 1
    assert no.stderr.endswith("mooring: nothing was ended and nothing was removed\n")
    assert "1 volume of the bundled driver and its data" in no.stdout
    assert str(server.data_dir) in no.stdout
    assert str(server.node_root) in no.stdout
    assert mooring("reset", "--data-dir", server.data_dir).returncode == 1  # nobody answers
    assert len(os.listdir(server.data_dir / "driver" / "volumes")) == 1

    said = done("reset", "--data-dir", server.data_dir, given="y\n")
    assert said.endswith(
        f"removed {server.node_root} and {server.data_dir}\n"
        f"not mooring's, and left in {server.data_dir}: notes.txt\n"
    )
    assert os.listdir(server.data_dir) == ["notes.txt"]
    assert "profiles" in os.listdir(server.node_root)
    assert not {"pods", "containers", "data-dir"}.intersection(os.listdir(server.node_root))
    check_nothing_left(server)
    line = refused("reset", "--yes", "--data-dir", server.data_dir)
    assert "is no data directory of mooring" in line

    (server.data_dir / "notes.txt").unlink()
    server.start()
    wait_for_node(server)
    assert server.ask("GET", "/api/v1/pods").doc["items"] == []
    server.stop()
    done("reset", "--yes", "--data-dir", server.data_dir)
    assert not server.data_dir.exists()


@pytest.mark.timeout(120)
def test_a_process_in_a_volume_is_named_and_nothing_is_removed(
    server: ServerWithNode, pods: Pods
) -> None:
    fill(pods)
    server.kill()
    table = read_table().below(canonical(server.node_root))
    (at,) = [entry.at for entry in table if entry.at.endswith("/mount")]
    with a_process_in(Path(at)) as process:
        ended = mooring("reset", "--yes", "--data-dir", server.data_dir)
        assert ended.returncode == 1
        assert f"(pid {process.pid}, sleep 1000)" in ended.stderr
        assert ended.stderr.endswith("mooring: nothing was removed\n")
        assert (server.data_dir / "mooring.db").exists()
        assert len(os.listdir(server.data_dir / "driver" / "volumes")) == 1
    done("reset", "--yes", "--data-dir", server.data_dir)
    assert not server.data_dir.exists()


def test_a_mount_of_somebody_in_the_data_directory_is_named_and_not_entered(
    own_server: RealServer, needs_runtime: None, tmp_path: Path
) -> None:
    own_server.kill()
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "precious").touch()
    place = own_server.data_dir / "volumes" / "disk"
    place.mkdir(parents=True)
    subprocess.run(["mount", "--bind", disk, place], check=True)  # noqa: S603, S607
    try:
        ended = mooring("reset", "--yes", "--data-dir", own_server.data_dir)
        assert ended.returncode == 1
        assert f"mooring: {place} is a mount point of " in ended.stderr
    finally:
        subprocess.run(["umount", place], check=True)  # noqa: S603, S607
    assert (disk / "precious").exists()
    done("reset", "--yes", "--data-dir", own_server.data_dir)
    assert (disk / "precious").exists()


def test_beside_a_running_up_it_is_refused(own_server: RealServer) -> None:
    line = refused("reset", "--yes", "--data-dir", own_server.data_dir)
    assert f"is in use by `mooring up` (pid {own_server.pid})" in line
    assert own_server.ask("GET", "/healthz").body == b"ok"


@pytest.mark.timeout(120)
def test_a_mooring_node_on_the_root_of_an_up_is_noticed(
    server: ServerWithNode, own_server: RealServer
) -> None:
    """It has joined another server, which needs nothing of this data directory."""
    server.stop()
    config = server.data_dir.parent / "node.conf"
    role = ("--role", "node:here", "-o", str(config))
    done("kubeconfig", "--data-dir", own_server.data_dir, *role)
    run = command(
        *("node", "--kubeconfig", str(config), "--node-name", "here"),
        *("--root-dir", str(server.node_root)),
    )
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as node:  # noqa: S603
        try:
            assert node.stdout is not None
            assert node.stdout.readline() == "mooring node here is running\n"
            line = refused("reset", "--yes", "--data-dir", server.data_dir)
            assert f"{server.node_root} is in use by `mooring node` (pid {node.pid})" in line
            assert (server.data_dir / "mooring.db").exists()
        finally:
            node.terminate()
            node.wait(30)
    done("reset", "--yes", "--data-dir", server.data_dir)
    assert not server.data_dir.exists()


def test_a_data_directory_of_another_version_is_removed(own_server: RealServer) -> None:
    own_server.kill()
    (own_server.data_dir / "mooring.db").write_bytes(b"of a later format")
    done("down", "--data-dir", own_server.data_dir)
    done("reset", "--yes", "--data-dir", own_server.data_dir)
    assert not own_server.data_dir.exists()
