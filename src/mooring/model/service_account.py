"""ServiceAccount: the identity of a pod towards the API server."""

from typing import ClassVar

from mooring.model.meta import ApiObject, Resource


class ServiceAccount(ApiObject, frozen=True):
    resource: ClassVar = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
