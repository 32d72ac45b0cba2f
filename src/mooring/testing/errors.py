"""What `mooring.testing` raises.

ClusterError            the cluster cannot do what a test asked for; the text names the remedy
├── Refused             the API server refused a request; carries its code and its Status
└── NotYet              what was waited for has not come in time; shows the object and its events
"""

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
