"""VolumeAttributesClass: a quality of service that may change while a volume is in use."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource


class AttributesClass(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses", namespaced=False
    )

    driver_name: str = ""
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)
