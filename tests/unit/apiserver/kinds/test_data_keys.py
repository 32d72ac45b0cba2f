from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.kinds.data_keys import data_key, decoded_size

BAD = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',"
    "  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
KEYS = {
    "letters, digits, dots, dashes and underscores": ("My_key-1.txt", []),
    "a leading dot": (".hidden", []),
    "253 characters": ("k" * 253, []),
    "254 characters are too many": ("k" * 254, ["must be no more than 253 characters"]),
    "a slash": ("a/b", [BAD]),
    "nothing": ("", [BAD]),
    "the directory": (".", ["must not be '.'"]),
    "the directory above": ("..", ["must not be '..'"]),
    "a name kept for swapping files": ("..data", ["must not start with '..'"]),
    "several things at once": (
        "../" + "k" * 253,
        ["must be no more than 253 characters", BAD, "must not start with '..'"],
    ),
}


@pytest.mark.parametrize(("key", "problems"), KEYS.values(), ids=KEYS)
def test_keys(key: str, problems: list[str]) -> None:
    assert list(data_key(key)) == problems


@given(st.binary(max_size=50))
def test_the_size_behind_base64_is_known_without_decoding(value: bytes) -> None:
    assert decoded_size(b64encode(value).decode()) == len(value)
