"""What an admission rule is given and may do.

A rule looks at the attributes of one write. It may change `attributes.new` (mutating rules, before
validation) or raise `Forbidden`. Rules read other objects through `Objects`; they never write.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Protocol

import msgspec

from mooring.apiserver.auth.user import User
from mooring.apiserver.kinds.contract import Kind
from mooring.model.document import Doc


class Operation(Enum):
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"

    __hash__ = object.__hash__  # a key in every request: by identity, not by name


class AdmissionAttributes(msgspec.Struct, frozen=True):
    """A write before admission."""

    operation: Operation
    kind: Kind
    user: User
    namespace: str
    name: str
    subresource: str = ""
    new: Doc | None = None  # None: a deletion
    old: Doc | None = None  # None: a creation
    dry_run: bool = False
    warnings: list[str] = []  # for the client; webhooks add theirs

    @property
    def origin(self) -> str:
        """Who has to wait for whom: writes of one namespace do for one another."""
        return f"namespace {self.namespace}" if self.namespace else f"user {self.user.name}"

    @property
    def log_fields(self) -> dict[str, str]:
        """Which write it is, for what is recorded of it."""
        return {
            "operation": self.operation.value,
            "resource": self.kind.resource,
            "namespace": self.namespace,
            "name": self.name,
            "user": self.user.name,
        }


class Objects(Protocol):
    """The newest readable documents; callers must not change what they get."""

    def find(self, plural: str, namespace: str, name: str, group: str = "") -> Doc | None: ...

    def all(self, plural: str, namespace: str = "", group: str = "") -> Iterable[Doc]: ...


Rule = Callable[[AdmissionAttributes, Objects], None]
