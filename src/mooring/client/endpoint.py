"""Where an API server is, how to trust it, and who asks."""

import msgspec

from mooring.client.credentials import NOBODY, Source
from mooring.client.tls import Trust


class Endpoint(msgspec.Struct, frozen=True):
    server: str  # its URL, without a slash at the end; it may have a path
    trust: Trust = Trust()
    source: Source = NOBODY
    proxy: str = ""  # URL; empty: none
    namespace: str = "default"  # for what its user says no namespace of
