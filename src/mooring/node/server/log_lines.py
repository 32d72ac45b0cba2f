"""Lines of a log in the format of the CRI, and what a reader sees of them.

`2026-01-02T03:04:05.123456789Z stdout F text`: when, where it came from, whether it is a whole
line (F) or goes on in the next one (P), and what was written.
"""

import re

from mooring.model.pod_log_options import PodLogOptions
from mooring.node.server.log_options import nanoseconds
from mooring.node.server.refusal import Refusal

MOST_LINE_BYTES = 1 << 20  # a longer one was not written by a runtime; it is passed over

_STREAMS = {
    "All": frozenset({b"stdout", b"stderr"}),
    "Stdout": frozenset({b"stdout"}),
    "Stderr": frozenset({b"stderr"}),
}
_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")


class LogLines:
    """Turns bytes of a log into what was asked for; bytes may be cut anywhere."""

    def __init__(self, options: PodLogOptions) -> None:
        self._options = options
        self._rest = b""
        self._is_too_long = False
        self._begins_line = True
        self._left = options.limit_bytes
        self._streams = _STREAMS[options.stream]
        self._second: tuple[bytes, int] = (b"", 0)

    @property
    def is_full(self) -> bool:
        """No more bytes were asked for."""
        return self._left == 0

    def feed(self, data: bytes) -> bytes:
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        shown = [] if self._is_too_long else lines[:1]
        if lines:
            self._is_too_long = False
        shown += lines[1:]
        if len(self._rest) > MOST_LINE_BYTES:
            self._rest, self._is_too_long = b"", True
        return b"".join(map(self._shown, shown))

    def flush(self) -> bytes:
        """What a writer that was cut off left of its last line."""
        rest, self._rest = self._rest, b""
        if not rest or self._is_too_long:
            self._is_too_long = False
            return b""
        return self._shown(rest)

    def _shown(self, line: bytes) -> bytes:
        try:
            stamp, stream, tag, text = line.split(b" ", 3)
        except ValueError:
            return b""
        options = self._options
        if stream not in self._streams:
            return b""
        if options.since_time is not None and self._moment(stamp) < options.since_time:
            return b""
        if not is_partial(tag):
            text += b"\n"
        if options.timestamps and self._begins_line:
            text = b"%b %b" % (_fixed(stamp), text)
        self._begins_line = text.endswith(b"\n")
        if self._left is not None:
            text = text[: self._left]
            self._left -= len(text)
        return text

    def _moment(self, stamp: bytes) -> int:
        """Nanoseconds since 1970; neighbours share their second, so it is read once."""
        matched = _STAMP.fullmatch(stamp)
        if matched is None:
            return -1
        second, fraction, zone = matched.groups()
        key = second + zone
        if key != self._second[0]:
            try:
                self._second = key, nanoseconds(key.decode())
            except Refusal:
                return -1
        return self._second[1] + int((fraction or b"")[:9].ljust(9, b"0"))


def is_partial(tag: bytes) -> bool:
    return tag == b"P" or tag.startswith(b"P:")


def _fixed(stamp: bytes) -> bytes:
    """With nine digits, and `Z` for UTC: as the kubelet shows it, whichever runtime wrote it."""
    matched = _STAMP.fullmatch(stamp)
    if matched is None:
        return stamp
    second, fraction, zone = matched.groups()
    zone = b"Z" if zone in {b"+00:00", b"-00:00"} else zone
    return b"%b.%b%b" % (second, (fraction or b"")[:9].ljust(9, b"0"), zone)
