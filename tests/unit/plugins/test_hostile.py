"""Values that could become options of a program, or leave their directory."""

import pytest

from mooring.plugins.contract import VolumeError
from mooring.plugins.hostile import check_element, check_word


@pytest.mark.parametrize("value", ["a", "a;b", "$(x)", "a b", "../x"])
def test_what_is_one_word_is_data(value: str) -> None:
    check_word("field", value)


@pytest.mark.parametrize("value", ["", "-x", "a\nb", "a\0b", "\x1b[2J"])
def test_what_is_none_is_refused(value: str) -> None:
    with pytest.raises(VolumeError, match=r"^field "):
        check_word("field", value)


@pytest.mark.parametrize("value", [".", "..", "a/b", "/"])
def test_what_is_no_name_in_a_directory_is_refused(value: str) -> None:
    with pytest.raises(VolumeError, match="another directory"):
        check_element("field", value)
