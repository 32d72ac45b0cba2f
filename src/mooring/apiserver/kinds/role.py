"""Role and ClusterRole: rights, in one namespace or everywhere, for bindings to give away."""

from collections.abc import Iterable
from dataclasses import replace

from mooring.apiserver.kinds.access_rules import (
    GROUP,
    ROLE_COLUMNS,
    in_older_words,
    role_row,
    validate_rules,
)
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, required
from mooring.model.names import path_segment


def _validate_role(doc: Doc) -> Iterable[FieldError]:
    return validate_rules(doc, namespaced=True)


def _validate_cluster_role(doc: Doc) -> Iterable[FieldError]:
    yield from validate_rules(doc, namespaced=False)
    aggregation = doc.get("aggregationRule")
    if aggregation is None:
        return
    path, selectors = (
        "aggregationRule.clusterRoleSelectors",
        aggregation.get("clusterRoleSelectors"),
    )
    if not selectors:
        why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield required(path, why)
    for index, selector in enumerate(selectors or ()):
        yield from validate_label_selector(selector, f"{path}[{index}]")


ROLE = Kind(
    group=GROUP,
    version="v1",
    kind="Role",
    plural="roles",
    message="rbac.v1.Role",
    namespaced=True,
    columns=ROLE_COLUMNS,
    row=role_row,
    validate=_validate_role,
    name_rule=path_segment,
    update_creates=True,
    deleted_as_status=True,
)

CLUSTER_ROLE = Kind(
    group=GROUP,
    version="v1",
    kind="ClusterRole",
    plural="clusterroles",
    message="rbac.v1.ClusterRole",
    namespaced=False,
    columns=ROLE_COLUMNS,
    row=role_row,
    validate=_validate_cluster_role,
    name_rule=path_segment,
    update_creates=True,
    deleted_as_status=True,
)

ROLE_BEFORE = replace(ROLE, validate=lambda doc: in_older_words(_validate_role(doc)))
CLUSTER_ROLE_BEFORE = replace(
    CLUSTER_ROLE, validate=lambda doc: in_older_words(_validate_cluster_role(doc))
)
