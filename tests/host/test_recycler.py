"""What the recycler's pod runs, on real directories; only the place is another one."""

import subprocess
from pathlib import Path

import pytest

from mooring.controllers.binding.effects.recycler_template import SCRUB
from mooring.host.mount import Mounts


@pytest.fixture
def volume(place: Path) -> Path:
    path = place / "scrub"
    (path / "deep" / "mounted").mkdir(parents=True)
    (path / ".hidden").touch()
    (path / "deep" / "file").touch()
    return path


def scrub(volume: Path) -> int:
    script = SCRUB.replace("/scrub", str(volume))
    return subprocess.run(["/bin/sh", "-c", script], check=False).returncode  # noqa: S603  our own words


def test_a_volume_is_emptied(volume: Path) -> None:
    assert scrub(volume) == 0
    assert list(volume.iterdir()) == []
    assert scrub(volume) == 0


@pytest.mark.parametrize("kind", ["tmpfs", "bind"])
def test_a_volume_with_a_mount_inside_is_left_as_it_is(
    volume: Path, place: Path, mounts: Mounts, kind: str
) -> None:
    precious = place / "precious"
    precious.mkdir()
    mounted = volume / "deep" / "mounted"
    if kind == "tmpfs":
        mounts.mount("tmpfs", mounted, "tmpfs")
    else:
        mounts.bind(precious, mounted)
    (mounted / "data").touch()
    assert scrub(volume) == 1
    assert (mounted / "data").exists()
    assert (volume / "deep" / "file").exists()


def test_a_missing_volume_is_a_failure(place: Path) -> None:
    assert scrub(place / "none") == 1
