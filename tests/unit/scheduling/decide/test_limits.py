"""How many volumes a driver can attach to a node."""

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.kubernetes_version import V1_35
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.decide.limits import RULE
from mooring.scheduling.view import NodeView
from tests.unit.scheduling.decide.asking_rules import FINE, reasons
from tests.unit.scheduling.things import (
    DRIVER,
    Doc,
    Stored,
    a_bound_claim,
    a_claim,
    a_class,
    a_csi_node,
    a_driver,
    a_node,
    a_pod,
    a_volume,
    an_attachment,
    picture_of,
    view_of,
)

FULL = ("node(s) exceed max volume count",)
EBS = "ebs.csi.aws.com"
AWS = "kubernetes.io/aws-ebs"


def bound(*names: str, **spec: Any) -> list[Claim | Volume]:
    """For each name, a claim and its volume."""
    found: list[Claim | Volume] = [a_bound_claim(name, f"pv-{name}") for name in names]
    return found + [a_volume(f"pv-{name}", phase="Bound", **spec) for name in names]


THREE = Stored(*bound("a", "b", "c"), a_class(), a_claim("new", storage_class="local"))


def node(most: int | None, *claims: str, attached: tuple[str, ...] = ()) -> NodeView:
    """With one pod for each claim."""
    pods = [a_pod(f"pod-{claim}", claim) for claim in claims]
    links = [an_attachment(f"pv-{name}") for name in attached]
    return view_of(a_node(), *pods, csi=a_csi_node(most=most), attachments=links)


BY_HAND = Stored(
    *bound("b"),
    a_class(provisioner="kubernetes.io/no-provisioner"),
    a_claim("new", storage_class="local"),
    a_volume("free", storage_class="local"),
)
EBS_DISK: Doc = {"csi": None, "awsElasticBlockStore": {"volumeID": "vol-1"}}
OLD_NAME: Doc = {"csi": None, "awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}
IN_TREE = Stored(
    *bound("a", "b", **EBS_DISK),
    a_class(provisioner=AWS),
    a_claim("new", storage_class="local"),
)
INLINE = [{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-2"}}]


def ebs_node(most: int, *pods: Pod) -> NodeView:
    return view_of(a_node(), *pods, csi=a_csi_node(most=most, driver=EBS))


CASES: dict[str, tuple[Pod, NodeView, Stored, tuple[str, ...]]] = {
    "no volumes": (a_pod(), node(0), THREE, FINE),
    "nothing is known of the node": (a_pod("web", "a"), view_of(), THREE, FINE),
    "no limit": (a_pod("web", "a"), node(None, "b"), THREE, FINE),
    "below the limit": (a_pod("web", "a"), node(2, "b"), THREE, FINE),
    "at the limit": (a_pod("web", "a"), node(1, "b"), THREE, FULL),
    "two at once": (a_pod("web", "a", "b"), node(1), THREE, FULL),
    "no volumes at all": (a_pod("web", "a"), node(0), THREE, FULL),
    "the same volume is there already": (a_pod("web", "b"), node(1, "b"), THREE, FINE),
    "of two pods that share a volume it counts once": (
        a_pod("web", "a"),
        view_of(a_node(), a_pod("x", "b"), a_pod("y", "b"), csi=a_csi_node(most=2)),
        THREE,
        FINE,
    ),
    "a volume is still attached": (a_pod("web", "a"), node(1, attached=("b",)), THREE, FULL),
    "a pod's volume that is attached counts once": (
        a_pod("web", "a"),
        node(2, "b", attached=("b",)),
        THREE,
        FINE,
    ),
    "its own volume is still attached": (a_pod("web", "a"), node(1, attached=("a",)), THREE, FINE),
    "an attachment to a volume that is gone": (
        a_pod("web", "a"),
        node(1, attached=("gone",)),
        THREE,
        FINE,
    ),
    "a volume that is yet to be made": (a_pod("web", "new"), node(1, "b"), THREE, FULL),
    "a volume made by hand that is yet to be chosen": (
        a_pod("web", "new"),
        node(1, "b"),
        BY_HAND,
        FULL,
    ),
    "beside one that is yet to be made": (a_pod("web", "a"), node(1, "new"), THREE, FULL),
    "the limit of another driver": (
        a_pod("web", "a"),
        view_of(a_node(), a_pod("x", "b"), csi=a_csi_node(most=1, driver="other")),
        THREE,
        FINE,
    ),
    "an in-tree volume counts with the driver that took it over": (
        a_pod("web", "a"),
        ebs_node(0),
        IN_TREE,
        FULL,
    ),
    "an in-tree volume, named twice, counts once": (
        a_pod("web", "a"),
        ebs_node(1, a_pod("x", "b")),
        IN_TREE,
        FINE,
    ),
    "an in-tree class": (a_pod("web", "new"), ebs_node(0), IN_TREE, FULL),
    "a disk in the pod": (
        a_pod(volumes=INLINE),
        ebs_node(1, a_pod("x", "a")),
        IN_TREE,
        FULL,
    ),
    "beside a disk in another pod": (
        a_pod("web", "a"),
        ebs_node(1, a_pod("x", volumes=INLINE)),
        IN_TREE,
        FULL,
    ),
    "volumes of no driver": (
        a_pod("web", "a"),
        node(0),
        Stored(*bound("a", **{"csi": None, "nfs": {"server": "s", "path": "/"}})),
        FINE,
    ),
    "a claim that is not there is another rule's": (a_pod("web", "gone"), node(0), THREE, FINE),
}


@pytest.mark.parametrize(("pod", "view", "storage", "then"), CASES.values(), ids=CASES)
def test_a_node(pod: Pod, view: NodeView, storage: Stored, then: tuple[str, ...]) -> None:
    assert reasons(RULE, picture_of(pod, view, storage=storage)) == then


def test_an_old_way_to_name_a_disk_names_the_same_disk() -> None:
    storage = Stored(
        a_bound_claim("a", "pv-a"),
        a_volume("pv-a", **OLD_NAME),
        a_bound_claim("b", "pv-b"),
        a_volume("pv-b", **EBS_DISK),
    )
    view = ebs_node(1, a_pod("x", "a"))
    assert reasons(RULE, picture_of(a_pod("web", "b"), view, storage=storage)) == FINE


def test_portworx_counts_only_where_the_node_says_that_it_was_taken_over() -> None:
    plugin = "kubernetes.io/portworx-volume"
    source: Doc = {"csi": None, "portworxVolume": {"volumeID": "v"}}
    storage = Stored(*bound("a", **source))
    pod = a_pod("web", "a")
    for migrated, then in ((plugin, FULL), ("", FINE)):
        csi = a_csi_node(most=0, driver="pxd.portworx.com", migrated=migrated)
        assert reasons(RULE, picture_of(pod, view_of(csi=csi), storage=storage)) == then


MISSING = (f"{DRIVER} CSI driver is not installed on the node",)
A_NODE_WITHOUT = view_of(a_node(), csi=a_csi_node(driver="another"))
MUST, MAY = a_driver(must_be_there=True), a_driver(must_be_there=False)
DRIVERS: dict[str, tuple[CsiDriver | None, NodeView, tuple[str, ...]]] = {
    "installed": (MUST, view_of(a_node(), csi=a_csi_node()), FINE),
    "missing, and it asked for that": (MUST, A_NODE_WITHOUT, MISSING),
    "missing, and nothing is known of the node": (MUST, view_of(), MISSING),
    "missing, and it did not ask for that": (MAY, A_NODE_WITHOUT, FINE),
    "missing, and it says nothing": (a_driver(), A_NODE_WITHOUT, FINE),
    "missing, and nobody knows it": (None, A_NODE_WITHOUT, FINE),
    "installed, and full": (MUST, node(1, "b"), FULL),
}


@pytest.mark.parametrize("claim", ["a", "new"])
@pytest.mark.parametrize(("driver", "view", "then"), DRIVERS.values(), ids=DRIVERS)
def test_a_driver_that_asks_for_it_gets_no_pod_where_it_is_missing(
    driver: CsiDriver | None, view: NodeView, then: tuple[str, ...], claim: str
) -> None:
    things = (*bound("a", "b"), a_class(), a_claim("new", storage_class="local"))
    storage = Stored(*things, *([driver] if driver else []))
    assert reasons(RULE, picture_of(a_pod("web", claim), view, storage=storage)) == then


def test_no_driver_is_missed_in_1_35() -> None:
    picture = picture_of(a_pod("web", "a"), A_NODE_WITHOUT, storage=Stored(*bound("a"), MUST))
    assert reasons(RULE, replace(picture, release=V1_35)) == FINE


def test_attachments_that_no_pod_explains_count_where_drivers_are_looked_for() -> None:
    storage = Stored(*bound("a", "b"), MUST)
    view = node(1, attached=("b",))
    assert reasons(RULE, picture_of(a_pod("web", "a"), view, storage=storage)) == FULL


MINE = a_pod("web", "a")
WAKES: dict[str, tuple[Pod, Change, bool]] = {
    "a driver registers": (MINE, Change(None, a_csi_node()), True),
    "a limit is raised": (MINE, Change(a_csi_node(most=1), a_csi_node(most=2)), True),
    "a limit is lowered": (MINE, Change(a_csi_node(most=2), a_csi_node(most=1)), False),
    "a limit is lifted": (MINE, Change(a_csi_node(most=2), a_csi_node()), True),
    "a node with a limit says nothing any more": (MINE, Change(a_csi_node(most=2), None), True),
    "a node without a limit says nothing any more": (MINE, Change(a_csi_node(), None), False),
    "a pod with volumes leaves its node": (MINE, Change(a_pod("x", "b", node="n1"), None), True),
    "a pod without volumes leaves its node": (MINE, Change(a_pod("x", node="n1"), None), False),
    "a pod that had no node goes": (MINE, Change(a_pod("x", "b"), None), False),
    "a volume is detached": (MINE, Change(an_attachment("b"), None), True),
    "a volume is attached": (MINE, Change(None, an_attachment("b")), False),
    "its claim comes": (MINE, Change(None, a_claim("a")), True),
    "another claim comes": (MINE, Change(None, a_claim("b")), False),
    "a driver without a limit comes": (
        MINE,
        Change(a_csi_node(driver="another"), a_csi_node()),
        True,
    ),
    "a driver asks to be there no more": (MINE, Change(MUST, MAY), True),
    "a driver that asked to be there is gone": (MINE, Change(MUST, None), True),
    "a driver asks to be there": (MINE, Change(MAY, MUST), False),
    "a driver's limit is unchanged": (
        MINE,
        Change(a_csi_node(most=1), a_csi_node(most=1, driver=DRIVER)),
        False,
    ),
}


@pytest.mark.parametrize(("pod", "change", "then"), WAKES.values(), ids=WAKES)
def test_what_wakes(pod: Pod, change: Change, then: bool) -> None:  # noqa: FBT001 - a column
    assert RULE.is_woken(pod, change) is then
