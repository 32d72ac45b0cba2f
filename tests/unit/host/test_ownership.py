"""fsGroup: what is decided without root."""

import os
import stat
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host import ownership, ownership_walk
from mooring.host.ownership import Applied, ChangePolicy, FsGroup, is_root_right

GID = 2000


def a_root(mode: int, gid: int = GID) -> os.stat_result:
    return os.stat_result((mode, 1, 1, 2, 0, gid, 0, 0, 0, 0))


DIR, FILE = stat.S_IFDIR, stat.S_IFREG
ROOTS = {
    "right": (a_root(DIR | 0o2770), FsGroup(GID), True),
    "more than needed is right": (a_root(DIR | 0o3777), FsGroup(GID), True),
    "another group": (a_root(DIR | 0o2770, gid=1), FsGroup(GID), False),
    "no setgid": (a_root(DIR | 0o770), FsGroup(GID), False),
    "the group may not write": (a_root(DIR | 0o2750), FsGroup(GID), False),
    "the owner may not write": (a_root(DIR | 0o2570), FsGroup(GID), False),
    "the group may not enter": (a_root(DIR | 0o2760), FsGroup(GID), False),
    "no directory": (a_root(FILE | 0o2770), FsGroup(GID), False),
    "read-only needs no write": (a_root(DIR | 0o2550), FsGroup(GID, read_only=True), True),
    "read-only needs read": (a_root(DIR | 0o2510), FsGroup(GID, read_only=True), False),
    "read-only needs setgid": (a_root(DIR | 0o550), FsGroup(GID, read_only=True), False),
}


@pytest.mark.parametrize(("root", "group", "right"), ROOTS.values(), ids=ROOTS)
def test_is_root_right(root: os.stat_result, group: FsGroup, right: bool) -> None:  # noqa: FBT001  a column
    assert is_root_right(root, group) is right


def modes(directory: Path) -> dict[str, int]:
    return {
        str(path.relative_to(directory)): stat.S_IMODE(path.lstat().st_mode)
        for path in (directory, *directory.rglob("*"))
    }


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    volume = tmp_path / "volume"
    (volume / "d").mkdir(parents=True)
    (volume / "d" / "file").write_text("")
    (volume / "script").write_text("")
    for name, mode in {".": 0o755, "d": 0o700, "d/file": 0o600, "script": 0o711}.items():
        (volume / name).chmod(mode)
    return volume


BITS = {
    "a group that writes": (
        FsGroup(os.getgid()),
        {".": 0o2775, "d": 0o2770, "d/file": 0o660, "script": 0o771},
    ),
    "a group that reads": (
        FsGroup(os.getgid(), read_only=True),
        {".": 0o2755, "d": 0o2750, "d/file": 0o640, "script": 0o751},
    ),
}


@pytest.mark.parametrize(("group", "expected"), BITS.values(), ids=BITS)
def test_bits_are_added_and_none_taken(
    volume: Path, group: FsGroup, expected: dict[str, int]
) -> None:
    assert ownership.apply(volume, group) == Applied(4)
    assert modes(volume) == expected
    assert ownership.apply(volume, group) == Applied(4)
    assert modes(volume) == expected


def test_links_are_not_followed_and_their_mode_is_left(volume: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("")
    outside.chmod(0o600)
    (volume / "out").symlink_to(outside)
    (volume / "dangling").symlink_to("nowhere")
    assert ownership.apply(volume, FsGroup(os.getgid())) == Applied(6)
    assert stat.S_IMODE(outside.stat().st_mode) == 0o600


def test_a_right_root_spares_the_walk(volume: Path) -> None:
    group = FsGroup(os.getgid(), policy=ChangePolicy.ON_ROOT_MISMATCH)
    assert ownership.apply(volume, group) == Applied(4)
    (volume / "script").chmod(0o600)
    assert ownership.apply(volume, group) == Applied(0)
    assert modes(volume)["script"] == 0o600


def test_a_root_without_setgid_has_all_walked(volume: Path) -> None:
    group = FsGroup(os.getgid(), policy=ChangePolicy.ON_ROOT_MISMATCH)
    ownership.apply(volume, group)
    (volume / "script").chmod(0o600)
    volume.chmod(0o770)
    assert ownership.apply(volume, group) == Applied(4)
    assert modes(volume)["script"] == 0o660


def test_a_root_that_is_a_file_is_changed_too(volume: Path) -> None:
    assert ownership.apply(volume / "d" / "file", FsGroup(os.getgid())) == Applied(1)
    assert stat.S_IMODE((volume / "d" / "file").stat().st_mode) == 0o660


@pytest.mark.parametrize("policy", ChangePolicy)
def test_a_missing_volume_is_an_error(tmp_path: Path, policy: ChangePolicy) -> None:
    with pytest.raises(HostError, match=r"^setting volume ownership for .*no such file"):
        ownership.apply(tmp_path / "none", FsGroup(os.getgid(), policy=policy))


def test_progress_is_told_while_walking(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership_walk, "REPORT_EVERY", 10)
    for number in range(25):
        (volume / f"f{number}").touch()
    told: list[int] = []
    assert ownership.apply(volume, FsGroup(os.getgid()), told.append) == Applied(29)
    assert told == [10, 20]


def test_events_about_a_slow_walk_begin_at_the_uid_of_the_pod() -> None:
    volume = Path("/var/lib/kubelet/pods/uid-1/volumes/kubernetes.io~csi/pvc/mount")
    assert ownership.slow_text(volume, "uid-1") == (
        "Setting volume ownership for uid-1/volumes/kubernetes.io~csi/pvc/mount is taking longer "
        "than expected, consider using OnRootMismatch - https://kubernetes.io/docs/tasks/"
        "configure-pod-container/security-context/"
        "#configure-volume-permission-and-ownership-change-policy-for-pods"
    )
    assert ownership.progress_text(volume, "uid-1", 7) == (
        "Setting volume ownership for uid-1/volumes/kubernetes.io~csi/pvc/mount, processed 7 files."
    )
    assert ownership.progress_text(Path("/data"), "uid-1", 7).startswith(
        "Setting volume ownership for /data,"
    )
