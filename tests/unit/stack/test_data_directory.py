"""Which directories may become a data directory."""

from pathlib import Path

import pytest

from mooring.errors import UsageError
from mooring.stack.data_directory import OURS, check_data_dir, check_objects_are_here
from mooring.stack.etcd_prefix import remember_prefix


def a_directory(tmp_path: Path, mode: int, *names: str) -> Path:
    directory = tmp_path / "there"
    directory.mkdir()
    for name in names:
        (directory / name).touch()
    directory.chmod(mode)
    return directory


def test_a_missing_one_is_made(tmp_path: Path) -> None:
    check_data_dir(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o1777], ids=oct)
def test_an_empty_one_is_taken(tmp_path: Path, mode: int) -> None:
    check_data_dir(a_directory(tmp_path, mode))


@pytest.mark.parametrize("name", OURS)
def test_one_with_something_of_ours_is_taken_again(tmp_path: Path, name: str) -> None:
    check_data_dir(a_directory(tmp_path, 0o755, "notes.txt", name))


def test_one_that_is_private_already_takes_nothing_from_anybody(tmp_path: Path) -> None:
    check_data_dir(a_directory(tmp_path, 0o700, "notes.txt"))


@pytest.mark.parametrize("mode", [0o755, 0o1777, 0o710], ids=oct)
def test_one_that_others_use_is_refused(tmp_path: Path, mode: int) -> None:
    there = a_directory(tmp_path, mode, "notes.txt")
    with pytest.raises(UsageError, match="holds other things"):
        check_data_dir(there)
    assert there.stat().st_mode & 0o7777 == mode


def test_the_current_directory_under_an_empty_name_is_one_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(a_directory(tmp_path, 0o755, "notes.txt"))
    with pytest.raises(UsageError, match=str(tmp_path)):
        check_data_dir(Path())  # what `--data-dir "$UNSET"` means


@pytest.mark.parametrize("name", ["mooring.db.migrated", "etcd-revision"])
def test_where_the_objects_are_in_etcd_no_empty_database_is_begun(
    tmp_path: Path, name: str
) -> None:
    directory = a_directory(tmp_path, 0o700, "tokens.json", name)
    with pytest.raises(UsageError, match=r"are in etcd: run `mooring apiserver --etcd-servers"):
        check_objects_are_here(directory)
    (directory / "mooring.db").touch()  # brought back
    check_objects_are_here(directory)


def test_it_says_under_which_prefix_they_are(tmp_path: Path) -> None:
    directory = a_directory(tmp_path, 0o700, "etcd-revision")
    remember_prefix(directory, "/ships")
    with pytest.raises(UsageError, match=r"apiserver --etcd-servers \.\.\. --etcd-prefix /ships`"):
        check_objects_are_here(directory)


def test_a_new_directory_begins_a_database(tmp_path: Path) -> None:
    check_objects_are_here(tmp_path / "missing")
    check_objects_are_here(a_directory(tmp_path, 0o700, "tokens.json"))
