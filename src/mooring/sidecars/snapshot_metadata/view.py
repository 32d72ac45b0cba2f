"""What a caller asks for, and why it is refused."""

import msgspec

from mooring.csi.outcome import Code
from mooring.errors import MooringError


class CallRefused(MooringError):
    """The call ends with this code and text."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class Asked(msgspec.Struct, frozen=True):
    """A call: what is allocated, or what has changed since `base`."""

    token: str
    namespace: str
    snapshot: str
    base: str | None = None  # the driver's handle; None: what is allocated
    starting_offset: int = 0
    max_results: int = 0  # ranges in a message; 0: as the driver likes

    def __repr__(self) -> str:
        return f"Asked({self.namespace}/{self.snapshot} since {self.base})"  # no token
