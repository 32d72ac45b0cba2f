"""`mooring check`: findings on real machines, and what is repaired."""

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.host.mountinfo import canonical, read_table
from tests.clients.csi import short_directory
from tests.clients.kubectl import Kubectl
from tests.clients.mooring_command import done, mooring, refused
from tests.clients.nodes import ServerWithNode, server_with_node
from tests.clients.pods import Pods, a_script, mounting, of_claim
from tests.clients.test_down import SLEEPS, a_loop_claim, check_nothing_left
from tests.fakes.real_server import RealServer


@pytest.fixture
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with short_directory() as place, server_with_node(place / "d") as running:
        yield running


@pytest.mark.timeout(180)
def test_mounts_containers_and_records_against_objects(
    server: ServerWithNode, kubectl: Kubectl
) -> None:
    data = server.data_dir
    pods = Pods(kubectl)
    fields = {"volumes": [of_claim("data", "data")], "container": mounting(data="/data")}
    pods.ready(a_loop_claim("data"), a_script("one", SLEEPS, **fields))
    assert "no findings in " in done("check", "--data-dir", data)
    assert "is in use by `mooring up`" in refused("check", "--repair", "--data-dir", data)

    server.kill()
    assert "1 volume of the bundled driver, 1 container and" in done("check", "--data-dir", data)
    lost = str(uuid.uuid4())
    place = server.node_root / "pods" / lost / "volumes" / "kubernetes.io~empty-dir" / "m"
    place.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)  # noqa: S603, S607
    (data / "driver" / "making" / "half").mkdir()
    (container,) = server.containers.ids()
    cut_short = "f" * 64
    (server.containers.directory / cut_short).mkdir()
    (image,) = (data / "driver" / "volumes").glob("*/image")

    found = mooring("check", "--data-dir", data)
    assert found.returncode == 1
    header, *rows = found.stdout.splitlines()
    assert header.split() == ["WHERE", "FINDING", "REMEDY"]
    assert len(rows) == 3
    assert f"pod {lost}" in found.stdout
    assert "it does not exist, and has 1 mounts and a directory here" in found.stdout
    assert "making/half is left of something that was cut short" in found.stdout
    assert f"container {cut_short[:12]}" in found.stdout
    assert place.is_mount()  # nothing was changed

    said = done("check", "--repair", "--data-dir", data)
    assert said.count("repaired: ") == 3
    assert not (server.node_root / "pods" / lost).exists()
    assert server.containers.ids() == [container]  # which still runs
    assert [entry.at for entry in read_table().below(canonical(server.node_root / "pods"))]
    assert "no findings" in done("check", "--data-dir", data)

    done("down", "--data-dir", data)
    check_nothing_left(server)
    assert "no findings" in done("check", "--data-dir", data)

    os.truncate(image, 4096)
    found = mooring("check", "--repair", "--data-dir", data)
    assert found.returncode == 1
    assert "its image has 4096 bytes of 16777216" in found.stdout
    assert "restore a backup with its contents" in found.stdout


def test_a_damaged_database_is_told_and_nothing_is_called_left_over(
    own_server: RealServer,
) -> None:
    assert "no findings in " in done("check", "--data-dir", own_server.data_dir)
    own_server.stop()
    (own_server.data_dir / "mooring.db").write_bytes(b"rot" * 5000)
    found = mooring("check", "--repair", "--data-dir", own_server.data_dir)
    assert found.returncode == 1
    assert f"{own_server.data_dir}/mooring.db is damaged" in found.stdout
    assert "mooring restore FILE" in found.stdout
    assert len(found.stdout.splitlines()) == 2


def test_what_is_no_data_directory_is_refused(tmp_path: Path) -> None:
    assert "is no data directory" in refused("check", "--data-dir", tmp_path)
