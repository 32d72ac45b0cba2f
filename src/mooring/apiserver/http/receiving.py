"""The request that is being received: its head, then as much of its body as may be kept.

The body of a stranger is not kept: anonymous requests have no use for one. That of a caller is kept
within the allowance of the caller and that of all callers together.
"""

from enum import Enum

from mooring.apiserver.http.heads import to_headers
from mooring.apiserver.http.limits import Allowance
from mooring.apiserver.limits.budgets import MOST_BODY_BYTES
from mooring.apiserver.request.message import Request


class Keep(Enum):
    """What becomes of a body."""

    ALL = "all"
    NOTHING = "nothing"  # of a stranger's
    TOO_LARGE = "too large"
    CROWDED = "crowded"


class Receiving:
    __slots__ = (
        "_pieces",
        "_sent_headers",
        "began",
        "caller",
        "head_bytes",
        "header_bytes",
        "headers",
        "held",
        "in_body",
        "keep",
        "pieces",
        "received",
        "url",
    )

    def __init__(self) -> None:
        self.url = b""
        self.headers: dict[str, str] = {}
        self.in_body = False
        self.caller = ""  # whose it is; empty: a stranger's
        self.keep = Keep.ALL
        self.held = 0  # bytes of the body, counted for the caller
        self.received = 0  # bytes of the body, kept or not
        self.pieces = 0  # that they came in
        self.header_bytes = 0  # of names and values that are complete
        self.head_bytes = 0  # of pieces that held no more than a part of a head
        self.began: float | None = None  # when its first byte came
        self._sent_headers: list[bytes] = []  # name, value, name, value, ...
        self._pieces: list[bytes] = []

    def header(self, name: bytes, value: bytes) -> None:
        self._sent_headers += (name, value)

    def end_head(self) -> None:
        sent = self._sent_headers
        self.in_body = True
        self.header_bytes += sum(map(len, sent))
        self.headers = to_headers(sent[::2], sent[1::2])

    def piece(self, body: bytes, allowance: Allowance) -> None:
        """Keep a piece of the body, if all of it may be kept."""
        self.received += len(body)
        self.pieces += 1
        if self.keep is not Keep.ALL:
            return
        if self.received > MOST_BODY_BYTES:
            self.keep = Keep.TOO_LARGE
        elif not allowance.take(self.caller, len(body)):
            self.keep = Keep.CROWDED
        else:
            self.held += len(body)
            self._pieces.append(body)
            return
        self.release(allowance)

    def release(self, allowance: Allowance) -> None:
        """Nothing of the body is needed any more. Repeated: nothing happens."""
        if self.held:
            allowance.give_back(self.caller, self.held)
            self.held = 0
        self._pieces.clear()

    def request(self, method: str) -> Request:
        path, _, query = self.url.decode("latin-1").partition("?")
        pieces = self._pieces
        return Request(
            method,
            path,
            query,
            self.headers,
            pieces[0] if len(pieces) == 1 else b"".join(pieces),
            self.keep is Keep.TOO_LARGE or self.received > MOST_BODY_BYTES,
            self.keep is Keep.CROWDED,
        )
