"""A short name for a template: the same for equal ones, another for others (nearly always)."""

import json
from collections.abc import Mapping
from typing import Any, Final

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: no words, and no 0, 1, 3
_FNV_OFFSET, _FNV_PRIME, _MASK = 0x811C9DC5, 0x01000193, 0xFFFFFFFF


def template_hash(document: Mapping[str, Any], collisions: int = 0) -> str:
    """FNV-1a of the canonical JSON, in at most ten letters that names and labels may hold.

    `collisions` says how often the name was taken: each time it becomes another.
    """
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    hashed = _FNV_OFFSET
    for byte in text.encode() + (str(collisions).encode() if collisions else b""):
        hashed = ((hashed ^ byte) * _FNV_PRIME) & _MASK
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(hashed))
