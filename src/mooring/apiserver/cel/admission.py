"""The variables of admission policies and match conditions."""

from collections.abc import Mapping

from mooring.apiserver.cel.library.authorizer import AUTHORIZER, RESOURCE_CHECK
from mooring.apiserver.cel.types import (
    BOOL,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    Records,
    list_of,
    map_of,
    record,
)

REQUEST = record("kubernetes.AdmissionRequest")
NAMESPACE = record("kubernetes.Namespace")
VARIABLES_TYPE = "kubernetes.variables"
_KIND = record("kubernetes.GroupVersionKind")
_RESOURCE = record("kubernetes.GroupVersionResource")
_USER = record("kubernetes.UserInfo")
_META = record("kubernetes.NamespaceMetadata")
_SPEC = record("kubernetes.NamespaceSpec")
_STATUS = record("kubernetes.NamespaceStatus")
_CONDITION = record("kubernetes.NamespaceCondition")
_STRINGS = list_of(STRING)


def _of(kind: CelType, *names: str) -> dict[str, CelType]:
    return dict.fromkeys(names, kind)


RECORDS: Records = {
    _KIND.name: _of(STRING, "group", "version", "kind"),
    _RESOURCE.name: _of(STRING, "group", "version", "resource"),
    _USER.name: {
        **_of(STRING, "username", "uid"),
        "groups": _STRINGS,
        "extra": map_of(STRING, _STRINGS),
    },
    REQUEST.name: {
        **_of(_KIND, "kind", "requestKind"),
        **_of(_RESOURCE, "resource", "requestResource"),
        **_of(STRING, "subResource", "requestSubResource", "name", "namespace", "operation"),
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
    _SPEC.name: {"finalizers": _STRINGS},
    _CONDITION.name: {
        **_of(STRING, "status", "type", "message", "reason"),
        "lastTransitionTime": TIMESTAMP,
    },
    _STATUS.name: {"conditions": list_of(_CONDITION), "phase": STRING},
    _META.name: {
        **_of(STRING, "name", "generateName", "namespace", "UID", "resourceVersion"),
        **_of(map_of(STRING, STRING), "labels", "annotations"),
        **_of(TIMESTAMP, "creationTimestamp", "deletionTimestamp"),
        **_of(INT, "deletionGracePeriodSeconds", "generation"),
        "finalizers": _STRINGS,
    },
    NAMESPACE.name: {"metadata": _META, "spec": _SPEC, "status": _STATUS},
}
MATCH_CONDITION_VARIABLES: Mapping[str, CelType] = {
    "object": DYN,
    "oldObject": DYN,
    "request": REQUEST,
    "authorizer": AUTHORIZER,
    "authorizer.requestResource": RESOURCE_CHECK,
}
POLICY_VARIABLES: Mapping[str, CelType] = {
    **MATCH_CONDITION_VARIABLES,
    "params": DYN,
    "namespaceObject": NAMESPACE,
}


def with_variables(composed: Mapping[str, CelType]) -> tuple[Mapping[str, CelType], Records]:
    """Variables and records of a policy whose own variables have these types."""
    name = VARIABLES_TYPE
    return {**POLICY_VARIABLES, "variables": record(name)}, {**RECORDS, name: composed}
