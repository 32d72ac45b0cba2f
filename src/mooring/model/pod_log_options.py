"""PodLogOptions: which part of a container's log a client wants, and their validation.

The API server validates them before it calls the kubelet, which validates them again.
"""

from collections.abc import Iterator

import msgspec

from mooring.model.field_error import FieldError, forbidden, invalid, not_supported

ALL_STREAMS = "All"
STREAMS = (ALL_STREAMS, "Stderr", "Stdout")


class PodLogOptions(msgspec.Struct, frozen=True):
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since_seconds: int | None = None  # before now
    since_time: int | None = None  # nanoseconds since 1970
    limit_bytes: int | None = None
    stream: str = ALL_STREAMS


def validate_pod_log_options(options: PodLogOptions) -> Iterator[FieldError]:
    tail, limit, seconds = options.tail_lines, options.limit_bytes, options.since_seconds
    if tail is not None and tail < 0:
        yield invalid("tailLines", tail, "must be greater than or equal to 0")
    if limit is not None and limit < 1:
        yield invalid("limitBytes", limit, "must be greater than 0")
    if seconds is not None and options.since_time is not None:
        yield forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified")
    elif seconds is not None and seconds < 1:
        yield invalid("sinceSeconds", seconds, "must be greater than 0")
    if options.stream not in STREAMS:
        yield not_supported("stream", options.stream, STREAMS)
    elif tail is not None and options.stream != ALL_STREAMS:
        yield forbidden("", "`tailLines` and a specific `stream` may not be specified together")
