import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest

from mooring.apiserver import kinds
from mooring.apiserver.kinds.contract import READ_WRITE, Kind
from mooring.apiserver.kinds.registry import Group, Kinds, builtin
from mooring.apiserver.schema.parse import load


def a_kind(group: str, version: str, kind: str = "Thing") -> Kind:
    return Kind(
        group=group,
        version=version,
        kind=kind,
        plural=f"{kind.lower()}s",
        message=f"{group}.{version}.{kind}",
        namespaced=True,
    )


def test_a_kind_is_found_by_its_path_and_by_its_name() -> None:
    thing = a_kind("x.io", "v1")
    kinds = Kinds((thing,))
    assert kinds.find("x.io", "v1", "things") is thing
    assert kinds.by_kind("x.io", "v1", "Thing") is thing


ABSENT = {
    "another group": ("y.io", "v1", "things", "Thing"),
    "another version": ("x.io", "v2", "things", "Thing"),
    "another name": ("x.io", "v1", "others", "Other"),
}


@pytest.mark.parametrize(("group", "version", "plural", "name"), ABSENT.values(), ids=ABSENT)
def test_nothing_is_found_under(group: str, version: str, plural: str, name: str) -> None:
    kinds = Kinds((a_kind("x.io", "v1"),))
    assert kinds.find(group, version, plural) is None
    assert kinds.by_kind(group, version, name) is None


def test_every_addition_makes_a_new_generation() -> None:
    kinds = Kinds((a_kind("x.io", "v1"),))
    before = kinds.generation
    kinds.add(a_kind("x.io", "v2"))
    assert kinds.generation > before


def test_a_kind_takes_the_place_of_one_with_the_same_path() -> None:
    kinds = Kinds((a_kind("x.io", "v1"), a_kind("x.io", "v1", "Other")))
    newer = Kind(
        group="x.io", version="v1", kind="Renamed", plural="things", message="m", namespaced=False
    )
    kinds.add(newer)
    assert kinds.all()[0] is newer
    assert kinds.find("x.io", "v1", "things") is newer
    assert kinds.by_kind("x.io", "v1", "Renamed") is newer
    assert kinds.by_kind("x.io", "v1", "Thing") is None


def test_groups_come_as_they_joined_and_newest_stable_version_first() -> None:
    versions = ("v1alpha1", "v1beta1", "v1beta2", "v2", "v1", "v10", "vnext")
    kinds = Kinds([a_kind("z.io", "v1"), *(a_kind("a.io", version) for version in versions)])
    assert kinds.groups() == (
        Group("z.io", ("v1",)),
        Group("a.io", ("v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "vnext")),
    )
    assert kinds.groups()[1].preferred == "v10"


# plural, kind, short names, namespaced, has status, other subresources
SERVED = {
    "v1 namespaces": ("Namespace", ("ns",), False, True, ("finalize",)),
    "v1 pods": (
        "Pod",
        ("po",),
        True,
        True,
        (
            *("attach", "binding", "ephemeralcontainers", "eviction"),
            *("exec", "log", "portforward", "proxy"),
        ),
    ),
    "v1 replicationcontrollers": ("ReplicationController", ("rc",), True, True, ("scale",)),
    "v1 services": ("Service", ("svc",), True, True, ()),
    "v1 endpoints": ("Endpoints", ("ep",), True, False, ()),
    "discovery.k8s.io/v1 endpointslices": ("EndpointSlice", (), True, False, ()),
    "rbac.authorization.k8s.io/v1 roles": ("Role", (), True, False, ()),
    "rbac.authorization.k8s.io/v1 rolebindings": ("RoleBinding", (), True, False, ()),
    "rbac.authorization.k8s.io/v1 clusterroles": ("ClusterRole", (), False, False, ()),
    "rbac.authorization.k8s.io/v1 clusterrolebindings": (
        "ClusterRoleBinding",
        (),
        False,
        False,
        (),
    ),
    "v1 nodes": ("Node", ("no",), False, True, ("proxy",)),
    "v1 persistentvolumes": ("PersistentVolume", ("pv",), False, True, ()),
    "v1 persistentvolumeclaims": ("PersistentVolumeClaim", ("pvc",), True, True, ()),
    "v1 secrets": ("Secret", (), True, False, ()),
    "v1 configmaps": ("ConfigMap", ("cm",), True, False, ()),
    "v1 events": ("Event", ("ev",), True, False, ()),
    "v1 serviceaccounts": ("ServiceAccount", ("sa",), True, False, ("token",)),
    "storage.k8s.io/v1 storageclasses": ("StorageClass", ("sc",), False, False, ()),
    "storage.k8s.io/v1 csidrivers": ("CSIDriver", (), False, False, ()),
    "storage.k8s.io/v1 csinodes": ("CSINode", (), False, True, ()),
    "storage.k8s.io/v1 volumeattributesclasses": (
        "VolumeAttributesClass",
        ("vac",),
        False,
        False,
        (),
    ),
    "storage.k8s.io/v1 volumeattachments": ("VolumeAttachment", (), False, True, ()),
    "storage.k8s.io/v1 csistoragecapacities": ("CSIStorageCapacity", (), True, False, ()),
    "snapshot.storage.k8s.io/v1 volumesnapshots": ("VolumeSnapshot", ("vs",), True, True, ()),
    "snapshot.storage.k8s.io/v1 volumesnapshotcontents": (
        "VolumeSnapshotContent",
        ("vsc", "vscs"),
        False,
        True,
        (),
    ),
    "snapshot.storage.k8s.io/v1 volumesnapshotclasses": (
        "VolumeSnapshotClass",
        ("vsclass", "vsclasses"),
        False,
        False,
        (),
    ),
    "populator.storage.k8s.io/v1beta1 volumepopulators": (
        "VolumePopulator",
        (),
        False,
        False,
        (),
    ),
    **{
        f"gateway.networking.k8s.io/{version} referencegrants": (
            "ReferenceGrant",
            ("refgrant",),
            True,
            False,
            (),
        )
        for version in ("v1", "v1beta1")
    },
    "cbt.storage.k8s.io/v1beta1 snapshotmetadataservices": (
        "SnapshotMetadataService",
        ("sms",),
        False,
        False,
        (),
    ),
    "coordination.k8s.io/v1 leases": ("Lease", (), True, False, ()),
    "events.k8s.io/v1 events": ("Event", ("ev",), True, False, ()),
    "certificates.k8s.io/v1beta1 clustertrustbundles": (
        "ClusterTrustBundle",
        (),
        False,
        False,
        (),
    ),
}


@pytest.mark.parametrize(
    ("path", "kind", "short", "namespaced", "status", "others"),
    [(path, *row) for path, row in SERVED.items()],
    ids=SERVED,
)
def test_the_server_serves(
    path: str,
    kind: str,
    short: tuple[str, ...],
    *,
    namespaced: bool,
    status: bool,
    others: tuple[str, ...],
) -> None:
    api_version, _, plural = path.partition(" ")
    group, _, version = api_version.rpartition("/")
    found = builtin().find(group, version, plural)
    assert found is not None
    assert found.kind == kind
    assert found.short_names == short
    assert found.namespaced == namespaced
    assert found.status == status
    assert tuple(part.name for part in found.subresources) == others
    assert found.api_version == api_version


def every_kind() -> Iterator[Kind]:
    """In whichever module below `kinds/`."""
    for found in pkgutil.walk_packages(kinds.__path__, f"{kinds.__name__}."):
        module = vars(import_module(found.name))
        yield from (value for value in module.values() if isinstance(value, Kind))


def test_every_kind_that_there_is_is_served() -> None:
    assert {kind.message for kind in every_kind()} == {kind.message for kind in builtin().all()}


def test_no_other_kind_is_served() -> None:
    paths = {f"{kind.api_version} {kind.plural}" for kind in builtin().all()}
    others = {path.partition("/")[0] for path in paths - SERVED.keys()}
    assert others == {
        "authentication.k8s.io",  # reviews, see test_reviews.py
        "authorization.k8s.io",
        "groupsnapshot.storage.k8s.io",  # see test_storage_manners.py
    }


def test_all_stored_kinds_have_all_verbs_but_namespaces_go_one_by_one() -> None:
    odd = {
        kind.resource: tuple(sorted(set(READ_WRITE) - set(kind.verbs)))
        for kind in builtin().all()
        if "get" in kind.verbs and kind.verbs != READ_WRITE
    }
    assert odd == {"namespaces": ("deletecollection",)}


def test_what_get_all_shows() -> None:
    shown = {kind.plural for kind in builtin().all() if "all" in kind.categories}
    assert shown == {"pods", "replicationcontrollers", "services"}


def test_manners_of_put_and_delete() -> None:
    kinds = builtin().all()
    stored = [kind for kind in kinds if "update" in kind.verbs]
    creating = {kind.resource for kind in stored if kind.update_creates}
    rbac = "rbac.authorization.k8s.io"
    assert creating == {
        "events",
        "events.events.k8s.io",
        "leases.coordination.k8s.io",
        "services",
        "endpoints",
        f"roles.{rbac}",
        f"rolebindings.{rbac}",
        f"clusterroles.{rbac}",
        f"clusterrolebindings.{rbac}",
    }
    free = {k.plural for k in stored if not k.update_needs_version and not k.custom}
    assert free == {
        "pods",
        "nodes",
        "persistentvolumes",
        "persistentvolumeclaims",
        "storageclasses",
        "volumeattributesclasses",
        "secrets",
        "configmaps",
        "serviceaccounts",
        "namespaces",
        "events",
        "services",
        "endpoints",
        "endpointslices",
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
        "replicationcontrollers",
    }
    gone = {k.plural for k in stored if k.deleted_as_status and not k.custom}
    assert gone == {
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
        "replicationcontrollers",
        "configmaps",
        "endpoints",
        "endpointslices",
        "secrets",
        "nodes",
        "events",
        "leases",
        "csistoragecapacities",
        "clustertrustbundles",
    }


def test_only_events_and_versions_of_one_kind_share_a_table() -> None:
    tables: dict[str, list[str]] = {}
    for kind in builtin().all():
        if "get" in kind.verbs:
            tables.setdefault(kind.store_table, []).append(kind.api_version)
    shared = {table: versions for table, versions in tables.items() if len(versions) > 1}
    both = [f"groupsnapshot.storage.k8s.io/{version}" for version in ("v1beta2", "v1")]
    assert shared == {
        "events": ["v1", "events.k8s.io/v1"],
        "groupsnapshot.storage.k8s.io/volumegroupsnapshots": both,
        "groupsnapshot.storage.k8s.io/volumegroupsnapshotcontents": both,
        "groupsnapshot.storage.k8s.io/volumegroupsnapshotclasses": both,
        "gateway.networking.k8s.io/referencegrants": [
            f"gateway.networking.k8s.io/{version}" for version in ("v1beta1", "v1")
        ],
    }


def test_every_kind_has_a_message() -> None:
    messages = load().messages
    assert [kind.message for kind in builtin().all() if kind.message not in messages] == []
