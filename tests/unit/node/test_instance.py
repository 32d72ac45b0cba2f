"""Which process is a node."""

from pathlib import Path

import pytest

from mooring.errors import UsageError
from mooring.node.instance import FILE, find_instance, host_of, is_same


def test_a_root_directory_keeps_its_instance(tmp_path: Path) -> None:
    first = find_instance(tmp_path)
    assert find_instance(tmp_path) == first
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    (tmp_path / "other").mkdir()
    assert not is_same(find_instance(tmp_path / "other"), first)


def test_a_machine_that_is_called_otherwise_is_the_same() -> None:
    assert is_same("one_abc", "two_words_abc")
    assert not is_same("one_abc", "one_abd")
    assert [host_of("my_host_abc"), host_of("abc")] == ["my_host", "another machine"]


def test_a_root_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=FILE):
        find_instance(tmp_path / "missing")
