import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest

from mooring.apiserver import kinds
from mooring.apiserver.custom.structure import VersionStructure
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
    "v1 podtemplates": ("PodTemplate", (), True, False, ()),
    "v1 replicationcontrollers": ("ReplicationController", ("rc",), True, True, ("scale",)),
    "apps/v1 deployments": ("Deployment", ("deploy",), True, True, ("scale",)),
    "apps/v1 replicasets": ("ReplicaSet", ("rs",), True, True, ("scale",)),
    "apps/v1 statefulsets": ("StatefulSet", ("sts",), True, True, ("scale",)),
    "apps/v1 daemonsets": ("DaemonSet", ("ds",), True, True, ()),
    "apps/v1 controllerrevisions": ("ControllerRevision", (), True, False, ()),
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
    "scheduling.k8s.io/v1 priorityclasses": ("PriorityClass", ("pc",), False, False, ()),
    "v1 resourcequotas": ("ResourceQuota", ("quota",), True, True, ()),
    "v1 limitranges": ("LimitRange", ("limits",), True, False, ()),
    "networking.k8s.io/v1 networkpolicies": ("NetworkPolicy", ("netpol",), True, False, ()),
    "batch/v1 jobs": ("Job", (), True, True, ()),
    "batch/v1 cronjobs": ("CronJob", ("cj",), True, True, ()),
    "policy/v1 poddisruptionbudgets": ("PodDisruptionBudget", ("pdb",), True, True, ()),
    "apiextensions.k8s.io/v1 customresourcedefinitions": (
        "CustomResourceDefinition",
        ("crd", "crds"),
        False,
        True,
        (),
    ),
    "events.k8s.io/v1 events": ("Event", ("ev",), True, False, ()),
    "certificates.k8s.io/v1beta1 clustertrustbundles": (
        "ClusterTrustBundle",
        (),
        False,
        False,
        (),
    ),
    **{
        f"admissionregistration.k8s.io/v1 {kind.lower()}s": (kind, (), False, False, ())
        for kind in (
            *("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
            *("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"),
        )
    },
    "storagemigration.k8s.io/v1 storageversionmigrations": (
        "StorageVersionMigration",
        (),
        False,
        True,
        (),
    ),
    "admissionregistration.k8s.io/v1 mutatingadmissionpolicies": (
        "MutatingAdmissionPolicy",
        (),
        False,
        False,
        (),
    ),
    "admissionregistration.k8s.io/v1 validatingadmissionpolicies": (
        "ValidatingAdmissionPolicy",
        (),
        False,
        True,
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
    assert shown == {
        *("cronjobs", "daemonsets", "deployments", "jobs", "pods"),
        *("replicasets", "replicationcontrollers", "services", "statefulsets"),
    }


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
        "controllerrevisions",
        "daemonsets",
        "deployments",
        "replicasets",
        "statefulsets",
        "replicationcontrollers",
        "podtemplates",
        "priorityclasses",
        "jobs",
        "networkpolicies",
        "resourcequotas",
        "limitranges",
        "cronjobs",
    }
    gone = {k.plural for k in stored if k.deleted_as_status and not k.custom}
    assert gone == {
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
        "controllerrevisions",
        "daemonsets",
        "deployments",
        "replicasets",
        "statefulsets",
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
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "storageversionmigrations",
        "priorityclasses",
        "jobs",
        "networkpolicies",
        "limitranges",
        "cronjobs",
        "poddisruptionbudgets",
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


# kinds of definitions


def a_custom_kind(version: str = "v1", digest: str = "one") -> Kind:
    def no_schema() -> dict[str, object]:
        return {}

    return Kind(
        group="x.io",
        version=version,
        kind="Thing",
        plural="things",
        message="x.io/v1.Thing",
        namespaced=True,
        structure=VersionStructure(no_schema, None, digest),
    )


def test_the_kinds_of_a_definition_come_and_go_as_one() -> None:
    kinds = Kinds((a_kind("y.io", "v1"),))
    v1, v2 = a_custom_kind("v1"), a_custom_kind("v2")
    kinds.serve("things.x.io", (v1, v2), v2)
    assert kinds.find("x.io", "v1", "things") is v1
    assert kinds.of_table("x.io/things") is v2
    kinds.serve("things.x.io", (v2,), v2)
    assert kinds.find("x.io", "v1", "things") is None
    kinds.withdraw("things.x.io")
    assert kinds.find("x.io", "v2", "things") is None
    assert kinds.of_table("x.io/things") is None
    assert [group.name for group in kinds.groups()] == ["y.io"]


def test_a_version_that_is_only_stored_is_known_by_its_table() -> None:
    kinds = Kinds()
    served, stored = a_custom_kind("v1"), a_custom_kind("v0")
    kinds.serve("things.x.io", (served,), stored)
    assert kinds.stored() == (stored,)
    assert kinds.all() == (served,)


def test_a_built_in_kind_keeps_its_path() -> None:
    builtin_thing = a_kind("x.io", "v1")
    kinds = Kinds((builtin_thing,))
    assert kinds.is_builtin("x.io", "things")
    assert not kinds.is_builtin("x.io", "others")


def test_who_waits_for_the_end_of_a_kind_is_called_once() -> None:
    kinds, ended = Kinds(), list[str]()
    old = a_custom_kind()
    kinds.serve("things.x.io", (old,), old)
    kinds.when_replaced(old, lambda: ended.append("a"))
    kinds.when_replaced(old, lambda: ended.append("b"))()  # called off at once
    same = a_custom_kind()
    kinds.serve("things.x.io", (same,), same)
    assert ended == []  # what documents show is the same
    other = a_custom_kind(digest="two")
    kinds.serve("things.x.io", (other,), other)
    kinds.withdraw("things.x.io")
    assert ended == ["a"]


def test_listeners_hear_of_kinds_that_join_change_and_leave() -> None:
    kinds, heard = Kinds(), list[bool]()
    kinds.subscribe(lambda kind: heard.append(kinds.of_table(kind.store_table) is not None))
    kind = a_custom_kind()
    kinds.serve("things.x.io", (kind,), kind)
    kinds.withdraw("things.x.io")
    assert heard == [True, False]
