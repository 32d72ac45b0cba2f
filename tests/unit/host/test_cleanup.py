"""Taking mount points away, with the mounts of a fake."""

from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host.cleanup import PathState, clean_up, clean_up_by_force, examine, remove_empty
from tests.fakes.mounts import FakeMounts


@pytest.fixture
def mounts() -> FakeMounts:
    return FakeMounts()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "volume"
    path.mkdir()
    return path


def test_a_mount_point_goes_with_its_mount(mounts: FakeMounts, place: Path) -> None:
    mounts.mount("tmpfs", place, "tmpfs")
    clean_up(mounts, place)
    assert not place.exists()
    assert mounts.mounted() == ()


def test_twice_is_as_good_as_once(mounts: FakeMounts, place: Path) -> None:
    clean_up(mounts, place)
    clean_up(mounts, place)
    assert not place.exists()
    assert mounts.calls == []


def test_content_of_a_plain_directory_survives(mounts: FakeMounts, place: Path) -> None:
    (place / "letter").write_text("Dear reader")
    with pytest.raises(HostError, match=f"remove {place}: directory not empty"):
        clean_up(mounts, place)
    assert (place / "letter").read_text() == "Dear reader"


def test_what_cannot_be_unmounted_stays(mounts: FakeMounts, place: Path) -> None:
    mounts.mount("tmpfs", place, "tmpfs")
    mounts.keep_busy(place)
    with pytest.raises(HostError, match="target is busy"):
        clean_up(mounts, place)
    assert place.exists()


def test_mounted_twice_is_not_yet_clean(mounts: FakeMounts, place: Path) -> None:
    mounts.mount("tmpfs", place, "tmpfs")
    mounts.mount("tmpfs", place, "tmpfs")
    with pytest.raises(HostError, match=f"failed to cleanup mount point {place}"):
        clean_up(mounts, place)
    clean_up(mounts, place)
    assert not place.exists()


def test_with_force_the_unmount_has_its_limit(mounts: FakeMounts, place: Path) -> None:
    mounts.mount("server:/path", place, "nfs")
    clean_up_by_force(mounts, place, 60)
    assert not place.exists()
    assert [(call.verb, call.options) for call in mounts.calls[1:]] == [
        ("unmount_by_force", ("60",))
    ]


def test_force_is_not_needed_where_nothing_is_mounted(mounts: FakeMounts, place: Path) -> None:
    clean_up_by_force(mounts, place, 60)
    assert not place.exists()
    assert mounts.calls == []


def test_a_bind_target_that_is_an_empty_file_goes(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    remove_empty(file)
    remove_empty(file)
    assert not file.exists()


def test_a_file_with_content_stays(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("Dear reader")
    with pytest.raises(HostError, match="the file is not empty"):
        remove_empty(file)
    assert file.read_text() == "Dear reader"


def test_a_link_is_not_followed(tmp_path: Path, place: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(place)
    with pytest.raises(HostError, match="not a directory"):
        remove_empty(link)
    assert place.exists()


def test_the_states_of_a_path(tmp_path: Path, place: Path) -> None:
    assert examine(place) is PathState.PRESENT
    assert examine(tmp_path / "no") is PathState.MISSING
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(HostError, match=r"Error checking path: stat .*loop: too many levels"):
        examine(loop)
