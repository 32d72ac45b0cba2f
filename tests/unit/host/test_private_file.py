"""Files for their owner alone, whole after any crash."""

import fcntl
import os
import stat
from pathlib import Path

import pytest

from mooring.host.private_file import (
    find_private,
    make_private_directory,
    sole_writer,
    write_private,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_written_file_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_private(tmp_path / "secret", b"x")
    finally:
        os.umask(before)
    assert mode(tmp_path / "secret") == 0o600
    assert find_private(tmp_path / "secret") == b"x"


def test_an_old_file_that_others_could_read_is_replaced_by_one_they_cannot(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"old")
    file.chmod(0o644)
    write_private(file, b"new")
    assert (file.read_bytes(), mode(file)) == (b"new", 0o600)


def test_reading_takes_away_what_others_may_do(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"x")
    file.chmod(0o644)
    assert find_private(file) == b"x"
    assert mode(file) == 0o600


def test_no_file_is_none(tmp_path: Path) -> None:
    assert find_private(tmp_path / "absent") is None


def test_a_directory_is_closed_to_others_even_when_it_was_there(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "b"
    directory.mkdir(parents=True)
    directory.chmod(0o755)
    make_private_directory(directory)
    assert mode(directory) == 0o700


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret"
    write_private(file, b"old")

    def fail(handle: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_private(file, b"new")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("secret", b"old")]


def test_there_is_one_writer_at_a_time(tmp_path: Path) -> None:
    other = os.open(tmp_path, os.O_RDONLY)
    try:
        with sole_writer(tmp_path), pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(other)
