"""Every kind the server knows, found by path or by name; `builtin` lists them, a line each.

Kinds of a definition come and go as one: `serve` puts them in the place of those that the same
definition had before, `withdraw` takes them away. Built-in kinds stay.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import msgspec

from mooring.apiserver.kinds.admission_policy import ADMISSION_POLICY, POLICY_BINDING
from mooring.apiserver.kinds.attachment import ATTACHMENT
from mooring.apiserver.kinds.attributes_class import ATTRIBUTES_CLASS
from mooring.apiserver.kinds.claim import CLAIM, CLAIM_ACROSS_NAMESPACES
from mooring.apiserver.kinds.config_map import CONFIG_MAP
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.controller_revision import CONTROLLER_REVISION
from mooring.apiserver.kinds.cron_job import CRON_JOB
from mooring.apiserver.kinds.csi_driver import CSI_DRIVER
from mooring.apiserver.kinds.csi_node import CSI_NODE
from mooring.apiserver.kinds.daemon_set import DAEMON_SET
from mooring.apiserver.kinds.definition.definition import DEFINITION
from mooring.apiserver.kinds.deployment import DEPLOYMENT
from mooring.apiserver.kinds.disruption_budget import DISRUPTION_BUDGET
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
from mooring.apiserver.kinds.job import JOB
from mooring.apiserver.kinds.lease import LEASE
from mooring.apiserver.kinds.limit_range import LIMIT_RANGE
from mooring.apiserver.kinds.mutating_policy import MUTATING_POLICY, MUTATING_POLICY_BINDING
from mooring.apiserver.kinds.namespace import NAMESPACE
from mooring.apiserver.kinds.network_policy import NETWORK_POLICY
from mooring.apiserver.kinds.node import NODE
from mooring.apiserver.kinds.older import NEWER, OLDER
from mooring.apiserver.kinds.pod.pod import POD
from mooring.apiserver.kinds.pod_template import POD_TEMPLATE
from mooring.apiserver.kinds.populator import VOLUME_POPULATOR
from mooring.apiserver.kinds.priority_class import PRIORITY_CLASS
from mooring.apiserver.kinds.quota import RESOURCE_QUOTA
from mooring.apiserver.kinds.reference_grant import REFERENCE_GRANT, REFERENCE_GRANT_V1
from mooring.apiserver.kinds.replica_set import REPLICA_SET
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
from mooring.apiserver.kinds.stateful_set import STATEFUL_SET
from mooring.apiserver.kinds.storage_capacity import STORAGE_CAPACITY
from mooring.apiserver.kinds.storage_class import STORAGE_CLASS
from mooring.apiserver.kinds.storage_version_migration import STORAGE_VERSION_MIGRATION
from mooring.apiserver.kinds.trust_bundle import TRUST_BUNDLE
from mooring.apiserver.kinds.volume import VOLUME
from mooring.apiserver.kinds.webhook_configuration import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from mooring.apiserver.schema.parse import load
from mooring.apiserver.schema.releases import name_at
from mooring.model.feature_gates import FeatureGates
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion

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
    """The kinds of one server."""

    def __init__(self, kinds: Iterable[Kind] = (), release: KubernetesVersion = NEWEST) -> None:
        self.release = release
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._by_kind: dict[tuple[str, str, str], Kind] = {}
        self._groups: tuple[Group, ...] = ()
        self._by_table: dict[str, Kind] = {}  # by which the server itself reads and writes it
        self._served: dict[str, tuple[Kind, ...]] = {}  # by definition
        self._tables: dict[str, str] = {}  # by definition
        self._builtin: set[tuple[str, str]] = set()  # group and plural
        self._listeners: list[Callable[[Kind], None]] = []
        self._replaced: dict[Kind, list[Callable[[], None]]] = {}
        self.generation = 0  # changes with every change: what was derived before is stale
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        """Serve this kind from now on, in place of one that has the same path."""
        self._put(kind)
        self._builtin.add((kind.group, kind.plural))
        known = self._by_table.get(kind.store_table)
        if kind.from_stored is None and (known is None or _path(known) == _path(kind)):
            self._by_table[kind.store_table] = kind
        self._changed()
        self._tell(kind)

    def serve(self, definition: str, kinds: Sequence[Kind], stored: Kind) -> None:
        """Serve the kinds of a definition, all in one step, in place of those it had.

        `stored` is of the version that objects are stored in, be it served or not. A path that a
        built-in kind has stays that kind's.
        """
        before = self._take(definition)
        free = tuple(kind for kind in kinds if _path(kind) not in self._by_path)
        for kind in free:
            self._put(kind)
        self._served[definition] = free
        self._tables[definition] = stored.store_table
        self._by_table[stored.store_table] = stored
        self._changed()
        self._tell(stored)
        self._end(kind for kind in before if not self._is_the_same(kind))

    def _is_the_same(self, kind: Kind) -> bool:
        """Whether what is served at its path now differs in nothing that documents show.

        Then who waits for its end goes on to wait.
        """
        now = self._by_path.get(_path(kind))
        if now is None or now.structure is None or kind.structure is None:
            return False
        if now.structure.digest != kind.structure.digest:
            return False
        if calls := self._replaced.pop(kind, None):
            self._replaced[now] = calls
        return True

    def withdraw(self, definition: str) -> None:
        """Serve the kinds of a definition no longer."""
        table = self._tables.pop(definition, None)
        if table is None:
            return
        before = self._take(definition)
        stored = self._by_table.pop(table)
        self._changed()
        self._tell(stored)
        self._end(before)

    def when_replaced(self, kind: Kind, call: Callable[[], None]) -> Callable[[], None]:
        """Call once when `kind` is no longer what is served at its path. Returns: call it off."""
        calls = self._replaced.setdefault(kind, [])
        calls.append(call)

        def forget() -> None:
            if call in calls:
                calls.remove(call)
            if not calls and self._replaced.get(kind) is calls:
                del self._replaced[kind]

        return forget

    def _put(self, kind: Kind) -> None:
        if replaced := self._by_path.get(_path(kind)):
            del self._by_kind[replaced.group, replaced.version, replaced.kind]
        self._by_path[_path(kind)] = kind
        self._by_kind[kind.group, kind.version, kind.kind] = kind

    def _take(self, definition: str) -> tuple[Kind, ...]:
        before = self._served.pop(definition, ())
        for kind in before:
            del self._by_path[_path(kind)]
            self._by_kind.pop((kind.group, kind.version, kind.kind), None)
        return before

    def _changed(self) -> None:
        self._groups = _group(self._by_path.values())
        self.generation += 1

    def _tell(self, kind: Kind) -> None:
        for listener in tuple(self._listeners):
            listener(kind)

    def _end(self, kinds: Iterable[Kind]) -> None:
        for kind in kinds:
            for call in tuple(self._replaced.pop(kind, ())):
                call()

    def subscribe(self, listener: Callable[[Kind], None]) -> None:
        """Call `listener` with every kind that joins, changes or leaves from now on."""
        self._listeners.append(listener)

    def unsubscribe(self, listener: Callable[[Kind], None]) -> None:
        self._listeners.remove(listener)

    def all(self) -> Sequence[Kind]:
        return tuple(self._by_path.values())

    def stored(self) -> Sequence[Kind]:
        """One kind for each table: what the server itself reads and writes the objects by."""
        return tuple(self._by_table.values())

    def of_table(self, table: str) -> Kind | None:
        return self._by_table.get(table)

    def is_builtin(self, group: str, plural: str) -> bool:
        """Whether a kind of that name is served without any definition, in whatever version."""
        return (group, plural) in self._builtin

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._by_path.get((group, version, plural))

    def by_kind(self, group: str, version: str, kind: str) -> Kind | None:
        return self._by_kind.get((group, version, kind))

    def groups(self) -> Sequence[Group]:
        """The groups in the order they joined, the core group (named "") among them."""
        return self._groups


def _path(kind: Kind) -> tuple[str, str, str]:
    return (kind.group, kind.version, kind.plural)


def _group(kinds: Iterable[Kind]) -> tuple[Group, ...]:
    versions: dict[str, set[str]] = {}
    for kind in kinds:
        versions.setdefault(kind.group, set()).add(kind.version)
    return tuple(
        Group(name, tuple(sorted(of_group, key=_place))) for name, of_group in versions.items()
    )


def _place(version: str) -> tuple[int, int, int, str]:
    """v2 before v1 before v1beta2 before v1alpha1; what is no such version comes last, by name."""
    match = _VERSION.fullmatch(version)
    if not match:
        return (1, 0, 0, version)
    major, stage, minor = match.groups()
    return (-_MATURITY[stage], -int(major), -int(minor or 0), version)


def is_higher(version: str, than: str) -> bool:
    """Whether Kubernetes prefers the first version of the two."""
    return _place(version) < _place(than)


def builtin(gates: FeatureGates | None = None, release: KubernetesVersion = NEWEST) -> Kinds:
    """The kinds every server of that release starts with."""
    across = gates is not None and gates.cross_namespace
    kinds = (
        NAMESPACE,
        NODE,
        POD,
        SECRET,
        CONFIG_MAP,
        SERVICE_ACCOUNT,
        EVENT,
        VOLUME,
        CLAIM_ACROSS_NAMESPACES if across else CLAIM,
        POD_TEMPLATE,
        REPLICATION_CONTROLLER,
        SERVICE,
        ENDPOINTS,
        RESOURCE_QUOTA,
        LIMIT_RANGE,
        DEPLOYMENT,
        REPLICA_SET,
        CONTROLLER_REVISION,
        STATEFUL_SET,
        DAEMON_SET,
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
        DEFINITION,
        EVENT_V1,
        TRUST_BUNDLE,
        MUTATING_WEBHOOKS,
        VALIDATING_WEBHOOKS,
        ADMISSION_POLICY,
        POLICY_BINDING,
        MUTATING_POLICY,
        MUTATING_POLICY_BINDING,
        STORAGE_VERSION_MIGRATION,
        NETWORK_POLICY,
        ENDPOINT_SLICE,
        JOB,
        CRON_JOB,
        PRIORITY_CLASS,
        DISRUPTION_BUDGET,
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
    served = (kind for kind in kinds if release.serves_newer_kinds or kind not in NEWER)
    return Kinds((_at(release, kind) for kind in served), release)


def _at(release: KubernetesVersion, kind: Kind) -> Kind:
    """The kind as it is there, with the fields that it has there."""
    if not release.serves_newer_kinds:
        kind = OLDER.get(kind, kind)
    older = name_at(kind.message, release.minor)
    return kind if load().find(older) is None else replace(kind, message=older)
