"""Every kind the server knows, found by path or by name; `builtin` lists them, a line each."""

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from mooring.apiserver.kinds.attachment import ATTACHMENT
from mooring.apiserver.kinds.attributes_class import ATTRIBUTES_CLASS
from mooring.apiserver.kinds.claim import CLAIM, CLAIM_ACROSS_NAMESPACES
from mooring.apiserver.kinds.config_map import CONFIG_MAP
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.csi_driver import CSI_DRIVER
from mooring.apiserver.kinds.csi_node import CSI_NODE
from mooring.apiserver.kinds.endpoint_slice import ENDPOINT_SLICE
from mooring.apiserver.kinds.endpoints import ENDPOINTS
from mooring.apiserver.kinds.event import EVENT
from mooring.apiserver.kinds.event_v1 import EVENT_V1
from mooring.apiserver.kinds.group_snapshot import GROUP_SNAPSHOT, GROUP_SNAPSHOT_V1
from mooring.apiserver.kinds.group_snapshot_class import (
    GROUP_SNAPSHOT_CLASS,
    GROUP_SNAPSHOT_CLASS_V1,
)
from mooring.apiserver.kinds.group_snapshot_content import (
    GROUP_SNAPSHOT_CONTENT,
    GROUP_SNAPSHOT_CONTENT_V1,
)
from mooring.apiserver.kinds.lease import LEASE
from mooring.apiserver.kinds.namespace import NAMESPACE
from mooring.apiserver.kinds.node import NODE
from mooring.apiserver.kinds.pod.pod import POD
from mooring.apiserver.kinds.populator import VOLUME_POPULATOR
from mooring.apiserver.kinds.reference_grant import REFERENCE_GRANT, REFERENCE_GRANT_V1
from mooring.apiserver.kinds.replication_controller import REPLICATION_CONTROLLER
from mooring.apiserver.kinds.reviews import (
    LOCAL_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
    SUBJECT_ACCESS_REVIEW,
    TOKEN_REVIEW,
)
from mooring.apiserver.kinds.role import CLUSTER_ROLE, ROLE
from mooring.apiserver.kinds.role_binding import CLUSTER_ROLE_BINDING, ROLE_BINDING
from mooring.apiserver.kinds.secret import SECRET
from mooring.apiserver.kinds.service import SERVICE
from mooring.apiserver.kinds.service_account import SERVICE_ACCOUNT
from mooring.apiserver.kinds.snapshot import SNAPSHOT
from mooring.apiserver.kinds.snapshot_class import SNAPSHOT_CLASS
from mooring.apiserver.kinds.snapshot_content import SNAPSHOT_CONTENT
from mooring.apiserver.kinds.snapshot_metadata_service import SNAPSHOT_METADATA_SERVICE
from mooring.apiserver.kinds.storage_capacity import STORAGE_CAPACITY
from mooring.apiserver.kinds.storage_class import STORAGE_CLASS
from mooring.apiserver.kinds.trust_bundle import TRUST_BUNDLE
from mooring.apiserver.kinds.volume import VOLUME
from mooring.model.feature_gates import FeatureGates

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_MATURITY = {"alpha": 0, "beta": 1, None: 2}


class Group(msgspec.Struct, frozen=True):
    """An API group and the versions it is served in; the first is preferred."""

    name: str
    versions: tuple[str, ...]

    @property
    def preferred(self) -> str:
        return self.versions[0]


class Kinds:
    """The kinds of one server. Kinds may join while it runs; none ever leaves."""

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._by_kind: dict[tuple[str, str, str], Kind] = {}
        self._groups: tuple[Group, ...] = ()
        self._listeners: list[Callable[[Kind], None]] = []
        self.generation = 0  # changes with every addition: what was derived before is stale
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        """Serve this kind from now on, in place of one that has the same path."""
        path = (kind.group, kind.version, kind.plural)
        if replaced := self._by_path.get(path):
            del self._by_kind[replaced.group, replaced.version, replaced.kind]
        self._by_path[path] = kind
        self._by_kind[kind.group, kind.version, kind.kind] = kind
        self._groups = _group(self._by_path.values())
        self.generation += 1
        for listener in tuple(self._listeners):
            listener(kind)

    def subscribe(self, listener: Callable[[Kind], None]) -> None:
        """Call `listener` with every kind that joins from now on."""
        self._listeners.append(listener)

    def unsubscribe(self, listener: Callable[[Kind], None]) -> None:
        self._listeners.remove(listener)

    def all(self) -> Sequence[Kind]:
        return tuple(self._by_path.values())

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._by_path.get((group, version, plural))

    def by_kind(self, group: str, version: str, kind: str) -> Kind | None:
        return self._by_kind.get((group, version, kind))

    def groups(self) -> Sequence[Group]:
        """The groups in the order they joined, the core group (named "") among them."""
        return self._groups


def _group(kinds: Iterable[Kind]) -> tuple[Group, ...]:
    versions: dict[str, set[str]] = {}
    for kind in kinds:
        versions.setdefault(kind.group, set()).add(kind.version)
    return tuple(
        Group(name, tuple(sorted(of_group, key=_priority, reverse=True)))
        for name, of_group in versions.items()
    )


def _priority(version: str) -> tuple[int, int, int]:
    """v2 before v1 before v1beta2 before v1alpha1; what is no such version comes last."""
    match = _VERSION.fullmatch(version)
    if not match:
        return (-1, 0, 0)
    major, stage, minor = match.groups()
    return (_MATURITY[stage], int(major), int(minor or 0))


def builtin(gates: FeatureGates | None = None) -> Kinds:
    """The kinds every server starts with."""
    across = gates is not None and gates.cross_namespace
    return Kinds(
        (
            NAMESPACE,
            NODE,
            POD,
            SECRET,
            CONFIG_MAP,
            SERVICE_ACCOUNT,
            EVENT,
            VOLUME,
            CLAIM_ACROSS_NAMESPACES if across else CLAIM,
            REPLICATION_CONTROLLER,
            SERVICE,
            ENDPOINTS,
            STORAGE_CLASS,
            ATTACHMENT,
            CSI_DRIVER,
            CSI_NODE,
            STORAGE_CAPACITY,
            ATTRIBUTES_CLASS,
            SNAPSHOT,
            SNAPSHOT_CONTENT,
            SNAPSHOT_CLASS,
            GROUP_SNAPSHOT,
            GROUP_SNAPSHOT_V1,
            GROUP_SNAPSHOT_CONTENT,
            GROUP_SNAPSHOT_CONTENT_V1,
            GROUP_SNAPSHOT_CLASS,
            GROUP_SNAPSHOT_CLASS_V1,
            VOLUME_POPULATOR,
            SNAPSHOT_METADATA_SERVICE,
            REFERENCE_GRANT,
            REFERENCE_GRANT_V1,
            LEASE,
            EVENT_V1,
            ENDPOINT_SLICE,
            TRUST_BUNDLE,
            ROLE,
            ROLE_BINDING,
            CLUSTER_ROLE,
            CLUSTER_ROLE_BINDING,
            TOKEN_REVIEW,
            SELF_SUBJECT_REVIEW,
            SELF_SUBJECT_ACCESS_REVIEW,
            SELF_SUBJECT_RULES_REVIEW,
            SUBJECT_ACCESS_REVIEW,
            LOCAL_SUBJECT_ACCESS_REVIEW,
        )
    )
