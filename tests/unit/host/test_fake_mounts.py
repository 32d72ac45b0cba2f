"""The fake must not promise what the kernel would not keep."""

from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host.contract import MountOps
from tests.fakes.mounts import FakeMounts


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    return tmp_path / "a", tmp_path / "b"


def test_it_is_a_mount_ops(places: tuple[Path, Path]) -> None:
    mounts: MountOps = FakeMounts()
    mounts.mount("tmpfs", places[0], "tmpfs", ["size=1"])
    assert mounts.is_mount_point(places[0])


def test_binds_refer_to_each_other(places: tuple[Path, Path]) -> None:
    mounts = FakeMounts()
    mounts.bind(*places, ["ro"])
    assert mounts.table().references(places[0]) == (places[1],)
    entry = mounts.table().find(places[1])
    assert entry is not None
    assert entry.is_read_only


def test_unmounting_takes_the_uppermost_and_then_nothing(places: tuple[Path, Path]) -> None:
    mounts, (place, _) = FakeMounts(), places
    mounts.mount("one", place, "tmpfs")
    mounts.mount("two", place, "tmpfs")
    mounts.unmount(place)
    assert [entry.source for entry in mounts.table().below(place)] == ["one"]
    mounts.unmount(place)
    mounts.unmount(place)
    assert mounts.mounted() == ()


def test_a_mount_with_another_inside_is_busy(places: tuple[Path, Path]) -> None:
    mounts, (place, _) = FakeMounts(), places
    (place / "inside").mkdir()
    mounts.mount("one", place, "tmpfs")
    mounts.mount("two", place / "inside", "tmpfs")
    with pytest.raises(HostError, match="target is busy"):
        mounts.unmount(place)


def test_a_refused_call_has_no_effect_and_a_cut_one_has(places: tuple[Path, Path]) -> None:
    mounts = FakeMounts()
    mounts.fail_at(1)
    mounts.cut_after(2, KeyboardInterrupt())
    with pytest.raises(HostError, match="refused, call 1"):
        mounts.mount("one", places[0], "tmpfs")
    with pytest.raises(KeyboardInterrupt):
        mounts.mount("two", places[1], "tmpfs")
    assert mounts.mounted() == (places[1],)
    assert len(mounts.calls) == 2


def test_a_missing_target_is_refused(tmp_path: Path) -> None:
    mounts = FakeMounts()
    with pytest.raises(HostError, match="does not exist"):
        mounts.mount("tmpfs", tmp_path / "no", "tmpfs")
    assert not mounts.is_mount_point(tmp_path / "no")


def test_sharing_binds_once(places: tuple[Path, Path]) -> None:
    mounts, (place, _) = FakeMounts(), places
    mounts.make_shared(place)
    mounts.make_shared(place)
    assert mounts.mounted() == (place,)
    assert [call.verb for call in mounts.calls] == ["make_shared", "make_shared"]
