"""The directory of a cluster: private, and gone when its process is."""

import os
import stat
from pathlib import Path

import pytest

from mooring.testing.errors import ClusterError
from mooring.testing.home import PREFIX, make_home


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_it_is_private_and_goes(place: Path) -> None:
    home = make_home()
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    home.remove()
    home.remove()
    assert list(place.iterdir()) == []


def test_one_that_was_left_behind_goes_with_the_next(place: Path) -> None:
    left, alive = make_home(), make_home()
    os.close(left._lock)  # as when its process was killed
    home = make_home()
    assert sorted(place.iterdir()) == sorted([alive.path, home.path])
    alive.remove()
    home.remove()


def test_what_is_not_ours_stays(place: Path) -> None:
    (place / f"{PREFIX}file").touch()
    (place / f"{PREFIX}empty").mkdir()
    (place / f"{PREFIX}link").symlink_to(place)
    home = make_home()
    home.remove()
    assert len(list(place.iterdir())) == 3


def test_without_a_directory_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/proc/nowhere")
    with pytest.raises(ClusterError, match="set TMPDIR to one that can be written to"):
        make_home()
