"""A claim that names no class gets the default one: the newest, then the first by name."""

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.kinds.storage_class import is_default
from mooring.model.document import Doc

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def choose(attributes: AdmissionAttributes, objects: Objects) -> None:
    claim = attributes.new
    if claim is None or "storageClassName" in claim.get("spec", {}):
        return  # an explicit "" means: no class at all
    if BETA_CLASS in claim["metadata"].get("annotations", {}):
        return
    if found := find_default(objects):
        claim.setdefault("spec", {})["storageClassName"] = found["metadata"]["name"]


def find_default(objects: Objects) -> Doc | None:
    defaults = [c for c in objects.all("storageclasses", group="storage.k8s.io") if is_default(c)]
    if not defaults:
        return None
    newest = max(c["metadata"]["creationTimestamp"] for c in defaults)
    return min(
        (c for c in defaults if c["metadata"]["creationTimestamp"] == newest),
        key=lambda c: str(c["metadata"]["name"]),
    )
