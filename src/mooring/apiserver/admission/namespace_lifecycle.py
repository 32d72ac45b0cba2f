"""Objects live in namespaces that exist and are not going; three namespaces never go."""

from mooring.apiserver.admission.contract import Attempt, Objects
from mooring.apiserver.request.refusals import forbidden
from mooring.errors import Forbidden, NotFound

PROTECTED = frozenset({"default", "kube-system", "kube-public"})


def check_creation(attempt: Attempt, objects: Objects) -> None:
    if not attempt.kind.namespaced:
        return
    namespace = objects.find("namespaces", "", attempt.namespace)
    if namespace is None:
        raise NotFound(
            f'namespaces "{attempt.namespace}" not found',
            details={"name": attempt.namespace, "kind": "namespaces"},
        )
    if "deletionTimestamp" in namespace["metadata"]:
        raise _terminating(attempt)


def _terminating(attempt: Attempt) -> Forbidden:
    why = (
        f"unable to create new content in namespace {attempt.namespace} "
        "because it is being terminated"
    )
    refusal = forbidden(attempt.kind, attempt.name, why)
    refusal.details["causes"] = [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {attempt.namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    return refusal


def check_deletion(attempt: Attempt, objects: Objects) -> None:
    if attempt.name in PROTECTED:
        raise forbidden(attempt.kind, attempt.name, "this namespace may not be deleted")
