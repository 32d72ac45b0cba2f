"""ControllerRevision: what a stateful set or a daemon set was at a time."""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource


class ControllerRevision(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "apps", "v1", "ControllerRevision", "controllerrevisions", namespaced=True
    )

    data: Mapping[str, Any] = msgspec.field(default_factory=dict)  # a patch of its owner
    revision: int = 0  # the highest is the newest
