"""Objects live in namespaces that exist and are not going; three namespaces never go."""

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.request.refusals import forbidden
from mooring.errors import Forbidden, NotFound

PROTECTED = frozenset({"default", "kube-system", "kube-public"})


def check_creation(attributes: AdmissionAttributes, objects: Objects) -> None:
    if not attributes.kind.namespaced:
        return
    namespace = objects.find("namespaces", "", attributes.namespace)
    if namespace is None:
        raise NotFound(
            f'namespaces "{attributes.namespace}" not found',
            details={"name": attributes.namespace, "kind": "namespaces"},
        )
    if "deletionTimestamp" in namespace["metadata"]:
        raise _terminating(attributes)


def _terminating(attributes: AdmissionAttributes) -> Forbidden:
    why = (
        f"unable to create new content in namespace {attributes.namespace} "
        "because it is being terminated"
    )
    refusal = forbidden(attributes.kind, attributes.name, why)
    refusal.details["causes"] = [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {attributes.namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    return refusal


def check_deletion(attributes: AdmissionAttributes, objects: Objects) -> None:
    if attributes.name in PROTECTED:
        raise forbidden(attributes.kind, attributes.name, "this namespace may not be deleted")
