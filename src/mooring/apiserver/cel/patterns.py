"""Patterns of `matches` and its kin: RE2, which never takes longer than the text is long."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import re2

from mooring.apiserver.cel.errors import CelError

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Any:
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        text = error.args[0] if error.args else ""
        text = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        raise CelError(f"error parsing regexp: {text}") from None


def contains_match(pattern: str, text: str) -> bool:
    return compile_pattern(pattern).search(text) is not None


def first_match(pattern: str, text: str) -> str:
    found = compile_pattern(pattern).search(text)
    return "" if found is None else str(found.group())


def matches(pattern: str, text: str) -> Iterator[str]:
    for found in compile_pattern(pattern).finditer(text):
        yield str(found.group())
