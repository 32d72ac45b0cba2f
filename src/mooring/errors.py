"""Everything Mooring raises on purpose; anything else that escapes is a bug.

MooringError
├── UsageError            a command cannot run as asked; one line that names the remedy
├── ApiError              the API server refused; carries what its Status says
│   ├── BadRequest        400  the request itself cannot be understood
│   ├── Unauthorized      401  who are you?
│   ├── Forbidden         403  known, but not allowed
│   ├── NotFound          404  already gone, often the wished end
│   ├── MethodNotAllowed  405
│   ├── NotAcceptable     406
│   ├── Conflict          409  someone wrote first: read again, decide again
│   ├── AlreadyExists     409
│   ├── Expired           410  the watch or page fell behind: list again
│   ├── TooLarge          413
│   ├── UnsupportedMedia  415
│   ├── Invalid           422  retrying cannot help: tell the user
│   ├── TooManyRequests   429
│   ├── ServerError       500  the request makes no sense to the server
│   │   └── InternalError      a bug, or the database refused
│   ├── Unavailable       503  what would have to answer cannot, for now
│   └── ServerTimeout     504  try again after `retry_after` seconds
├── ConnectionLost        the API server cannot be reached, or the stream broke: try again
├── Unreadable            the API server has an object that its kind does not allow: not absent
├── StoreError            the database refused
│   ├── Compacted         that revision is gone
│   ├── FutureRevision    that revision has not happened yet
│   ├── DiskFull          there is no room for a write; reads go on
│   ├── Removed           its files were taken away while it was in use
│   └── Damaged           the database cannot be trusted; nothing was changed
└── HostError             the operating system refused, and nothing goes on behind the caller's back
    ├── KernelRefused     a system call was refused; carries the errno
    ├── CommandFailed     a program ended badly; carries argv, exit code and output, no secrets
    │   └── TimedOut      it was stopped for taking too long
    ├── WrongFilesystem   the device holds other data than what was asked for; it was left alone
    └── Unformatted       the device is empty, and may not be written to
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar


class MooringError(Exception):
    """The root of all that Mooring raises on purpose."""


class UsageError(MooringError):
    """A command cannot run as asked; the text is one line and names the remedy."""


MOST_TOLD = 128 * 1024  # characters of a text in an answer: many repeat what the client has sent


def _beginning(told: Any) -> Any:
    """The same with no text longer than that."""
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
        self._tells_details = details is not None  # even when there is nothing in them
        self.warnings: tuple[str, ...] = ()  # what the client is told beside the refusal
        if causes:
            self.details["causes"] = list(causes)
        self.retry_after = retry_after
        if retry_after:
            self.details["retryAfterSeconds"] = retry_after

    def status(self) -> dict[str, Any]:
        """The `Status` document that tells a client of this refusal."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
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
    code = 500  # without a reason: upstream gives none to what it did not foresee


class InternalError(ServerError):
    reason = "InternalError"


class Unavailable(ApiError):
    code, reason = 503, "ServiceUnavailable"


class ServerTimeout(ApiError):
    code, reason = 504, "Timeout"


class ConnectionLost(MooringError):
    """The API server cannot be reached, or a stream broke. What was asked may have happened."""


class Unreadable(MooringError):
    """The API server has the object, and holds of it what its kind does not allow.

    So nobody here knows what it says; but whoever asked must not take it for absent.
    """


class StoreError(MooringError):
    """The database refused."""


class Compacted(StoreError):
    """The revision asked for is older than what is retained."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")
        self.asked = asked
        self.oldest = oldest


class FutureRevision(StoreError):
    """The revision asked for has not happened yet."""

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
    """Somebody took the files of the database away; what is in memory can be read, until the end.

    The text is the same for every write.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"the data directory {directory} was removed while mooring runs: nothing can be "
            "written. Stop it, and start it anew"
        )


class Damaged(StoreError):
    """The database cannot be trusted; it was left as it is."""


class HostError(MooringError):
    """The operating system refused; nothing goes on behind the caller's back.

    But for `StillRunning`, which says the contrary.
    """


class StillRunning(HostError):
    """A call to the operating system has not returned in its time, and was given up.

    What it was to do may have happened, or happen yet: the outcome is uncertain. The text is the
    same however often it is told, so that events about it become one.
    """


class KernelRefused(HostError):
    """A system call was refused; `errno` says why, the text says it to people."""

    def __init__(self, message: str, errno: int) -> None:
        super().__init__(message)
        self.errno = errno


class CommandFailed(HostError):
    """A program ended badly. `argv` and `output` are free of secrets."""

    def __init__(self, message: str, *, argv: Sequence[str], code: int, output: str) -> None:
        super().__init__(message)
        self.argv = tuple(argv)
        self.code = code
        self.output = output


class TimedOut(CommandFailed):
    """A program took longer than it may, and was stopped."""


class WrongFilesystem(HostError):
    """The device holds other data than what was asked for; it was left alone."""


class Unformatted(HostError):
    """The device is empty, and may not be written to."""
