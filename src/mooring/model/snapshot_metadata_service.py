"""SnapshotMetadataService: where the changed blocks of a driver's snapshots are asked for."""

from typing import ClassVar

from mooring.model.meta import ApiObject, Resource
from mooring.model.wire import Wire


class ServiceAddress(Wire, frozen=True):
    address: str  # host:port
    audience: str  # of the tokens that it takes
    ca_cert: bytes  # PEM


class SnapshotMetadataService(ApiObject, frozen=True):
    """Called like the driver, so there is one per driver."""

    resource: ClassVar = Resource(
        "cbt.storage.k8s.io",
        "v1beta1",
        "SnapshotMetadataService",
        "snapshotmetadataservices",
        namespaced=False,
    )

    spec: ServiceAddress
