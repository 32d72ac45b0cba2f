"""Keys of ConfigMaps and Secrets: they become file names, so they may not climb out."""

import re
from collections.abc import Iterable

MOST_DATA_BYTES = 1024 * 1024
FROZEN = "field is immutable when `immutable` is set"

_FORMAT = "[-._a-zA-Z0-9]+"
_is_key = re.compile(_FORMAT).fullmatch
_MOST_CHARACTERS = 253
_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',"
    f"  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_FORMAT}')"
)


def data_key(key: str) -> Iterable[str]:
    """What is wrong with a key; nothing when all is well."""
    if len(key) <= _MOST_CHARACTERS and _is_key(key) and not key.startswith(".."):
        return () if key != "." else ("must not be '.'",)
    problems: list[str] = []
    if len(key.encode()) > _MOST_CHARACTERS:
        problems.append(f"must be no more than {_MOST_CHARACTERS} characters")
    if not _is_key(key):
        problems.append(_TEXT)
    if key == "..":
        problems.append("must not be '..'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def decoded_size(base64_text: str) -> int:
    """How many bytes stand behind a text in base64."""
    return len(base64_text) * 3 // 4 - base64_text.count("=", -2)
