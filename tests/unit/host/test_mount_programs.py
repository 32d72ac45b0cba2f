"""What goes through mount(8) and umount(8), and how; with programs of our own in their place."""

from pathlib import Path

import pytest

from mooring.errors import CommandFailed, HostError
from mooring.host.mount import Mounts
from tests.fakes.programs import FakePrograms


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.mkdir()
    return path


def test_nfs_by_its_helper_and_without_a_scope(programs: FakePrograms, target: Path) -> None:
    programs.add("systemd-run", "")
    programs.add("mount", "")
    Mounts().mount("server:/path", target, "nfs", ["hard", "nfsvers=4.1"])
    assert programs.runs() == [f"mount -t nfs -o hard,nfsvers=4.1 server:/path {target}"]


def test_no_options_no_dash_o(programs: FakePrograms, target: Path) -> None:
    programs.add("mount", "")
    Mounts().mount("server:/path", target, "nfs")
    assert programs.runs() == [f"mount -t nfs server:/path {target}"]


def test_a_fuse_daemon_gets_a_scope_of_its_own(programs: FakePrograms, target: Path) -> None:
    programs.add("systemd-run", "")
    mounts = Mounts()
    mounts.mount("a:/b", target, "fuse.sshfs")
    mounts.mount("a:/b", target, "fuse.sshfs")
    scoped = (
        f"systemd-run --description=Kubernetes transient mount for {target} --scope -- "
        f"mount -t fuse.sshfs a:/b {target}"
    )
    probe = "systemd-run --description=Kubernetes systemd probe --scope true"
    assert programs.runs() == [probe, scoped, scoped]


def test_without_a_running_systemd_there_is_no_scope(programs: FakePrograms, target: Path) -> None:
    programs.add("systemd-run", "echo Failed to connect to bus; exit 1")
    programs.add("mount", "")
    Mounts().mount("a:/b", target, "fuse.sshfs")
    assert programs.runs()[1:] == [f"mount -t fuse.sshfs a:/b {target}"]


def test_a_failed_mount_tells_all_but_the_secrets(programs: FakePrograms, target: Path) -> None:
    programs.add("mount", "echo refused for hunter2; exit 32")
    with pytest.raises(CommandFailed) as failed:
        Mounts().mount("//server/x", target, "cifs", ["ro"], sensitive=["password=hunter2"])
    assert str(failed.value) == (
        "mount failed: exit status 32\nMounting command: mount\n"
        f"Mounting arguments: -t cifs -o ro,<masked> //server/x {target}\n"
        "Output: refused for <masked>\n"
    )
    assert "hunter2" not in repr((failed.value.argv, failed.value.output))
    assert programs.runs() == [f"mount -t cifs -o ro,password=hunter2 //server/x {target}"]


def test_a_source_cannot_be_taken_for_an_option(programs: FakePrograms, target: Path) -> None:
    programs.add("mount", "")
    with pytest.raises(HostError, match="would be an option"):
        Mounts().mount("-T/evil:/fstab", target, "nfs")
    assert programs.runs() == []


def test_force_has_nothing_to_do_where_nothing_is_mounted(
    programs: FakePrograms, target: Path
) -> None:
    programs.add("umount", "")
    Mounts().unmount_by_force(target, 1)
    assert programs.runs() == []
