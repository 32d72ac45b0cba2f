"""Kinds as releases before 1.37 had them: other words, columns and defaults, or not at all.

Upstream has come to validate by rules that stand beside the fields, in other words.
"""

from collections.abc import Mapping
from typing import Final

from mooring.apiserver.kinds.attachment import ATTACHMENT, ATTACHMENT_BEFORE
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.csi_driver import CSI_DRIVER, CSI_DRIVER_WITHOUT_OPT_IN
from mooring.apiserver.kinds.csi_node import CSI_NODE, CSI_NODE_WITHOUT_STATUS
from mooring.apiserver.kinds.definition.definition import DEFINITION, DEFINITION_BEFORE
from mooring.apiserver.kinds.mutating_policy import MUTATING_POLICY, MUTATING_POLICY_BINDING
from mooring.apiserver.kinds.node import NODE, NODE_BEFORE
from mooring.apiserver.kinds.role import CLUSTER_ROLE, CLUSTER_ROLE_BEFORE, ROLE, ROLE_BEFORE
from mooring.apiserver.kinds.role_binding import (
    CLUSTER_ROLE_BINDING,
    CLUSTER_ROLE_BINDING_BEFORE,
    ROLE_BINDING,
    ROLE_BINDING_BEFORE,
)
from mooring.apiserver.kinds.storage_class import STORAGE_CLASS, STORAGE_CLASS_BEFORE
from mooring.apiserver.kinds.storage_version_migration import STORAGE_VERSION_MIGRATION

OLDER: Final[Mapping[Kind, Kind]] = {
    ATTACHMENT: ATTACHMENT_BEFORE,
    CLUSTER_ROLE: CLUSTER_ROLE_BEFORE,
    CLUSTER_ROLE_BINDING: CLUSTER_ROLE_BINDING_BEFORE,
    CSI_DRIVER: CSI_DRIVER_WITHOUT_OPT_IN,
    CSI_NODE: CSI_NODE_WITHOUT_STATUS,
    DEFINITION: DEFINITION_BEFORE,
    NODE: NODE_BEFORE,
    ROLE: ROLE_BEFORE,
    ROLE_BINDING: ROLE_BINDING_BEFORE,
    STORAGE_CLASS: STORAGE_CLASS_BEFORE,
}

NEWER: Final = frozenset({MUTATING_POLICY, MUTATING_POLICY_BINDING, STORAGE_VERSION_MIGRATION})
