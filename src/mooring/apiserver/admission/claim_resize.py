"""A claim may grow only when it is bound and its class allows expansion."""

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.admission.default_storage_class import BETA_CLASS
from mooring.apiserver.request.refusals import forbidden
from mooring.model.document import Doc
from mooring.model.quantity import parse

UNBOUND = "Only bound persistent volume claims can be expanded"
NOT_EXPANDABLE = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
    "must support resize"
)


def check(attributes: AdmissionAttributes, objects: Objects) -> None:
    new, old = attributes.new, attributes.old
    if new is None or old is None or not _grows(new, old):
        return
    if old.get("status", {}).get("phase") != "Bound":
        raise forbidden(attributes.kind, attributes.name, UNBOUND)
    name = class_name(new)
    expands = None
    if name and name == class_name(old):
        expands = objects.find("storageclasses", "", name, group="storage.k8s.io")
    if not (expands and expands.get("allowVolumeExpansion")):
        raise forbidden(attributes.kind, attributes.name, NOT_EXPANDABLE)


def _grows(new: Doc, old: Doc) -> bool:
    wanted, had = _requested(new), _requested(old)
    return wanted != had and bool(wanted and had) and parse(wanted) > parse(had)


def _requested(claim: Doc) -> str:
    return str(claim["spec"].get("resources", {}).get("requests", {}).get("storage", ""))


def class_name(claim: Doc) -> str:
    annotations = claim["metadata"].get("annotations", {})
    return str(annotations.get(BETA_CLASS) or claim["spec"].get("storageClassName", ""))
