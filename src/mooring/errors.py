"""Everything Mooring raises on purpose; anything else that escapes is a bug.

MooringError
├── UsageError            a command cannot run as asked; one line that names the remedy
├── ApiError              the API server refused; carries what its Status says
│   ├── BadRequest        400  the request itself cannot be understood
│   ├── Unauthorized      401  no valid credentials
│   ├── Forbidden         403  the user is known, and not allowed
│   ├── NotFound          404  after a deletion this is success
│   ├── MethodNotAllowed  405
│   ├── NotAcceptable     406
│   ├── Conflict          409  another client wrote first: read again, decide again
│   ├── AlreadyExists     409
│   ├── Expired           410  the watch or page fell behind: list again
│   ├── TooLarge          413
│   ├── UnsupportedMedia  415
│   ├── Invalid           422  retrying cannot help: report it to the user
│   ├── TooManyRequests   429
│   ├── ServerError       500  a failure without a reason, as upstream answers some requests
│   │   └── InternalError      a bug, or the database refused
│   ├── Unavailable       503  the server, or the kubelet behind it, cannot answer for now
│   └── ServerTimeout     504  try again after `retry_after` seconds
├── ConnectionLost        the API server cannot be reached, or the stream broke: try again
│   └── Unreached         there was no connection; says what a user may do
├── Unreadable            the object exists, but cannot be decoded as its kind: not absent
├── StoreError            the database refused
│   ├── Compacted         that revision is gone
│   ├── FutureRevision    that revision has not happened yet
│   ├── DiskFull          there is no room for a write; reads go on
│   ├── Removed           its files were deleted while it was in use
│   ├── Damaged           the database cannot be trusted; nothing was changed
│   └── EtcdError    500  etcd refused or does not answer, in its own words; a ServerError too
└── HostError             the operating system refused, and no call is still running
    ├── StillRunning      a call was given up and may still take effect: the outcome is uncertain
    ├── KernelRefused     a system call was refused; carries the errno
    ├── CommandFailed     a program failed; carries argv, exit code and output, without secrets
    │   └── TimedOut      it was stopped for taking too long
    ├── WrongFilesystem   the device holds other data than the requested file system; left alone
    └── Unformatted       the device is empty, and mounted read-only, so it cannot be formatted
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar


class MooringError(Exception):
    """The base class of every error that Mooring raises on purpose."""

    @property
    def on_terminal(self) -> str:
        """The text for whoever typed the command."""
        return str(self)


class UsageError(MooringError):
    """A command cannot run as asked; the text is one line and names the remedy."""


MOST_TOLD = 128 * 1024  # characters of one text in a Status: many repeat what the client has sent


def _beginning(told: Any) -> Any:
    """`told` with every text in it cut to `MOST_TOLD`."""
    if isinstance(told, str):
        return told if len(told) <= MOST_TOLD else f"{told[:MOST_TOLD]}..."
    if isinstance(told, Mapping):
        return {key: _beginning(value) for key, value in told.items()}
    if isinstance(told, list):
        return [_beginning(value) for value in told]
    return told


class ApiError(MooringError):
    """A refusal by the API server, in the words of a Kubernetes `Status`."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        causes: Sequence[Mapping[str, str]] = (),
        retry_after: int = 0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})
        self._tells_details = details is not None  # empty details are sent too
        self.metadata: dict[str, Any] = {}  # of the `Status`, as that of a list
        self.warnings: tuple[str, ...] = ()  # sent to the client as Warning headers
        if causes:
            self.details["causes"] = list(causes)
        self.retry_after = retry_after
        if retry_after:
            self.details["retryAfterSeconds"] = retry_after

    def status(self) -> dict[str, Any]:
        """The `Status` document that the client gets for this refusal."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": _beginning(self.message),
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details or self._tells_details:
            status["details"] = _beginning(self.details)
        status["code"] = self.code
        return status


class BadRequest(ApiError):
    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    code, reason = 401, "Unauthorized"


class Forbidden(ApiError):
    code, reason = 403, "Forbidden"


class NotFound(ApiError):
    code, reason = 404, "NotFound"


class MethodNotAllowed(ApiError):
    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(ApiError):
    code, reason = 406, "NotAcceptable"


class Conflict(ApiError):
    code, reason = 409, "Conflict"


class AlreadyExists(ApiError):
    code, reason = 409, "AlreadyExists"


class Expired(ApiError):
    code, reason = 410, "Expired"


class TooLarge(ApiError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMedia(ApiError):
    code, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    code, reason = 422, "Invalid"


class TooManyRequests(ApiError):
    code, reason = 429, "TooManyRequests"


class ServerError(ApiError):
    code = 500  # without a reason: upstream gives none to an error it did not foresee


class InternalError(ServerError):
    reason = "InternalError"


class Unavailable(ApiError):
    code, reason = 503, "ServiceUnavailable"


class ServerTimeout(ApiError):
    code, reason = 504, "Timeout"


class ConnectionLost(MooringError):
    """The API server cannot be reached, or a stream broke. The request may have taken effect."""


class Unreached(ConnectionLost):
    """There was no connection. The remedy is for a user; what runs for long tries again."""

    def __init__(self, text: str, remedy: str) -> None:
        super().__init__(text)
        self.remedy = remedy

    @property
    def on_terminal(self) -> str:
        return f"{self}; {self.remedy}" if self.remedy else str(self)


class Unreadable(MooringError):
    """The API server has the object, but it cannot be decoded as its kind.

    The caller must not treat the object as absent.
    """


class StoreError(MooringError):
    """The database refused."""


class Compacted(StoreError):
    """The requested revision is older than the oldest one that is kept."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")
        self.asked = asked
        self.oldest = oldest


class FutureRevision(StoreError):
    """The requested revision does not exist yet."""

    def __init__(self, asked: int, current: int) -> None:
        super().__init__(f"Too large resource version: {asked}, current: {current}")
        self.asked = asked
        self.current = current


class DiskFull(StoreError):
    """There is no room for a write; nothing was changed, and reads go on."""

    def __init__(self) -> None:
        super().__init__(
            "no space is left on the disk of the data directory: free some there; reads go on, "
            "and writes as soon as there is room"
        )


class Removed(StoreError):
    """The files of the database were deleted; objects in memory can be read until the process ends.

    The text is the same for every write.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"the data directory {directory} was removed while mooring runs: nothing can be "
            "written. Stop it, and start it anew"
        )


class Damaged(StoreError):
    """The database cannot be trusted; it was left as it is."""


class EtcdError(StoreError, ServerError):
    """etcd refused, or did not answer: then a write may have happened. Clients see the text."""


class HostError(MooringError):
    """The operating system refused, and no call is still running (except for `StillRunning`)."""


class StillRunning(HostError):
    """A call to the operating system has not returned in time, and was given up.

    It may have taken effect, or do so later: the outcome is uncertain. The text is the same at
    every repetition, so that events about it are counted as one.
    """


class KernelRefused(HostError):
    """A system call was refused; `errno` says why for code, the text for people."""

    def __init__(self, message: str, errno: int) -> None:
        super().__init__(message)
        self.errno = errno


class CommandFailed(HostError):
    """A program failed. `argv` and `output` are free of secrets."""

    def __init__(self, message: str, *, argv: Sequence[str], code: int, output: str) -> None:
        super().__init__(message)
        self.argv = tuple(argv)
        self.code = code
        self.output = output


class TimedOut(CommandFailed):
    """A program exceeded its time limit, and was killed."""


class WrongFilesystem(HostError):
    """The device holds other data than the requested file system; it was left alone."""


class Unformatted(HostError):
    """The device is empty, and the mount is read-only, so it cannot be formatted."""
