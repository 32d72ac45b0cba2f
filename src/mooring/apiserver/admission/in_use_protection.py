"""Volumes, claims and attribute classes are born protected: they stay while they are in use."""

from mooring.apiserver.admission.contract import Attempt, Objects

FINALIZERS = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses": "kubernetes.io/vac-protection",
}


def protect(attempt: Attempt, objects: Objects) -> None:
    if attempt.new is None:
        return
    finalizer = FINALIZERS[attempt.kind.plural]
    metadata = attempt.new["metadata"]
    if finalizer not in metadata.get("finalizers", ()):
        metadata["finalizers"] = [*metadata.get("finalizers", ()), finalizer]
