"""Why a call to etcd failed, and what that means for whoever made it."""

import grpc

from mooring.errors import EtcdError

_PASSING = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL,
    }
)
"""Another member, or the same one later, may answer; a write may have happened."""


class Failed(Exception):
    """A call that got no answer, or a refusal. The text is etcd's own where there is one."""

    def __init__(self, code: grpc.StatusCode, text: str, *, was_sent: bool = True) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self._was_sent = was_sent

    @property
    def is_passing(self) -> bool:
        return self.code in _PASSING

    @property
    def is_certain(self) -> bool:
        """Nothing was written."""
        return not self._was_sent or not self.is_passing

    def as_error(self) -> EtcdError:
        return EtcdError(self.text)
