"""What a node does next about one volume."""

import pytest
from msgspec.structs import replace

from mooring.node.actual import Attachability, DeviceState, PodState
from mooring.node.decide import decide, is_waiting_for_label
from mooring.node.plan import (
    Attach,
    Detach,
    Forget,
    Grow,
    Map,
    Mount,
    Operation,
    Unmap,
    UnmapDevice,
    Unmount,
    UnmountDevice,
    VerifyAttached,
)
from mooring.node.view import View
from tests.unit.node.things import BLOCK, NAME, a_mount, a_wanted, an_actual

NOT_MOUNTED = DeviceState.NOT_MOUNTED
UNCERTAIN = PodState.UNCERTAIN
ATTACHED_HERE = replace(an_actual(device=NOT_MOUNTED), attachability=Attachability.YES)
FOUND_HERE = replace(ATTACHED_HERE, attachability=Attachability.UNCERTAIN)

TABLE: dict[str, tuple[View, tuple[Operation, ...]]] = {
    "a volume that is not here is looked for": (
        View(NAME, a_wanted("p1"), None),
        (VerifyAttached(NAME),),
    ),
    "an attachable volume waits until the API knows that it is used": (
        View(NAME, a_wanted("p1", is_attachable=True), None),
        (),
    ),
    "an attachable volume is looked for once the API knows that it is used": (
        View(NAME, a_wanted("p1", is_attachable=True, reported_in_use=True), None),
        (VerifyAttached(NAME),),
    ),
    "an attachable volume is not verified until the node's status lists it": (
        View(
            NAME,
            a_wanted("p1", is_attachable=True, reported_in_use=True),
            None,
            is_attached=False,
        ),
        (),
    ),
    "what was found on disk waits until the API knows that it is used": (
        View(NAME, a_wanted("p1", is_attachable=True), FOUND_HERE),
        (),
    ),
    "what was found on disk is not mounted until the node's status lists it": (
        View(
            NAME,
            a_wanted("p1", is_attachable=True, reported_in_use=True),
            FOUND_HERE,
            is_attached=False,
        ),
        (),
    ),
    "what was found on disk is verified before it is mounted": (
        View(NAME, a_wanted("p1", is_attachable=True, reported_in_use=True), FOUND_HERE),
        (VerifyAttached(NAME),),
    ),
    "what was not attached before its driver asked for it is verified": (
        View(
            NAME,
            a_wanted("p1", is_attachable=True, reported_in_use=True),
            an_actual(a_mount("p2")),
        ),
        (Unmount(NAME, "p2"), VerifyAttached(NAME)),
    ),
    "what was found on disk and need not be attached is mounted": (
        View(NAME, a_wanted("p1"), FOUND_HERE),
        (Mount(NAME, "p1"),),
    ),
    "what need not be attached waits for no status": (
        View(NAME, a_wanted("p1"), None, is_attached=False),
        (VerifyAttached(NAME),),
    ),
    "a node that attaches itself attaches again what may be detached": (
        View(
            NAME,
            a_wanted("p1", is_attachable=True),
            FOUND_HERE,
            attaches_itself=True,
        ),
        (Attach(NAME),),
    ),
    "a node that attaches itself mounts what certainly is attached": (
        View(NAME, a_wanted("p1", is_attachable=True), ATTACHED_HERE, attaches_itself=True),
        (Mount(NAME, "p1"),),
    ),
    "a node that attaches itself asks nobody": (
        View(NAME, a_wanted("p1", is_attachable=True), None, attaches_itself=True),
        (Attach(NAME),),
    ),
    "a node that attaches itself detaches what nobody wants": (
        View(NAME, None, ATTACHED_HERE, attaches_itself=True),
        (Detach(NAME),),
    ),
    "what nobody wants is forgotten, and the controller detaches it": (
        View(NAME, None, ATTACHED_HERE),
        (Forget(NAME),),
    ),
    "a volume that is here is mounted": (
        View(NAME, a_wanted("p1"), an_actual(device=NOT_MOUNTED)),
        (Mount(NAME, "p1"),),
    ),
    "a block volume is mapped": (
        View(NAME, a_wanted("p1", use=BLOCK), an_actual(use=BLOCK)),
        (Map(NAME, "p1"),),
    ),
    "a block volume that nobody wants is unmapped": (
        View(NAME, None, an_actual(a_mount("p1", use=BLOCK), use=BLOCK)),
        (Unmap(NAME, "p1"),),
    ),
    "the device of an unmapped block volume is torn down": (
        View(NAME, None, an_actual(use=BLOCK)),
        (UnmapDevice(NAME),),
    ),
    "a second pod gets the volume beside the first": (
        View(NAME, a_wanted("p1", "p2"), an_actual(a_mount("p1"))),
        (Mount(NAME, "p2"),),
    ),
    "a pod that leaves does not take the device with it": (
        View(NAME, a_wanted("p2"), an_actual(a_mount("p1"), a_mount("p2"))),
        (Unmount(NAME, "p1"),),
    ),
    "an uncertain mount is mounted again while it is wanted": (
        View(NAME, a_wanted("p1"), an_actual(a_mount("p1", UNCERTAIN))),
        (Mount(NAME, "p1"),),
    ),
    "an uncertain mount is torn down when it is not wanted": (
        View(NAME, None, an_actual(a_mount("p1", UNCERTAIN))),
        (Unmount(NAME, "p1"),),
    ),
    "an uncertain device is unmounted": (
        View(NAME, None, an_actual(device=DeviceState.UNCERTAIN)),
        (UnmountDevice(NAME),),
    ),
    "a device that certainly is not mounted is not unmounted": (
        View(NAME, None, an_actual(device=NOT_MOUNTED)),
        (Forget(NAME),),
    ),
    "content that may be out of date is set up again": (
        View(NAME, a_wanted("p1"), an_actual(a_mount("p1", wants_remount=True))),
        (Mount(NAME, "p1"),),
    ),
    "unmounts of two pods go side by side": (
        View(NAME, None, an_actual(a_mount("p1"), a_mount("p2"))),
        (Unmount(NAME, "p1"), Unmount(NAME, "p2")),
    ),
    "a device waits for running unmounts": (
        View(NAME, None, an_actual(), busy=frozenset({"p1"})),
        (),
    ),
    "a running unmount does not keep another from starting": (
        View(NAME, None, an_actual(a_mount("p1"), a_mount("p2")), busy=frozenset({"p1"})),
        (Unmount(NAME, "p2"),),
    ),
    "nothing starts beside an operation on the volume": (
        View(NAME, a_wanted("p2"), an_actual(a_mount("p1")), busy=frozenset({""})),
        (),
    ),
    "a pod that comes waits for one that is being unmounted": (
        View(NAME, a_wanted("p2"), an_actual(a_mount("p1")), busy=frozenset({"p1"})),
        (),
    ),
    "a pod that comes does not wait for one that cannot be unmounted": (
        View(NAME, a_wanted("p2"), an_actual(a_mount("p1", UNCERTAIN))),
        (Unmount(NAME, "p1"), Mount(NAME, "p2")),
    ),
    "of two pods that come, both are to be mounted": (
        View(NAME, a_wanted("p1", "p2"), an_actual()),
        (Mount(NAME, "p1"), Mount(NAME, "p2")),
    ),
    "nothing is unmounted before both pictures are complete": (
        View(NAME, None, an_actual(a_mount("p1")), may_destroy=False),
        (),
    ),
    "no device is unmounted before both pictures are complete": (
        View(NAME, None, an_actual(), may_destroy=False),
        (),
    ),
    "what a pod has stays while it may want more than is known": (
        View(
            NAME,
            None,
            an_actual(a_mount("p1"), a_mount("p2")),
            unsure=frozenset({"p1"}),
        ),
        (Unmount(NAME, "p2"),),
    ),
    "what is wanted is mounted before both pictures are complete": (
        View(NAME, a_wanted("p1"), an_actual(a_mount("p1", UNCERTAIN)), may_destroy=False),
        (Mount(NAME, "p1"),),
    ),
    "a volume that has grown grows here": (
        View(
            NAME,
            a_wanted("p1", capacity=2),
            an_actual(a_mount("p1"), size=1),
            grows_on_node=True,
        ),
        (Grow(NAME),),
    ),
    "not when its size here is not known": (
        View(NAME, a_wanted("p1", capacity=2), an_actual(a_mount("p1")), grows_on_node=True),
        (),
    ),
    "not when its plugin has nothing to do for it": (
        View(NAME, a_wanted("p1", capacity=2), an_actual(a_mount("p1"), size=1)),
        (),
    ),
    "a volume that refuses to grow in use is not tried again": (
        View(
            NAME,
            a_wanted("p1", capacity=2),
            replace(an_actual(a_mount("p1"), size=1), refuses_growth=True),
            grows_on_node=True,
        ),
        (),
    ),
    "a remount comes before growing": (
        View(
            NAME,
            a_wanted("p1", capacity=2),
            an_actual(a_mount("p1", wants_remount=True), size=1),
            grows_on_node=True,
        ),
        (Mount(NAME, "p1"),),
    ),
    "a volume wanted under another SELinux label: the old pod is unmounted first": (
        View(
            NAME,
            a_wanted("p2", selinux_label="new"),
            an_actual(a_mount("p1"), selinux_label="old"),
        ),
        (Unmount(NAME, "p1"),),
    ),
    "a volume wanted under another SELinux label: then its device is unmounted": (
        View(NAME, a_wanted("p2", selinux_label="new"), an_actual(selinux_label="old")),
        (UnmountDevice(NAME),),
    ),
    "a volume wanted under another SELinux label: then it is mounted anew": (
        View(NAME, a_wanted("p2", selinux_label="new"), an_actual(device=NOT_MOUNTED)),
        (Mount(NAME, "p2"),),
    ),
    "all is well": (View(NAME, a_wanted("p1"), an_actual(a_mount("p1"))), ()),
    "a volume that nobody knows": (View(NAME, None, None), ()),
}


@pytest.mark.parametrize(("view", "operations"), TABLE.values(), ids=TABLE)
def test_next_for_a_volume(view: View, operations: tuple[Operation, ...]) -> None:
    assert decide(view).operations == operations


def test_a_pod_is_told_that_it_waits_for_another_label() -> None:
    wanted = a_wanted("p2", selinux_label="new")
    assert is_waiting_for_label(View(NAME, wanted, an_actual(selinux_label="old")))
    assert not is_waiting_for_label(View(NAME, wanted, an_actual(device=NOT_MOUNTED)))
