"""How many values there are in a JSON body, counted before it is decoded.

What a document costs grows with its values, not with its bytes: three megabytes of `{}` are a
million objects, each of which would be given defaults, owners and complaints.
"""

import re

from mooring.apiserver.limits.budgets import MOST_VALUES
from mooring.errors import TooLarge

# A string that does not end takes the rest, so that no part of it is looked at twice.
_strings = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL).finditer
_deep = re.compile(rb'(?:\s*+[\[{]\s*+(?:"[^"\\]*+"\s*+:)?+){1001}').search
_BEGINNING = 65_536  # bytes in which depth is looked for; deeper down the decoder finds it


def fits(body: bytes, most: int = MOST_VALUES) -> bool:
    """Whether JSON has no more values than a document may hold: commas and opening brackets."""
    if len(body) <= most or _count(body, 0, len(body)) <= most:
        return True  # quickly known, for nearly every body
    count = behind = 0
    for string in _strings(body):
        count += _count(body, behind, string.start())
        if count > most:
            return False
        behind = string.end()
    return count + _count(body, behind, len(body)) <= most


def is_dense(body: bytes, most: int) -> bool:
    """Whether it may have more values than that: quickly known, texts not told from the rest."""
    return len(body) > most and _count(body, 0, len(body)) > most


def check_values(body: bytes, most: int = MOST_VALUES) -> None:
    """Refuse JSON that does not fit. Raises: TooLarge; ValueError when depth is what is wrong."""
    if not fits(body, most):
        if _deep(body, 0, _BEGINNING):
            raise ValueError("exceeded max depth")
        raise too_many_values(most)


def too_many_values(most: int = MOST_VALUES) -> TooLarge:
    return TooLarge(
        f"Request entity too large: a document may hold at most {most} values "
        "(objects, lists and what is in them)"
    )


def _count(body: bytes, start: int, end: int) -> int:
    count = body.count
    return count(b",", start, end) + count(b"{", start, end) + count(b"[", start, end)
