"""How the storage kinds are served: under which names, and with which manners."""

import pytest

from mooring.apiserver.kinds.attachment import ATTACHMENT
from mooring.apiserver.kinds.attributes_class import ATTRIBUTES_CLASS
from mooring.apiserver.kinds.claim import CLAIM
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.csi_driver import CSI_DRIVER
from mooring.apiserver.kinds.csi_node import CSI_NODE
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
from mooring.apiserver.kinds.populator import VOLUME_POPULATOR
from mooring.apiserver.kinds.reference_grant import REFERENCE_GRANT, REFERENCE_GRANT_V1
from mooring.apiserver.kinds.snapshot import SNAPSHOT
from mooring.apiserver.kinds.snapshot_class import SNAPSHOT_CLASS
from mooring.apiserver.kinds.snapshot_content import SNAPSHOT_CONTENT
from mooring.apiserver.kinds.snapshot_metadata_service import SNAPSHOT_METADATA_SERVICE
from mooring.apiserver.kinds.storage_capacity import STORAGE_CAPACITY
from mooring.apiserver.kinds.storage_class import STORAGE_CLASS
from mooring.apiserver.kinds.volume import VOLUME

BUILT_IN = [CLAIM, VOLUME, STORAGE_CLASS, ATTRIBUTES_CLASS, ATTACHMENT, CSI_DRIVER, CSI_NODE]
BUILT_IN += [STORAGE_CAPACITY, LEASE]
CUSTOM = [SNAPSHOT, SNAPSHOT_CONTENT, SNAPSHOT_CLASS]
CUSTOM += [GROUP_SNAPSHOT, GROUP_SNAPSHOT_CONTENT, GROUP_SNAPSHOT_CLASS]
CUSTOM += [GROUP_SNAPSHOT_V1, GROUP_SNAPSHOT_CONTENT_V1, GROUP_SNAPSHOT_CLASS_V1]
CUSTOM += [VOLUME_POPULATOR, SNAPSHOT_METADATA_SERVICE, REFERENCE_GRANT, REFERENCE_GRANT_V1]
ALL = BUILT_IN + CUSTOM

SERVED: dict[str, tuple[Kind, str, tuple[str, ...], bool]] = {
    "v1/persistentvolumeclaims": (CLAIM, "PersistentVolumeClaim", ("pvc",), True),
    "v1/persistentvolumes": (VOLUME, "PersistentVolume", ("pv",), False),
    "storage.k8s.io/v1/storageclasses": (STORAGE_CLASS, "StorageClass", ("sc",), False),
    "storage.k8s.io/v1/csidrivers": (CSI_DRIVER, "CSIDriver", (), False),
    "storage.k8s.io/v1/csinodes": (CSI_NODE, "CSINode", (), False),
    "storage.k8s.io/v1/volumeattributesclasses": (
        ATTRIBUTES_CLASS,
        "VolumeAttributesClass",
        ("vac",),
        False,
    ),
    "storage.k8s.io/v1/volumeattachments": (ATTACHMENT, "VolumeAttachment", (), False),
    "storage.k8s.io/v1/csistoragecapacities": (STORAGE_CAPACITY, "CSIStorageCapacity", (), True),
    "snapshot.storage.k8s.io/v1/volumesnapshots": (SNAPSHOT, "VolumeSnapshot", ("vs",), True),
    "snapshot.storage.k8s.io/v1/volumesnapshotcontents": (
        SNAPSHOT_CONTENT,
        "VolumeSnapshotContent",
        ("vsc", "vscs"),
        False,
    ),
    "snapshot.storage.k8s.io/v1/volumesnapshotclasses": (
        SNAPSHOT_CLASS,
        "VolumeSnapshotClass",
        ("vsclass", "vsclasses"),
        False,
    ),
    "groupsnapshot.storage.k8s.io/v1beta2/volumegroupsnapshots": (
        GROUP_SNAPSHOT,
        "VolumeGroupSnapshot",
        ("vgs",),
        True,
    ),
    "groupsnapshot.storage.k8s.io/v1beta2/volumegroupsnapshotcontents": (
        GROUP_SNAPSHOT_CONTENT,
        "VolumeGroupSnapshotContent",
        ("vgsc", "vgscs"),
        False,
    ),
    "groupsnapshot.storage.k8s.io/v1beta2/volumegroupsnapshotclasses": (
        GROUP_SNAPSHOT_CLASS,
        "VolumeGroupSnapshotClass",
        ("vgsclass", "vgsclasses"),
        False,
    ),
    "coordination.k8s.io/v1/leases": (LEASE, "Lease", (), True),
}


@pytest.mark.parametrize("path", SERVED)
def test_served_as(path: str) -> None:
    kind, name, short_names, namespaced = SERVED[path]
    assert f"{kind.api_version}/{kind.plural}" == path
    assert (kind.kind, kind.short_names, kind.namespaced) == (name, short_names, namespaced)
    assert kind.message.rpartition(".")[2] == name


def having(manner: str) -> set[Kind]:
    return {kind for kind in ALL if getattr(kind, manner)}


MANNERS: dict[str, tuple[str, set[Kind]]] = {
    "a PUT needs the version it changes": (
        "update_needs_version",
        {ATTACHMENT, CSI_DRIVER, CSI_NODE, STORAGE_CAPACITY, LEASE, *CUSTOM},
    ),
    "a DELETE answers with a Status": ("deleted_as_status", {STORAGE_CAPACITY, LEASE, *CUSTOM}),
    "a PUT of what is absent creates it": ("update_creates", {LEASE}),
    "a status write keeps the metadata": (
        "status_keeps_metadata",
        {
            ATTACHMENT,
            SNAPSHOT,
            SNAPSHOT_CONTENT,
            GROUP_SNAPSHOT,
            GROUP_SNAPSHOT_CONTENT,
            GROUP_SNAPSHOT_V1,
            GROUP_SNAPSHOT_CONTENT_V1,
        },
    ),
    "changes are counted from 1": ("generation", set(CUSTOM)),
    "it is served from a CRD upstream": ("custom", set(CUSTOM)),
    "status has a path of its own": (
        "status",
        {
            CLAIM,
            VOLUME,
            ATTACHMENT,
            CSI_NODE,
            SNAPSHOT,
            SNAPSHOT_CONTENT,
            GROUP_SNAPSHOT,
            GROUP_SNAPSHOT_CONTENT,
            GROUP_SNAPSHOT_V1,
            GROUP_SNAPSHOT_CONTENT_V1,
        },
    ),
}


@pytest.mark.parametrize(("manner", "kinds"), MANNERS.values(), ids=MANNERS)
def test_manners(manner: str, kinds: set[Kind]) -> None:
    assert having(manner) == kinds


def test_no_storage_kind_has_fields_for_selectors_beyond_its_name() -> None:
    assert [kind.kind for kind in ALL if kind.fields] == []


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.api_version + "/" + kind.plural)
def test_the_first_column_is_the_name(kind: Kind) -> None:
    assert (kind.columns[0].name, kind.columns[0].format) == ("Name", "name")


WITH_AGE = [kind for kind in CUSTOM if kind is not VOLUME_POPULATOR]  # whose CRD has no such column


@pytest.mark.parametrize("kind", WITH_AGE, ids=lambda kind: kind.api_version + "/" + kind.plural)
def test_ages_of_custom_kinds_are_dates(kind: Kind) -> None:
    assert (kind.columns[-1].name, kind.columns[-1].type) == ("Age", "date")
