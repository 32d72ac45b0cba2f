"""What a test holds of its cluster's clock, nodes and CSI drivers."""

from datetime import datetime

import msgspec

from mooring.model.document import Doc
from mooring.testing.control import Control

SECONDS = 10.0  # that `wait` waits unless told
ASKING = (
    *("GetPlugin", "Probe", "ControllerGet", "ControllerList", "GroupControllerGet", "NodeGet"),
    *("GetCapacity", "List", "GetSnapshot", "Validate"),
)
"""How the RPCs begin that change nothing."""


class ClusterClock:
    """The time of the cluster: real time, and what it was moved on by."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def advance(self, seconds: float) -> None:
        """Let time pass at once: what is due on the way happens, in order. Raises: ClusterError."""
        self._control.call("advance", seconds=seconds)

    def now(self) -> datetime:
        return datetime.fromisoformat(self._control.call("now"))


class Node:
    """A fake node: it runs the pods that it is given by saying so."""

    def __init__(self, control: Control, name: str) -> None:
        self.name = name
        self._control = control

    def silence(self) -> None:
        """It gives no sign of life any more: after 40 s of the cluster's clock it is not Ready."""
        self._control.call("silence_node", name=self.name)


class Call(msgspec.Struct, frozen=True):
    """What a driver was asked, and how it answered."""

    rpc: str
    request: Doc  # as JSON, without secrets
    code: str = "OK"


class CsiDriver:
    """A fake CSI driver: claims of its class bind, unless it was told to fail."""

    def __init__(self, control: Control, name: str) -> None:
        self.name = name
        self._control = control

    def fail(
        self,
        rpc: str,
        code: str = "INTERNAL",
        message: str = "scripted",
        *,
        times: int | None = 1,
        after: bool = False,
    ) -> None:
        """The next calls of `rpc` fail with a gRPC code; `times=None`: all, until `reset`.

        `after`: the work is done all the same, only the answer is a failure. Raises: ClusterError.
        """
        self._script(rpc, code, message=message, times=times, after=after)

    def delay(self, rpc: str, seconds: float, *, times: int | None = 1) -> None:
        """The next calls of `rpc` take so long, on the cluster's clock. Raises: ClusterError."""
        self._script(rpc, "", seconds=seconds, times=times)

    def reset(self) -> None:
        """From now on every call succeeds."""
        self._script("", "")

    def calls(self, *, asking: bool = False) -> list[Call]:
        """In order; those that only ask are left out unless `asking`."""
        told = self._control.call("calls_of_driver", name=self.name)
        calls = [msgspec.convert(one, Call) for one in told]
        return [one for one in calls if asking or not one.rpc.startswith(ASKING)]

    def wait(self, rpc: str, *, count: int = 1, timeout: float = SECONDS) -> None:
        """Return when `rpc` was called so often in all, answered or not. Raises: NotYet."""
        how = {"rpc": rpc, "count": count, "seconds": timeout}
        self._control.call("await_call_of_driver", name=self.name, **how)

    def _script(self, rpc: str, code: str, **how: object) -> None:
        self._control.call("script_driver", name=self.name, rpc=rpc, code=code, **how)
