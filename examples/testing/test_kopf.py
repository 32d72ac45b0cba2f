"""Testing an operator written with kopf: install Mooring (docs/testing.md) and `pip install kopf
kubernetes`, then `pytest --mooring test_kopf.py`.

The claim that the operator makes is bound, and goes with its Boat, because the cluster's own
controllers do that.
"""

from pathlib import Path

import pytest
from kopf.testing import KopfRunner

from mooring.testing import Cluster, Kube

OPERATOR = Path(__file__).with_name("boats.py")
BOATS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.harbour.example.com
spec:
  group: harbour.example.com
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {hold: {type: string}}}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
DINGHY = """
apiVersion: harbour.example.com/v1
kind: Boat
metadata:
  name: dinghy
spec:
  hold: 1Gi
"""


def test_a_boat_has_a_claim_as_long_as_it_floats(
    cluster: Cluster, kube: Kube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    kube.apply(BOATS)
    with KopfRunner(["run", "--standalone", "--namespace", kube.name, str(OPERATOR)]) as operator:
        kube.apply(DINGHY)
        kube.wait("boat/dinghy", "status.claim=dinghy-hold", timeout=60)
        kube.wait("pvc/dinghy-hold", "Bound", timeout=60)
        kube.delete("boat/dinghy", timeout=60)
        kube.wait("pvc/dinghy-hold", "deleted", timeout=60)
    assert operator.exception is None
    assert operator.exit_code == 0, operator.output
