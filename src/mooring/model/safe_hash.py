"""Short hashes of documents for names and labels: no vowels, so that they spell nothing."""

import msgspec

from mooring.model.document import Doc

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_OFFSET, _PRIME, _WORD = 2166136261, 16777619, 0xFFFFFFFF


def safe_hash(document: Doc, collisions: int = 0) -> str:
    """At most ten letters, the same for the same content; `collisions` makes another one of it."""
    text = msgspec.json.encode(document, order="deterministic")
    if collisions:
        text += collisions.to_bytes(8, "little")
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(_fnv1a(text)))


def _fnv1a(data: bytes) -> int:
    value = _OFFSET
    for byte in data:
        value = (value ^ byte) * _PRIME & _WORD
    return value
