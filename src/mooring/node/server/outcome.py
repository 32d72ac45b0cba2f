"""How a conversation with a process ended, in the words of a Kubernetes `Status`."""

from collections.abc import Sequence

import msgspec

from mooring.model.document import Doc

_encode = msgspec.json.Encoder().encode


class Outcome(msgspec.Struct, frozen=True):
    """`text` is empty when all went well."""

    status: bytes  # JSON, for clients of version 4 and later
    text: str = ""  # for older ones


SUCCESS = Outcome(_encode({"metadata": {}, "status": "Success"}))


def exited(code: int, command: Sequence[str]) -> Outcome:
    """A process has ended with this exit code."""
    if code == 0:
        return SUCCESS
    shown = " ".join(command)
    return _failure(
        {
            "reason": "NonZeroExitCode",
            "message": "command terminated with non-zero exit code: "
            f"error executing command [{shown}], exit code {code}",
            "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
        }
    )


def failed(why: str) -> Outcome:
    """The process never ran, or its connection failed."""
    return _failure(
        {
            "reason": "InternalError",
            "message": f"Internal error occurred: {why}",
            "details": {"causes": [{"message": why}]},
            "code": 500,
        }
    )


def _failure(fields: Doc) -> Outcome:
    status = {"metadata": {}, "status": "Failure", **fields}
    return Outcome(_encode(status), fields["message"])
