"""ClusterTrustBundles as nodes read them."""

from mooring.model.trust_bundle import TrustBundle
from tests.unit.model.reading import read


def test_a_trust_bundle() -> None:
    roots = read(
        {
            "apiVersion": "certificates.k8s.io/v1beta1",
            "kind": "ClusterTrustBundle",
            "metadata": {"name": "example.com:one:v1"},
            "spec": {"signerName": "example.com/one", "trustBundle": "PEM"},
        },
        TrustBundle,
    )
    assert (roots.spec.signer_name, roots.spec.trust_bundle) == ("example.com/one", "PEM")
