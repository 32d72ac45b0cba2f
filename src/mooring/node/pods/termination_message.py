"""The termination message of a container: a file that it wrote, or the last lines of its log."""

from contextlib import suppress
from pathlib import Path

from mooring.model.container import Container
from mooring.oci.contract import Found

MOST_BYTES = 4096
MOST_LOG_BYTES = 2048
MOST_LOG_LINES = 80
_READ_OF_LOG = 256 * 1024  # enough for so many lines of a usual length
_FALL_BACK = "FallbackToLogsOnError"


def read_termination_message(found: Found, container: Container, path: Path) -> str:
    """The termination message of a container that has ended, empty if unreadable; blocks."""
    data = b""
    if container.termination_message_path:
        data = _tail(path, MOST_BYTES)
    if not data and container.termination_message_policy == _FALL_BACK and found.exit_code != 0:
        data = last_lines(_tail(found.log_path, _READ_OF_LOG))
    return data.decode(errors="replace")


def last_lines(log: bytes) -> bytes:
    """What the last lines of a log in the format of the CRI say."""
    said = []
    lines = log.split(b"\n")
    for line in lines[-MOST_LOG_LINES - 1 :]:
        time, _, rest = line.partition(b" ")
        _, has_tag, rest = rest.partition(b" ")
        tag, has_text, text = rest.partition(b" ")
        if time and has_tag and has_text:
            said.append(text if tag == b"P" else text + b"\n")
    return b"".join(said)[-MOST_LOG_BYTES:]


def _tail(path: Path, most: int) -> bytes:
    with suppress(OSError), path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - most))
        return file.read(most)
    return b""
