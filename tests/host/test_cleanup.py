"""Cleaning up real mounts, whole and broken."""

from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host.cleanup import PathState, clean_up, clean_up_by_force, examine
from mooring.host.mount import Mounts
from tests.fakes.programs import FakePrograms
from tests.host.broken_mounts import StaleMount, mount_of_the_dead
from tests.host.conftest import NeedsTool


def test_a_mount_and_its_directory_go(mounts: Mounts, target: Path) -> None:
    mounts.mount("tmpfs", target, "tmpfs")
    (target / "file").write_text("gone with the memory")
    clean_up(mounts, target)
    assert examine(target) is PathState.MISSING
    clean_up(mounts, target)


def test_a_directory_with_content_is_kept(mounts: Mounts, target: Path) -> None:
    (target / "letter").write_text("Dear reader")
    with pytest.raises(HostError, match=f"remove {target}: directory not empty"):
        clean_up(mounts, target)
    assert (target / "letter").read_text() == "Dear reader"


def test_content_under_a_mount_is_kept_too(mounts: Mounts, target: Path) -> None:
    (target / "letter").write_text("Dear reader")
    mounts.mount("tmpfs", target, "tmpfs")
    with pytest.raises(HostError, match="directory not empty"):
        clean_up(mounts, target)
    assert (target / "letter").read_text() == "Dear reader"


def test_the_data_of_a_bind_is_not_touched(mounts: Mounts, place: Path, target: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "letter").write_text("Dear reader")
    mounts.bind(place / "data", target)
    clean_up(mounts, target)
    assert not target.exists()
    assert (place / "data" / "letter").read_text() == "Dear reader"


def test_the_file_under_a_bind_goes(mounts: Mounts, place: Path) -> None:
    data, file = place / "data", place / "file"
    data.write_text("Dear reader")
    file.touch()
    mounts.bind(data, file)
    clean_up(mounts, file)
    assert not file.exists()
    assert data.read_text() == "Dear reader"


def test_a_busy_mount_is_kept(mounts: Mounts, target: Path) -> None:
    mounts.mount("tmpfs", target, "tmpfs")
    with (target / "file").open("w"), pytest.raises(HostError, match="target is busy"):
        clean_up(mounts, target)
    assert mounts.is_mount_point(target)


def test_a_mount_whose_server_died(
    mounts: Mounts, target: Path, needs_filesystem: NeedsTool
) -> None:
    needs_filesystem("fuse")
    mount_of_the_dead(target)
    assert examine(target) is PathState.BROKEN
    clean_up(mounts, target)
    assert not target.exists()


def test_a_stale_handle_is_unmounted_with_force_after_its_time(
    mounts: Mounts, target: Path, programs: FakePrograms, needs_filesystem: NeedsTool
) -> None:
    needs_filesystem("fuse")
    stale = StaleMount(target)
    assert examine(target) is PathState.BROKEN
    programs.add("umount", f'test "$1" = -f || exec sleep 60; exec /bin/umount -f {target}')
    clean_up_by_force(mounts, target, 0.2)
    stale.end()
    assert programs.runs() == [f"umount {target}", f"umount -f {target}"]
    assert not target.exists()


def test_a_stale_handle_that_can_be_unmounted_needs_no_force(
    mounts: Mounts, target: Path, needs_filesystem: NeedsTool
) -> None:
    needs_filesystem("fuse")
    stale = StaleMount(target)
    clean_up_by_force(mounts, target, 60)
    stale.end()
    assert not target.exists()
