"""Secret: values that must not appear in logs or errors."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource
from mooring.model.secret_value import SecretValue


class Secret(ApiObject, frozen=True):
    """Read it with `wire.read_document` or `wire.json_decoder`; plain msgspec refuses."""

    resource: ClassVar = Resource("", "v1", "Secret", "secrets", namespaced=True)

    type: str = "Opaque"
    data: Mapping[str, SecretValue] = msgspec.field(default_factory=dict)
    immutable: bool | None = None
