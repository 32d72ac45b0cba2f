"""What `mooring.testing` raises.

ClusterError            the cluster cannot do what a test asked for; the text names the remedy
├── Refused             the API server refused a request; carries its code and its Status
└── NotYet              what was waited for has not come in time; shows the object and its events
"""

from errno import EDQUOT, EMFILE, ENFILE, ENOSPC
from pathlib import Path

from mooring.errors import MooringError
from mooring.model.document import Doc


class ClusterError(MooringError):
    """The cluster cannot do what a test asked for."""


class Refused(ClusterError):
    """The API server refused; `code` is that of HTTP, `status` its Status."""

    def __init__(self, code: int, status: Doc, asked: str) -> None:
        reason = str(status.get("message") or status.get("reason") or f"HTTP {code}")
        super().__init__(f"{asked}: {reason}")
        self.code = code
        self.reason = str(status.get("reason", ""))
        self.status = status


class NotYet(ClusterError, TimeoutError):
    """What was waited for has not come in time."""


NO_ROOM = frozenset({ENOSPC, EDQUOT})
NO_FILES = frozenset({EMFILE, ENFILE})


def told_start_failure(error: BaseException, place: Path) -> str:
    """Why a cluster whose files are below `place` does not start, and what helps."""
    number = error.errno if isinstance(error, OSError) else None
    if number in NO_ROOM:
        return f"there is no room in {place}: set TMPDIR to a directory that has some"
    if number in NO_FILES:
        return (
            "too many files are open: stop clusters that are not used any more (each needs about "
            "10), or raise the limit (`ulimit -n`)"
        )
    return str(error)
