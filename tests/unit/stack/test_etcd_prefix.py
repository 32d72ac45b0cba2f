"""The prefix that the objects of a data directory have in etcd."""

from pathlib import Path

import pytest

from mooring.errors import UsageError
from mooring.stack.etcd_prefix import check_prefix, find_prefix, forget_prefix, remember_prefix


def test_a_directory_that_was_never_in_etcd_takes_any(tmp_path: Path) -> None:
    check_prefix(tmp_path, "/any")
    assert find_prefix(tmp_path) is None


def test_what_is_remembered_is_taken_however_it_is_written(tmp_path: Path) -> None:
    remember_prefix(tmp_path, "/ships")
    for same in ("/ships", "/ships/", "ships"):
        check_prefix(tmp_path, same)


def test_another_one_is_refused_with_the_remedy(tmp_path: Path) -> None:
    remember_prefix(tmp_path, "/ships")
    with pytest.raises(UsageError, match="give --etcd-prefix /ships, or another --data-dir"):
        check_prefix(tmp_path, "/registry")


def test_what_is_back_is_forgotten(tmp_path: Path) -> None:
    remember_prefix(tmp_path, "/ships")
    forget_prefix(tmp_path)
    check_prefix(tmp_path, "/registry")
