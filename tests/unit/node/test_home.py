"""The root directory of a data directory's node: beside it, found again, and nobody else's."""

import logging
import os
import shutil
from pathlib import Path

import pytest

from mooring.errors import UsageError
from mooring.node.home import (
    LINK,
    RECORD,
    Homes,
    find_home,
    find_node_root,
    make_node_root,
    take_home,
)
from mooring.node.home_choice import names_for
from mooring.node.root import node_root
from mooring.stack.config import default_data_dir
from tests.fakes.mounts import FakeMounts


class Machine:
    def __init__(self, top: Path) -> None:
        self.top = top
        self.data = top / "data"
        self.homes = top / "homes"
        self.mounts = FakeMounts()

    def take(self, data: Path | None = None, wanted: Path | None = None) -> Path:
        return take_home(data or self.data, self.mounts, wanted, Homes(self.homes))

    def find(self, data: Path | None = None) -> Path:
        return find_home(data or self.data, Homes(self.homes))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path.resolve())


def test_it_is_outside_of_the_data_directory_which_links_to_it(machine: Machine) -> None:
    assert machine.find() == machine.homes / names_for(machine.data)[0]
    assert not machine.data.exists()
    root = machine.take()
    assert root == machine.homes / names_for(machine.data)[0]
    assert (machine.data / LINK).readlink() == root
    assert machine.homes.stat().st_mode & 0o777 == 0o700
    assert root.stat().st_mode & 0o777 == 0o750
    assert machine.take() == machine.find() == root


def test_who_starts_over_in_the_same_place_finds_the_same_root(machine: Machine) -> None:
    root = machine.take()
    (root / "pods").mkdir()
    shutil.rmtree(machine.data)
    assert (root / "pods").is_dir()
    assert machine.take() == root


def test_a_moved_data_directory_keeps_it_and_its_old_place_gets_another(machine: Machine) -> None:
    root, moved = machine.take(), machine.top / "moved"
    machine.data.rename(moved)
    assert machine.take(moved) == machine.find(moved) == root
    assert (root / RECORD).read_text() == f"{moved}\n"
    assert machine.take() != root
    assert machine.take(moved) == root


def test_a_copied_data_directory_gets_one_of_its_own(machine: Machine) -> None:
    root, copy = machine.take(), machine.top / "copy"
    shutil.copytree(machine.data, copy, symlinks=True)
    assert machine.take(copy) not in (root, machine.data)
    assert machine.take() == root


def test_a_data_directory_is_the_same_by_whatever_name(machine: Machine) -> None:
    root = machine.take()
    (machine.top / "alias").symlink_to(machine.data)
    assert machine.take(machine.top / "alias") == root


def test_one_of_an_earlier_version_is_moved_when_nothing_is_mounted_in_it(machine: Machine) -> None:
    (machine.data / LINK / "images").mkdir(parents=True)
    assert machine.find() == machine.data / LINK
    root = machine.take()
    assert root.parent == machine.homes
    assert (machine.data / LINK).readlink() == root
    assert (root / "images").is_dir()


def test_one_of_an_earlier_version_stays_while_something_is_mounted_in_it(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    volume = machine.data / LINK / "pods"
    volume.mkdir(parents=True)
    machine.mounts.mount("tmpfs", volume, "tmpfs")
    with caplog.at_level(logging.WARNING):
        assert machine.take() == machine.data / LINK
    assert len(caplog.records) == 1
    machine.mounts.unmount(volume)
    assert machine.take().parent == machine.homes


def test_one_of_an_earlier_version_is_not_taken_from_a_running_node(machine: Machine) -> None:
    (machine.data / LINK / "images").mkdir(parents=True)
    with (
        node_root(machine.data / LINK, FakeMounts()),
        pytest.raises(UsageError, match="in use by another mooring"),
    ):
        machine.take()


def test_as_wished(machine: Machine) -> None:
    wanted = machine.top / "kubelet"
    assert machine.take(wanted=wanted) == wanted
    assert (machine.data / LINK).readlink() == wanted
    assert machine.take() == machine.find() == wanted
    with pytest.raises(UsageError, match=f"belongs to the data directory {machine.data}"):
        machine.take(machine.top / "other", wanted)


def test_a_planted_link_is_refused_and_nothing_is_made_there(machine: Machine) -> None:
    machine.data.mkdir()
    (machine.top / "precious").mkdir()
    (machine.data / LINK).symlink_to(machine.top / "precious")
    for ask in (machine.take, machine.find):
        with pytest.raises(UsageError, match="no root directory of its node"):
            ask()
    assert os.listdir(machine.top / "precious") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give directories away")
def test_a_root_of_another_user_is_passed_over(machine: Machine) -> None:
    machine.homes.mkdir()
    planted = machine.homes / names_for(machine.data)[0]
    planted.mkdir()
    os.chown(planted, 12345, -1)
    assert machine.take() == machine.homes / names_for(machine.data)[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give directories away")
def test_a_place_for_roots_that_others_can_change_is_refused(machine: Machine) -> None:
    machine.homes.mkdir(mode=0o755)
    os.chown(machine.homes, 12345, -1)
    with pytest.raises(UsageError, match="others than root can change what is in it"):
        machine.take()


def test_a_record_that_somebody_planted_says_nothing(machine: Machine) -> None:
    root = machine.take()
    (root / RECORD).unlink()
    (root / RECORD).symlink_to("/etc/passwd")
    assert machine.take() == root
    assert (root / RECORD).read_text() == f"{machine.data}\n"
    assert not (root / RECORD).is_symlink()


def test_who_cannot_mount_keeps_it_in_the_data_directory(machine: Machine) -> None:
    nowhere = Homes(None)
    assert take_home(machine.data, machine.mounts, None, nowhere) == machine.data / LINK
    assert find_home(machine.data, nowhere) == machine.data / LINK
    assert not machine.data.exists()


def test_a_place_that_cannot_be_written_is_told_in_one_line(machine: Machine) -> None:
    machine.homes.write_text("a file")
    with pytest.raises(UsageError, match=r"a node cannot use .*homes"):
        machine.take()


def test_as_up_and_node_have_it() -> None:
    data, root, default = Path("/data"), Path("/root-dir"), default_data_dir()
    assert find_node_root(data, None, default) == find_home(data)
    assert find_node_root(None, root, default) == root
    assert find_node_root(None, None, default) == find_home(default)
    assert make_node_root(None, root, default, FakeMounts()) == root
    with pytest.raises(UsageError, match="give one of them"):
        find_node_root(data, root, default)
    with pytest.raises(UsageError, match="give one of them"):
        make_node_root(data, root, default, FakeMounts())
