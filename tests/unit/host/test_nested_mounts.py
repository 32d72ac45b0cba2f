"""Mount points inside a volume."""

import os
import stat
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host.nested_mounts import find_nested_mount_points, make_mount_points
from mooring.model.container import Container
from mooring.model.pod_volume import VolumeMount


def a_container(**paths: str) -> Container:
    mounts = [
        VolumeMount(name=volume, mount_path=path)
        for volume, several in paths.items()
        for path in several.split()
    ]
    return Container(name="c", volume_mounts=tuple(mounts))


FOUND = {
    "another volume below this one": ((a_container(config="/a", data="/a/b/c"),), ("b/c",)),
    "a volume beside it is none of its business": ((a_container(config="/a", data="/ab/c"),), ()),
    "nothing below": ((a_container(config="/a/b", data="/a"),), ()),
    "one below another is left to that other": (
        (a_container(config="/dir", x="/dir/nested", y="/dir/nested/other"),),
        ("nested",),
    ),
    "names that sort between do not confuse": (
        (a_container(config="/d", x="/d/n", y="/d/n-x", z="/d/n/deep"),),
        ("n", "n-x"),
    ),
    "paths are cleaned first": ((a_container(config="//a/", data="/a/./b/../c/"),), ("c",)),
    "mounted twice": ((a_container(config="/a /b", data="/a/x", more="/b/y"),), ("x", "y")),
    "every container counts, each for itself": (
        (a_container(config="/a", data="/a/x"), a_container(config="/b", data="/b/y /a/z")),
        ("x", "y"),
    ),
    "mounted elsewhere only": ((a_container(data="/a /a/b"),), ()),
}


@pytest.mark.parametrize(("containers", "expected"), FOUND.values(), ids=FOUND)
def test_nested_mount_points(containers: tuple[Container, ...], expected: tuple[str, ...]) -> None:
    assert find_nested_mount_points("config", containers) == expected


def test_a_mount_path_that_leaves_the_container_is_refused() -> None:
    with pytest.raises(HostError, match=r"^invalid container mount point \.\./x$"):
        find_nested_mount_points("config", [a_container(config="../x")])


def test_directories_are_made_0755_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        make_mount_points(tmp_path, ["b/c", "d"])
        make_mount_points(tmp_path, ["b/c", "b/e"])
    finally:
        os.umask(before)
    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode)
        for path in tmp_path.rglob("*")
    }
    assert modes == {"b": 0o755, "b/c": 0o755, "b/e": 0o755, "d": 0o755}


def test_a_directory_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b").chmod(0o700)
    make_mount_points(tmp_path, ["b/c"])
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o700


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    volume, outside = tmp_path / "volume", tmp_path / "outside"
    volume.mkdir()
    outside.mkdir()
    (volume / "b").symlink_to(outside)
    with pytest.raises(HostError, match=r"^unable to create nested volume mountpoints: b: "):
        make_mount_points(volume, ["b/c"])
    assert list(outside.iterdir()) == []
