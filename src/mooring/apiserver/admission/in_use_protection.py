"""Volumes, claims and attribute classes are born protected: they stay while they are in use."""

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects

FINALIZERS = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses": "kubernetes.io/vac-protection",
}


def protect(attributes: AdmissionAttributes, objects: Objects) -> None:
    if attributes.new is None:
        return
    finalizer = FINALIZERS[attributes.kind.plural]
    metadata = attributes.new["metadata"]
    if finalizer not in metadata.get("finalizers", ()):
        metadata["finalizers"] = [*metadata.get("finalizers", ()), finalizer]
