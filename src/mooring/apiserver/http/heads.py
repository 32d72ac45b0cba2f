"""Heads of messages: what a client's says, and how ours are written."""

from functools import lru_cache
from http import HTTPStatus

_REASONS = {status.value: status.phrase for status in HTTPStatus}


def to_headers(sent_names: list[bytes], sent_values: list[bytes]) -> dict[str, str]:
    names = list(map(_header_name, sent_names))
    values = [value.decode("latin-1") for value in sent_values]
    headers = dict(zip(names, values))  # noqa: B905  as many names as values: sent in pairs
    if len(headers) == len(names):
        return headers
    lines: dict[str, list[str]] = {}
    for name, value in zip(names, values, strict=True):
        lines.setdefault(name, []).append(value)
    return {name: "\n".join(several) for name, several in lines.items()}


@lru_cache(maxsize=64)
def _header_name(sent: bytes) -> str:
    return sent.decode("latin-1").lower()


@lru_cache(maxsize=256)
def head_of(  # kept for a second, until the date changes: most answers begin alike
    status: int,
    content_type: str,
    headers: tuple[tuple[str, str], ...],
    date: str,
    keep_alive: bool,  # noqa: FBT001  lru_cache keys positional arguments faster
) -> bytes:
    reason = _REASONS.get(status, "Unknown")
    lines = [f"HTTP/1.1 {status} {reason}\r\nDate: {date}\r\n"]
    if content_type:
        lines.append(f"Content-Type: {content_type}\r\n")
    if not any(name == "Cache-Control" for name, _ in headers):
        lines.append("Cache-Control: no-cache, private\r\n")
    lines.extend(f"{name}: {_one_line(value)}\r\n" for name, value in headers)
    if not keep_alive:
        lines.append("Connection: close\r\n")
    return "".join(lines).encode("latin-1")


def _one_line(value: str) -> str:
    """A header value cannot end its header."""
    return (
        value.replace("\r", " ").replace("\n", " ").encode("latin-1", "replace").decode("latin-1")
    )
