"""PEM: binary blocks in a text, read as Kubernetes reads them.

Text around the blocks is skipped, and so is a broken block: its END does not match its BEGIN, its
body is not base64, or another BEGIN comes before its END.
"""

import base64
from collections.abc import Iterator

import msgspec

_BEGIN, _END, _DASHES = "-----BEGIN ", "-----END ", "-----"
_NO_BLANKS = str.maketrans("", "", " \t")


class Block(msgspec.Struct, frozen=True):
    label: str  # `CERTIFICATE`
    data: bytes
    has_headers: bool = False


def blocks(text: str) -> Iterator[Block]:
    """All blocks in order, in one pass, since the text may hold any number of BEGIN lines."""
    label = ""
    body: list[str] | None = None
    for ended in text.split("\n"):
        line = ended.removesuffix("\r").rstrip(" \t")
        if line.startswith(_BEGIN):
            label = line.removeprefix(_BEGIN).removesuffix(_DASHES)
            body = [] if line.endswith(_DASHES) else None
        elif line.startswith(_END):
            if body is not None and line == f"{_END}{label}{_DASHES}":
                yield from _block(label, body)
            body = None
        elif body is not None:
            body.append(line)


def _block(label: str, body: list[str]) -> Iterator[Block]:
    headers = next((count for count, line in enumerate(body) if ":" not in line), len(body))
    try:
        text = "".join(body[headers:]).translate(_NO_BLANKS)
        yield Block(label, base64.b64decode(text, validate=True), has_headers=headers > 0)
    except ValueError:
        return
