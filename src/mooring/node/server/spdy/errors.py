"""What ends a SPDY connection."""

from mooring.errors import MooringError


class SpdyError(MooringError):
    """The client does not keep to the protocol: its connection cannot go on."""
