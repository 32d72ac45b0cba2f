"""ClusterTrustBundle: trust anchors, of one signer or of none in particular."""

from typing import ClassVar

from mooring.model.meta import ApiObject, Resource
from mooring.model.wire import Wire


class TrustBundleSpec(Wire, frozen=True):
    signer_name: str = ""
    trust_bundle: str = ""  # PEM


class TrustBundle(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "certificates.k8s.io",
        "v1beta1",
        "ClusterTrustBundle",
        "clustertrustbundles",
        namespaced=False,
    )

    spec: TrustBundleSpec = TrustBundleSpec()
