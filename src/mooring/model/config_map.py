"""ConfigMap: configuration that is not secret."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource


class ConfigMap(ApiObject, frozen=True):
    resource: ClassVar = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)

    data: Mapping[str, str] = msgspec.field(default_factory=dict)
    binary_data: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    immutable: bool | None = None
