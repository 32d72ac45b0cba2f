import os
from pathlib import Path

import pytest

from mooring.apiserver.store.lock import DirectoryLock
from mooring.errors import UsageError


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
