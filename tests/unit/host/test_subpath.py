"""subPath without a right to mount: what is made, what is refused."""

import errno
import logging
import os
import re
import stat
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host import subpath
from mooring.host.subpath import SubPathMount
from tests.fakes.mounts import FakeMounts

REFUSED = 'failed to prepare subPath for volumeMount "data" of container "web"'
NOT_MADE = 'failed to create subPath directory for volumeMount "data" of container "web"'


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    (tmp_path / "pod").mkdir()
    volume = tmp_path / "volume"
    (volume / "dir" / "inner").mkdir(parents=True)
    (volume / "file").write_text("x")
    return volume


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    outside = tmp_path / "volume-of-others"  # begins with the same letters
    outside.mkdir()
    (outside / "secret").write_text("x")
    return outside


def a_mount(volume: Path, path: str, *, container: str = "web", index: int = 1) -> SubPathMount:
    return SubPathMount(
        volume_path=volume,
        sub_path=path,
        pod_dir=volume.parent / "pod",
        volume="pv",
        container=container,
        mount="data",
        index=index,
    )


def shown(mounts: FakeMounts, target: Path) -> str:
    """Which directory or file of the machine is mounted at `target`."""
    entry = mounts.table().find(target)
    assert entry is not None
    return entry.root


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_directory_is_bound_below_the_pod(volume: Path) -> None:
    mounts = FakeMounts()
    target = subpath.prepare(a_mount(volume, "dir/inner"), mounts)
    assert target == volume.parent / "pod" / "volume-subpaths" / "pv" / "web" / "1"
    assert shown(mounts, target) == str(volume / "dir" / "inner")
    assert target.is_dir()
    assert [mode(path) for path in (target, *target.parents[:3])] == [0o750] * 4


def test_a_file_is_bound_onto_a_file(volume: Path) -> None:
    mounts = FakeMounts()
    target = subpath.prepare(a_mount(volume, "file"), mounts)
    assert shown(mounts, target) == str(volume / "file")
    assert (target.is_file(), target.stat().st_size, mode(target)) == (True, 0, 0o640)


def test_the_kernel_is_given_a_descriptor_and_no_path(volume: Path) -> None:
    mounts = FakeMounts()
    subpath.prepare(a_mount(volume, "dir"), mounts)
    (call,) = mounts.calls
    assert call.source.startswith("/proc/self/fd/")


ALLOWED = {
    "the volume itself": (".", "."),
    "needless parts": ("./dir//inner/", "dir/inner"),
    "two dots in a name": ("a..b", "a..b"),
    "a link inside": ("links/relative", "dir"),
    "a way through a link inside": ("links/relative/inner", "dir/inner"),
    "an absolute link inside": ("links/absolute", "dir"),
    "a link to a link": ("links/twice", "dir"),
    "a link out and in again": ("links/around", "dir"),
    "a link to a file": ("links/file", "file"),
    "something new below a link inside": ("links/relative/new", "dir/new"),
}


@pytest.mark.parametrize(("path", "expected"), ALLOWED.values(), ids=ALLOWED)
def test_links_that_stay_inside_are_allowed(volume: Path, path: str, expected: str) -> None:
    links = volume / "links"
    links.mkdir()
    (links / "relative").symlink_to("../dir")
    (links / "absolute").symlink_to(volume / "dir")
    (links / "twice").symlink_to("relative")
    (links / "around").symlink_to("../../volume/dir")
    (links / "file").symlink_to("../file")
    mounts = FakeMounts()
    target = subpath.prepare(a_mount(volume, path), mounts)
    assert shown(mounts, target) == str((volume / expected).resolve())


def test_a_volume_path_that_is_itself_a_link_is_ours(volume: Path) -> None:
    (volume.parent / "alias").symlink_to(volume)
    mounts = FakeMounts()
    wish = a_mount(volume.parent / "alias", "dir")
    assert shown(mounts, subpath.prepare(wish, mounts)) == str(volume / "dir")


OUT = {
    "a link to the root of the machine": ("root", REFUSED),
    "a way through it": ("root/etc", REFUSED),
    "a link to a neighbour with the same beginning": ("neighbour", REFUSED),
    "a file of the neighbour": ("neighbour/secret", REFUSED),
    "a relative link out": ("up", REFUSED),
    "something new in the neighbour": ("neighbour/new", NOT_MADE),
    "something new, through a dangling link": ("dangling/new", NOT_MADE),
    "a dangling link": ("dangling", NOT_MADE),
    "links that go round": ("circle", REFUSED),
    "more links than the kernel follows": ("chain0", REFUSED),
    "a way through a file": ("file/x", REFUSED),
    "no name of a file": ("a\0b", NOT_MADE),
    "a name too long": ("a" * 300, REFUSED),
}


@pytest.mark.parametrize(("path", "text"), OUT.values(), ids=OUT)
def test_refused_with_few_words(
    volume: Path, outside: Path, path: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (volume / "root").symlink_to("/")
    (volume / "neighbour").symlink_to(outside)
    (volume / "up").symlink_to("..")
    (volume / "dangling").symlink_to(outside / "none")
    (volume / "circle").symlink_to("circle")
    for number in range(60):
        (volume / f"chain{number}").symlink_to(f"chain{number + 1}")
    (volume / "chain60").mkdir()
    mounts = FakeMounts()
    with caplog.at_level(logging.WARNING), pytest.raises(HostError) as refused:
        subpath.prepare(a_mount(volume, path), mounts)
    assert str(refused.value) == text
    assert "subPath refused" in caplog.text
    assert mounts.calls == []
    assert os.listdir(volume.parent / "pod") == []
    assert os.listdir(outside) == ["secret"]


@pytest.mark.parametrize("path", ["/dir", "../volume/dir", "dir/../file"])
def test_what_the_rules_refuse_is_told(volume: Path, path: str) -> None:
    mounts = FakeMounts()
    with pytest.raises(HostError, match="SubPath"):
        subpath.prepare(a_mount(volume, path), mounts)
    assert mounts.calls == []


def test_a_missing_directory_gets_the_mode_of_the_root(volume: Path) -> None:
    volume.chmod(0o2770)
    before = os.umask(0o077)
    try:
        subpath.prepare(a_mount(volume, "new/deep/er"), FakeMounts())
        subpath.prepare(a_mount(volume, "dir/new"), FakeMounts())
    finally:
        os.umask(before)
    made = [volume / "new", volume / "new" / "deep", volume / "new" / "deep" / "er"]
    assert [mode(path) for path in (*made, volume / "dir" / "new")] == [0o2770] * 4
    assert mode(volume / "dir") != 0o2770


def test_a_missing_volume_is_told_with_few_words(volume: Path) -> None:
    with pytest.raises(HostError, match=re.escape(NOT_MADE)):
        subpath.prepare(a_mount(volume / "none", "dir"), FakeMounts())


def test_a_refused_bind_leaves_nothing(volume: Path) -> None:
    mounts = FakeMounts()
    mounts.fail_at(1)
    with pytest.raises(HostError, match=re.escape(REFUSED)):
        subpath.prepare(a_mount(volume, "dir"), mounts)
    assert os.listdir(volume.parent / "pod") == []


def test_a_bind_that_failed_after_all_is_taken_away(volume: Path) -> None:
    mounts = FakeMounts()
    mounts.cut_after(1, HostError("nobody knows"))
    with pytest.raises(HostError, match=re.escape(REFUSED)):
        subpath.prepare(a_mount(volume, "dir"), mounts)
    assert mounts.mounted() == ()
    assert os.listdir(volume.parent / "pod") == []


def test_a_refused_bind_leaves_other_mounts_alone(volume: Path) -> None:
    mounts = FakeMounts()
    other = subpath.prepare(a_mount(volume, "dir", index=0), mounts)
    mounts.fail_at(2)
    with pytest.raises(HostError, match=re.escape(REFUSED)):
        subpath.prepare(a_mount(volume, "file"), mounts)
    assert mounts.mounted() == (other,)
    assert os.listdir(other.parent) == ["0"]


def test_another_mount_at_the_target_is_replaced(volume: Path) -> None:
    mounts = FakeMounts()
    target = subpath.prepare(a_mount(volume, "dir"), mounts)
    subpath.prepare(a_mount(volume, "file"), mounts)
    assert [call.verb for call in mounts.calls] == ["bind", "detach", "bind"]
    assert shown(mounts, target) == str(volume / "file")
    assert target.is_file()


def test_clean_takes_all_of_one_volume(volume: Path) -> None:
    mounts = FakeMounts()
    for index, path in enumerate(("dir", "file", "new")):
        subpath.prepare(a_mount(volume, path, index=index), mounts)
    subpath.prepare(a_mount(volume, "dir", container="side"), mounts)
    pod = volume.parent / "pod"
    subpath.clean(pod, "pv", mounts)
    assert mounts.mounted() == ()
    assert os.listdir(pod) == []
    subpath.clean(pod, "pv", mounts)


def test_clean_leaves_other_volumes(volume: Path) -> None:
    mounts = FakeMounts()
    subpath.prepare(a_mount(volume, "dir"), mounts)
    other = volume.parent / "pod" / "volume-subpaths" / "other"
    other.mkdir()
    subpath.clean(volume.parent / "pod", "pv", mounts)
    assert os.listdir(other.parent) == ["other"]


def test_a_busy_mount_stays_and_is_told(volume: Path) -> None:
    mounts = FakeMounts()
    target = subpath.prepare(a_mount(volume, "dir"), mounts)
    mounts.keep_busy(target)
    with pytest.raises(HostError, match="busy"):
        subpath.clean(volume.parent / "pod", "pv", mounts)
    assert target.is_dir()


def test_data_below_a_target_that_is_no_mount_is_never_removed(volume: Path) -> None:
    mounts = FakeMounts()
    target = subpath.prepare(a_mount(volume, "dir"), mounts)
    mounts.unmount(target)
    (target / "precious").write_text("x")
    with pytest.raises(HostError, match=os.strerror(errno.ENOTEMPTY).lower()):
        subpath.clean(volume.parent / "pod", "pv", mounts)
    assert (target / "precious").read_text() == "x"
