"""RoleBinding and ClusterRoleBinding: the subjects of a role, in one namespace or all."""

from collections.abc import Iterable
from dataclasses import replace

from mooring.apiserver.kinds.access_rules import (
    BINDING_COLUMNS,
    GROUP,
    binding_row,
    default_binding,
    validate_binding,
    validate_same_role,
    validate_same_role_before,
)
from mooring.apiserver.kinds.contract import Kind
from mooring.model.document import Doc
from mooring.model.field_error import FieldError
from mooring.model.names import path_segment


def _validate_in_namespace(doc: Doc) -> Iterable[FieldError]:
    return validate_binding(doc, ("Role", "ClusterRole"), namespaced=True)


def _validate_everywhere(doc: Doc) -> Iterable[FieldError]:
    return validate_binding(doc, ("ClusterRole",), namespaced=False)


ROLE_BINDING = Kind(
    group=GROUP,
    version="v1",
    kind="RoleBinding",
    plural="rolebindings",
    message="rbac.v1.RoleBinding",
    namespaced=True,
    columns=BINDING_COLUMNS,
    row=binding_row,
    defaults=default_binding,
    validate=_validate_in_namespace,
    validate_update=validate_same_role,
    name_rule=path_segment,
    update_creates=True,
    deleted_as_status=True,
)

CLUSTER_ROLE_BINDING = Kind(
    group=GROUP,
    version="v1",
    kind="ClusterRoleBinding",
    plural="clusterrolebindings",
    message="rbac.v1.ClusterRoleBinding",
    namespaced=False,
    columns=BINDING_COLUMNS,
    row=binding_row,
    defaults=default_binding,
    validate=_validate_everywhere,
    validate_update=validate_same_role,
    name_rule=path_segment,
    update_creates=True,
    deleted_as_status=True,
)

ROLE_BINDING_BEFORE = replace(ROLE_BINDING, validate_update=validate_same_role_before)
CLUSTER_ROLE_BINDING_BEFORE = replace(
    CLUSTER_ROLE_BINDING, validate_update=validate_same_role_before
)
