"""On whose behalf a CSI call is made: told once, where the work begins, and known in every call.

The context of a task carries it, also into the tasks that are started meanwhile.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from mooring.model.meta import ApiObject
from mooring.model.reference import ObjectReference


class Ref(msgspec.Struct, frozen=True, omit_defaults=True):
    """The object because of which something is done."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


class Cause(msgspec.Struct, frozen=True):
    asked_by: str = ""  # a role or a sidecar: `node`, `provisioner`
    because: Ref | None = None


_NOBODY = Cause()
_cause: ContextVar[Cause] = ContextVar("csi_cause", default=_NOBODY)


def cause() -> Cause:
    return _cause.get()


@contextmanager
def asked_by(name: str) -> Iterator[None]:
    """Calls inside are made by this role or sidecar."""
    token = _cause.set(Cause(name))
    try:
        yield
    finally:
        _cause.reset(token)


@contextmanager
def because_of(it: ApiObject | ObjectReference | None) -> Iterator[None]:
    """Calls inside are made because of this object; None: because of none that is known."""
    token = _cause.set(Cause(_cause.get().asked_by, None if it is None else _ref(it)))
    try:
        yield
    finally:
        _cause.reset(token)


def _ref(it: ApiObject | ObjectReference) -> Ref:
    kind = it.resource.kind if isinstance(it, ApiObject) else it.kind
    return Ref(kind, it.name, it.namespace, it.uid)
