"""Refused calls: a gRPC code and a message."""

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, ENOSPC
from typing import Final

import grpc

from mooring.errors import HostError, KernelRefused, MooringError

INVALID: Final = grpc.StatusCode.INVALID_ARGUMENT
NOT_FOUND: Final = grpc.StatusCode.NOT_FOUND
EXISTS: Final = grpc.StatusCode.ALREADY_EXISTS
EXHAUSTED: Final = grpc.StatusCode.RESOURCE_EXHAUSTED
PRECONDITION: Final = grpc.StatusCode.FAILED_PRECONDITION
ABORTED: Final = grpc.StatusCode.ABORTED
OUT_OF_RANGE: Final = grpc.StatusCode.OUT_OF_RANGE
INTERNAL: Final = grpc.StatusCode.INTERNAL
DATA_LOSS: Final = grpc.StatusCode.DATA_LOSS


class CallRefused(MooringError):
    """The call ends with this code, which is not OK."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@contextmanager
def host_refusals() -> Iterator[None]:
    """Turn a HostError inside the block into a CallRefused with the matching code."""
    try:
        yield
    except KernelRefused as refused:
        full = refused.errno in (ENOSPC, EDQUOT)
        code = EXHAUSTED if full else OUT_OF_RANGE if refused.errno == EFBIG else INTERNAL
        raise CallRefused(code, str(refused)) from refused
    except HostError as error:
        raise CallRefused(INTERNAL, str(error)) from error


def need(value: str, field: str) -> str:
    """The value of a required field. Raises: CallRefused when it is empty."""
    if not value:
        raise CallRefused(INVALID, f"{field} is missing from the request")
    return value
