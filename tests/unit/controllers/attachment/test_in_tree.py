"""Volumes that nodes reach by themselves: a node's list is all there is."""

import pytest
from msgspec.structs import replace

from mooring.controllers.attachment.actual import Memory, VolumeOnNode
from mooring.controllers.attachment.decide import decide
from mooring.controllers.attachment.plan import (
    CountForced,
    Forget,
    LookAgain,
    Remember,
    Report,
    Step,
    Withdraw,
)
from mooring.controllers.attachment.resolve import AttachableVolume, NoCsi, resolve_inline
from mooring.controllers.attachment.view import VolumeOnNodeView, VolumeView
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.steps import Emit
from mooring.model.volume_source import FcSource, IscsiSource, NfsSource
from mooring.model.wellknown import Plugin
from mooring.plugins.csi.attachment_name import CsiName, find_csi_name
from tests.unit.controllers.attachment.things import NOW, a_node, a_place, a_pod, a_view

DISK = CsiName(Plugin.ISCSI, "10.0.0.1:iqn.2026-11.com.example:disks:1")
VOLUME = AttachableVolume(DISK, "pv1", is_exclusive=True)
POD, OTHER = a_pod("p1", created="2026-01-01T00:00:00Z"), a_pod("p2")
LEAVING = Memory(leaving_since=NOW - 1, is_withdrawn=True)
LONG_AGO = Memory(leaving_since=NOW - 360)


def node(name: str = "n1", *, in_use: bool = False, **fields: bool) -> Node:
    made = a_node(name, **fields)
    used = (DISK.unique,) if in_use else ()
    return replace(made, status=replace(made.status, volumes_in_use=used))


def place(name: str, *pods: Pod, **fields: object) -> VolumeOnNodeView:
    made = a_place(name, None, *pods, **{"on": node(name), **fields})  # type: ignore[arg-type]
    return replace(made, where=VolumeOnNode(DISK.unique, name))


def view(*places: VolumeOnNodeView, volume: AttachableVolume | None = VOLUME) -> VolumeView:
    return replace(a_view(*places, volume=volume), name=DISK.unique, csi=DISK)


USED = node(in_use=True)
ROWS: dict[str, tuple[VolumeView, tuple[type[Step], ...]]] = {
    "wanted: it is put on the list": (view(place("n1", POD)), (Emit, Report)),
    "on the list: that is all": (view(place("n1", POD, reported=True)), ()),
    "wanted again while it leaves: without an event": (
        view(place("n1", POD, memory=LEAVING)),
        (Remember, Report),
    ),
    "not on the list of a node that attaches for itself": (
        view(place("n1", POD, on=node(managed=False))),
        (),
    ),
    "another node has it": (
        view(place("n1", POD, reported=True), place("n2", OTHER)),
        (Emit, Emit, Remember, LookAgain, LookAgain),
    ),
    "another node uses it, though its list does not say so": (
        view(place("n1", on=USED), place("n2", OTHER)),
        (Report, Remember, Emit, Remember, LookAgain),
    ),
    "not wanted: it leaves the list first": (
        view(place("n1", reported=True), volume=None),
        (Remember, Withdraw),
    ),
    "off the list and not in use: it is gone": (
        view(place("n1", read=True, memory=LEAVING), volume=None),
        (Forget,),
    ),
    "who waits for it is looked at again": (
        view(place("n1", read=True, memory=LEAVING), place("n2", OTHER)),
        (Forget, LookAgain),
    ),
    "off the list and in use: it is put back": (
        view(place("n1", read=True, memory=LEAVING, on=USED), volume=None),
        (Report, Remember),
    ),
    "in use on a node that is ready: it stays": (
        view(place("n1", reported=True, on=USED), volume=None),
        (Remember,),
    ),
    "in use on a node that is not ready: until the wait is over": (
        view(place("n1", reported=True, on=node(in_use=True, ready=False)), volume=None),
        (Remember, LookAgain),
    ),
    "the wait is over: off the list first": (
        view(
            place("n1", reported=True, on=node(in_use=True, ready=False), memory=LONG_AGO),
            volume=None,
        ),
        (Remember, Withdraw),
    ),
    "then it is taken by force": (
        view(
            place(
                "n1",
                read=True,
                on=node(in_use=True, ready=False),
                memory=replace(LONG_AGO, is_withdrawn=True),
            ),
            volume=None,
        ),
        (CountForced, Forget),
    ),
    "nothing is known of it": (view(place("n1"), volume=None), (Forget,)),
}


@pytest.mark.parametrize(("seen", "steps"), ROWS.values(), ids=[*ROWS])
def test_row(seen: VolumeView, steps: tuple[type[Step], ...]) -> None:
    assert tuple(type(step) for step in decide(seen).steps) == steps


def test_several_nodes_may_share_what_is_not_exclusive() -> None:
    shared = replace(VOLUME, is_exclusive=False)
    seen = view(place("n1", POD, reported=True), place("n2", OTHER), volume=shared)
    assert Report(VolumeOnNode(DISK.unique, "n2")) in decide(seen).steps


def test_of_two_nodes_that_want_it_at_once_one_gets_it() -> None:
    steps = decide(view(place("n1", OTHER), place("n2", POD))).steps
    assert len([step for step in steps if isinstance(step, Report)]) == 1


@pytest.mark.parametrize(
    ("volume", "name"),
    [
        (
            PodVolume(name="v", iscsi=IscsiSource("10.0.0.1", "iqn.x:y", 1)),
            "kubernetes.io/iscsi/10.0.0.1:iqn.x:y:1",
        ),
        (PodVolume(name="v", fc=FcSource(("5006",), 2)), "kubernetes.io/fc/[5006]:2"),
        (PodVolume(name="v", fc=FcSource(wwids=("a", "b"))), "kubernetes.io/fc/[a b]"),
    ],
)
def test_their_names_on_the_lists_of_nodes(volume: PodVolume, name: str) -> None:
    found = resolve_inline(volume, "ns")
    assert isinstance(found, AttachableVolume)
    assert (found.name, found.is_exclusive) == (name, False)
    assert find_csi_name(name) == found.csi


def test_nfs_is_not_attached() -> None:
    assert resolve_inline(PodVolume(name="v", nfs=NfsSource("a", "/b")), "ns") == NoCsi()
