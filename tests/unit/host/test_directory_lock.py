import fcntl
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.errors import UsageError
from mooring.host.directory_lock import DirectoryLock


def test_the_file_names_its_owner_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("99999999999999\n")
    path.chmod(0o600)
    lock = DirectoryLock.take(path)
    assert path.read_text() == f"{os.getpid()}\n"
    assert path.stat().st_mode & 0o777 == 0o600
    lock.release()


OWNERS = {
    "an owner": ("4711\n", "(pid 4711)"),
    "an owner that has not signed yet": ("", "(pid unknown)"),
    "an owner that cannot write": ("\udcff", "(pid \ufffd)"),
}


@pytest.mark.parametrize(("content", "named"), OWNERS.values(), ids=OWNERS)
def test_a_taken_directory_is_refused_with_its_owner(
    tmp_path: Path, content: str, named: str
) -> None:
    lock = DirectoryLock.take(tmp_path / "lock")
    (tmp_path / "lock").write_text(content, errors="surrogateescape")
    with pytest.raises(UsageError) as refused:
        DirectoryLock.take(tmp_path / "lock")
    assert str(refused.value) == (
        f"{tmp_path} is in use by another mooring {named}; stop it or choose another --data-dir"
    )
    lock.release()


def test_a_released_directory_can_be_taken_again(tmp_path: Path) -> None:
    DirectoryLock.take(tmp_path / "lock").release()
    DirectoryLock.take(tmp_path / "lock").release()


PRECIOUS = "what another program keeps\n"


def _link(path: Path, precious: Path) -> None:
    path.symlink_to(precious)


def _second_name(path: Path, precious: Path) -> None:
    path.hardlink_to(precious)


def _copy(path: Path, precious: Path) -> None:
    path.write_text(precious.read_text())


def _pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


def _directory(path: Path, _: Path) -> None:
    path.mkdir()


def _socket(path: Path, _: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.getcwd()
        os.chdir(path.parent)  # its path may be longer than an address
        try:
            bound.bind(path.name)
        finally:
            os.chdir(here)


PLANTED = {
    "a link to a file": (_link, "no plain file"),
    "another name of a file": (_second_name, "a file with further names"),
    "a file that says something else": (_copy, "a file with other content"),
    "a pipe that nobody reads": (_pipe, "no plain file"),
    "a directory": (_directory, "no plain file"),
    "a socket": (_socket, "no plain file"),
}


@pytest.mark.parametrize(("plant", "told"), PLANTED.values(), ids=PLANTED)
def test_what_is_no_lock_of_ours_is_refused_and_stays_as_it_is(
    tmp_path: Path, plant: Callable[[Path, Path], None], told: str
) -> None:
    precious, path = tmp_path / "precious", tmp_path / "lock"
    precious.write_text(PRECIOUS)
    plant(path, precious)
    with pytest.raises(UsageError) as refused:
        DirectoryLock.take(path)
    assert str(refused.value) == f"{path} is not a lock of mooring but {told}: remove it"
    assert precious.read_text() == PRECIOUS
    assert not path.is_file() or path.read_text() == PRECIOUS


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("4711\n")
    os.chown(path, 12345, -1)
    with pytest.raises(UsageError, match="a file of the user 12345: remove it"):
        DirectoryLock.take(path)
    assert path.read_text() == "4711\n"


def test_a_link_to_nowhere_makes_no_file_there(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="no plain file"):
        DirectoryLock.take(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_that_its_owner_removed_meanwhile_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two processes would have the directory: the next one finds no lock, and makes one."""
    path = tmp_path / "lock"
    real = fcntl.flock

    def flock(descriptor: int, how: int) -> None:
        path.unlink()
        real(descriptor, how)

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", flock)
        with pytest.raises(UsageError, match="is being removed"):
            DirectoryLock.take(path)
    DirectoryLock.take(path).release()
