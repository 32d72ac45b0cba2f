"""Claims and disks that only one may use."""

import pytest

from mooring.model.pod import Pod
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.decide.restrictions import RULE
from tests.unit.scheduling.decide.asking_rules import FINE, reasons
from tests.unit.scheduling.things import (
    Doc,
    Stored,
    a_bound_claim,
    a_claim,
    a_node,
    a_pod,
    picture_of,
    view_of,
)

DISK = ("node(s) had no available disk",)
TAKEN = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod",
)
ONE_POD: Doc = {"accessModes": ["ReadWriteOncePod"]}


def with_disk(name: str, **source: Doc) -> Pod:
    return a_pod(name, volumes=[{"name": "disk", **source}])


def ebs(volume: str, **more: bool) -> Doc:
    return {"awsElasticBlockStore": {"volumeID": volume, **more}}


def gce(name: str, **more: bool) -> Doc:
    return {"gcePersistentDisk": {"pdName": name, **more}}


def iscsi(iqn: str, **more: bool) -> Doc:
    return {"iscsi": {"iqn": iqn, "targetPortal": "1.2.3.4", "lun": 0, **more}}


def rbd(image: str, *monitors: str, pool: str = "rbd", **more: bool) -> Doc:
    return {"rbd": {"image": image, "pool": pool, "monitors": list(monitors), **more}}


RO: Doc = {"readOnly": True}
DISKS: dict[str, tuple[Doc, Doc, tuple[str, ...]]] = {
    "the same EBS volume": (ebs("v1"), ebs("v1"), DISK),
    "the same EBS volume, only read": (ebs("v1", **RO), ebs("v1", **RO), DISK),
    "another EBS volume": (ebs("v1"), ebs("v2"), FINE),
    "the same GCE disk": (gce("d1"), gce("d1"), DISK),
    "the same GCE disk, one only reads": (gce("d1", **RO), gce("d1"), DISK),
    "the same GCE disk, both only read": (gce("d1", **RO), gce("d1", **RO), FINE),
    "the same iSCSI target": (iscsi("a"), iscsi("a"), DISK),
    "the same iSCSI target, both only read": (iscsi("a", **RO), iscsi("a", **RO), FINE),
    "another iSCSI target": (iscsi("a"), iscsi("b"), FINE),
    "the same RBD image": (rbd("i", "m1", "m2"), rbd("i", "m2", "m3"), DISK),
    "the same RBD image of another cluster": (rbd("i", "m1"), rbd("i", "m2"), FINE),
    "the same RBD image in another pool": (rbd("i", "m1", pool="p"), rbd("i", "m1"), FINE),
    "the same RBD image, both only read": (rbd("i", "m1", **RO), rbd("i", "m1", **RO), FINE),
    "disks of different kinds": (ebs("v1"), gce("v1"), FINE),
}


@pytest.mark.parametrize(("mine", "theirs", "then"), DISKS.values(), ids=DISKS)
def test_disks(mine: Doc, theirs: Doc, then: tuple[str, ...]) -> None:
    node = view_of(a_node(), with_disk("other", **theirs))
    assert reasons(RULE, picture_of(with_disk("web", **mine), node)) == then


CLAIMS: dict[str, tuple[Pod, Stored, tuple[str, ...]]] = {
    "an ordinary claim that another uses": (
        a_pod("web", "data"),
        Stored(a_bound_claim(), used=["data"]),
        FINE,
    ),
    "a claim for one pod, unused": (a_pod("web", "data"), Stored(a_bound_claim(**ONE_POD)), FINE),
    "a claim for one pod, used": (
        a_pod("web", "data"),
        Stored(a_bound_claim(**ONE_POD), used=["data"]),
        TAKEN,
    ),
    "a claim that is not there": (
        a_pod("web", "data"),
        Stored(),
        ('persistentvolumeclaim "data" not found',),
    ),
    "an ephemeral claim that is not there is another rule's": (
        a_pod(volumes=[{"name": "v", "ephemeral": {}}]),
        Stored(),
        FINE,
    ),
    "no claim": (a_pod(), Stored(), FINE),
}


@pytest.mark.parametrize(("pod", "storage", "then"), CLAIMS.values(), ids=CLAIMS)
def test_claims(pod: Pod, storage: Stored, then: tuple[str, ...]) -> None:
    assert reasons(RULE, picture_of(pod, storage=storage)) == then


MINE = a_pod("web", "data")
WAKES: dict[str, tuple[Pod, Change, bool]] = {
    "its claim comes": (MINE, Change(None, a_claim()), True),
    "another claim comes": (MINE, Change(None, a_claim("other")), False),
    "its claim changes": (MINE, Change(a_claim(), a_claim()), False),
    "a pod with the same claim goes": (MINE, Change(a_pod("x", "data", node="n1"), None), True),
    "a pod with another claim goes": (MINE, Change(a_pod("x", "other", node="n1"), None), False),
    "a pod with the same disk goes": (
        with_disk("web", **ebs("v1")),
        Change(with_disk("x", **ebs("v1")), None),
        True,
    ),
    "a pod with another disk goes": (
        with_disk("web", **ebs("v1")),
        Change(with_disk("x", **ebs("v2")), None),
        False,
    ),
    "a node comes": (MINE, Change(None, a_node()), True),
    "a node changes": (MINE, Change(a_node(), a_node()), False),
}


@pytest.mark.parametrize(("pod", "change", "then"), WAKES.values(), ids=WAKES)
def test_what_wakes(pod: Pod, change: Change, then: bool) -> None:  # noqa: FBT001 - a column
    assert RULE.is_woken(pod, change) is then
