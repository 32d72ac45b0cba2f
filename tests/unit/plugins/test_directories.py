"""Directories of volumes, and their ready files."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.plugins.directories import is_ready, make_directories, mark_ready, remove_marks
from tests.unit.plugins.world import picture_of


@pytest.fixture(autouse=True)
def umask_022() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_all_that_is_missing_is_made_with_the_same_mode(tmp_path: Path) -> None:
    for _ in range(2):
        make_directories(tmp_path / "a" / "b", 0o750)
        assert picture_of(tmp_path) == [("a", "drwxr-x---", ""), ("a/b", "drwxr-x---", "")]


def test_what_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(0o700)
    make_directories(tmp_path / "a" / "b", 0o755)
    assert picture_of(tmp_path) == [("a", "drwx------", ""), ("a/b", "drwxr-xr-x", "")]


@pytest.mark.parametrize("name", ["file", "file/below", "nowhere"])
def test_something_in_the_way_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "nowhere").symlink_to("missing")
    with pytest.raises(HostError, match=f"^mkdir {tmp_path}/{name}: "):
        make_directories(tmp_path / name)


def test_a_volume_is_ready_from_mark_to_removal(tmp_path: Path) -> None:
    marks = tmp_path / "plugins" / "it"
    assert not is_ready(marks)
    for _ in range(2):
        mark_ready(marks)
        assert is_ready(marks)
    for _ in range(2):
        remove_marks(marks)
        assert not is_ready(marks)
    assert not marks.exists()


def test_a_directory_called_ready_is_no_mark(tmp_path: Path) -> None:
    (tmp_path / "ready").mkdir()
    assert not is_ready(tmp_path)


def test_marks_that_cannot_be_removed_are_told_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "marks").touch()
    with pytest.raises(HostError) as refused:
        remove_marks(tmp_path / "marks")
    assert str(refused.value).startswith(f"failed to remove ready dir [{tmp_path}/marks]: ")
