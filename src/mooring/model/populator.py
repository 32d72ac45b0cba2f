"""VolumePopulator: a kind of objects that a populator fills volumes from."""

from typing import ClassVar

from mooring.model.meta import ApiObject, Resource
from mooring.model.wire import Wire


class SourceKind(Wire, frozen=True):
    group: str
    kind: str


class VolumePopulator(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "populator.storage.k8s.io",
        "v1beta1",
        "VolumePopulator",
        "volumepopulators",
        namespaced=False,
    )

    source_kind: SourceKind
