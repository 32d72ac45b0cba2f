"""What becomes of claims that ask for more than they have."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.controllers.expansion.decide import decide
from mooring.controllers.expansion.plan import (
    AwaitNode,
    Finish,
    ForgetBefore,
    GrowBackEnd,
    GrowVolume,
    NameResizer,
    Start,
    Step,
)
from mooring.controllers.expansion.view import ClaimView, wakes
from mooring.model import expansion
from mooring.model.claim import Claim
from mooring.model.event import EventType
from mooring.model.expansion import NodeMove, decide_node, find_resize_status, node_target
from mooring.model.quantity import parse
from mooring.model.steps import Emit, Fail
from mooring.model.volume import Volume
from mooring.model.wire import read_document

Doc = dict[str, Any]

NOW = "2026-01-02T03:04:05Z"
PRE_RESIZE = "volume.alpha.kubernetes.io/pre-resize-capacity"
RESIZER = "volume.kubernetes.io/storage-resizer"
FLEX: Doc = {"flexVolume": {"driver": "example.com/flex"}}
CSI: Doc = {"csi": {"driver": "d.example.com", "volumeHandle": "h"}}
GCE: Doc = {"gcePersistentDisk": {"pdName": "disk"}}


def a_claim(
    asks: str = "10Gi",
    has: str = "5Gi",
    *,
    phase: str = "Bound",
    allocated: str = "",
    at: str = "",
    resizer: str = "",
) -> Claim:
    status: Doc = {"phase": phase, "capacity": {"storage": has}}
    if allocated:
        status["allocatedResources"] = {"storage": allocated}
    if at:
        status["allocatedResourceStatuses"] = {"storage": at}
    metadata: Doc = {"name": "data", "namespace": "ns", "uid": "u"}
    metadata["annotations"] = {RESIZER: resizer} if resizer else {}
    spec = {"volumeName": "disk", "resources": {"requests": {"storage": asks}}}
    return read_document({"metadata": metadata, "spec": spec, "status": status}, Claim)


def a_volume(
    source: Doc = FLEX, size: str = "5Gi", *, uid: str = "u", before: str = "", mode: str = ""
) -> Volume:
    spec = {"capacity": {"storage": size}, "volumeMode": mode or "Filesystem", **source}
    if uid:
        spec["claimRef"] = {"namespace": "ns", "name": "data", "uid": uid}
    metadata: Doc = {"name": "disk", "annotations": {PRE_RESIZE: before} if before else {}}
    return read_document({"metadata": metadata, "spec": spec}, Volume)


OUTSIDE = "tell ExternalExpanding: waiting for an external controller to expand this PVC"
MIGRATED = (
    "tell ExternalExpanding: CSI migration enabled for kubernetes.io/gce-pd; "
    "waiting for external resizer to expand the pvc"
)
DRIVER = "pd.csi.storage.gke.io"
NAMED = f"name {DRIVER}"
START = "start 10Gi by example.com/flex"
BACK = "back end from 5Gi to 10Gi"
TOLD = "tell VolumeResizeSuccessful: ExpandVolume succeeded for volume ns/data"


def say(step: Step) -> str:
    match step:
        case Start(size, resizer):
            return f"start {size} by {resizer}"
        case GrowBackEnd(_, size, before):
            return f"back end from {before} to {size}"
        case GrowVolume(_, size, before):
            return f"grow to {size}" + ("" if before is None else f" from {before}")
        case AwaitNode():
            return "await a node"
        case Finish(size):
            return f"finish {size}"
        case ForgetBefore():
            return "forget the old size"
        case NameResizer(resizer):
            return f"name {resizer}"
        case Emit(_, kind, reason, message):
            return f"{'tell' if kind is EventType.NORMAL else 'warn'} {reason}: {message}"
        case Fail(message):
            return f"fail: {message}"


TABLE: dict[str, tuple[Claim, Volume | None, tuple[str, ...]]] = {
    "not bound: nothing": (a_claim(phase="Pending"), a_volume(), ()),
    "lost: nothing": (a_claim(phase="Lost"), None, ()),
    "has what it asks for: nothing": (a_claim("5Gi"), a_volume(), ()),
    "has more than it asks for: nothing": (a_claim("4Gi"), a_volume(), ()),
    # somebody else's work
    "a CSI volume: its resizer is waited for": (a_claim(), a_volume(CSI), (OUTSIDE,)),
    "a volume that nobody can grow: the same": (
        a_claim(),
        a_volume({"hostPath": {"path": "/x"}}),
        (OUTSIDE,),
    ),
    "a grown CSI volume that remembers its old size: its resizer is waited for": (
        a_claim("5Gi"),
        a_volume(CSI, before="1Gi"),
        (OUTSIDE,),
    ),
    "a migrated volume: the driver is named": (
        a_claim(),
        a_volume(GCE),
        (MIGRATED, NAMED),
    ),
    "a migrated volume, another driver named: the right one is": (
        a_claim(resizer="old.example.com"),
        a_volume(GCE),
        (MIGRATED, NAMED),
    ),
    "a migrated volume, the driver named before: only told": (
        a_claim(resizer=DRIVER),
        a_volume(GCE),
        (MIGRATED,),
    ),
    # FlexVolume: the driver, where there is one
    "flex: started, grown with the old size remembered, left to a node": (
        a_claim(),
        a_volume(),
        (START, BACK, "grow to 10Gi from 5Gi", "await a node"),
    ),
    "flex as a block device: started, grown, finished": (
        a_claim(),
        a_volume(mode="Block"),
        (START, BACK, "grow to 10Gi", "finish 10Gi", TOLD),
    ),
    "flex in a mode nobody knows: not finished on a guess": (
        a_claim(),
        a_volume(mode="Tape"),
        (START, BACK, "grow to 10Gi from 5Gi", "await a node"),
    ),
    "flex, somebody is at work in a way nobody knows: nothing": (
        a_claim(allocated="7Gi", at="DefrostInProgress"),
        a_volume(),
        (),
    ),
    "flex that still remembers a smaller size: that one stays": (
        a_claim(),
        a_volume(before="1Gi"),
        (START, BACK, "grow to 10Gi from 1Gi", "await a node"),
    ),
    "flex, stopped after the start: grown, left to a node": (
        a_claim(allocated="10Gi", at="ControllerResizeInProgress"),
        a_volume(),
        (START, BACK, "grow to 10Gi from 5Gi", "await a node"),
    ),
    "flex, stopped after the volume was grown: left to a node": (
        a_claim(allocated="10Gi", at="ControllerResizeInProgress"),
        a_volume(size="10Gi", before="5Gi"),
        (START, BACK, "await a node"),
    ),
    "flex, larger by other hands than what was begun: the volume never shrinks": (
        a_claim(allocated="10Gi", at="ControllerResizeInProgress"),
        a_volume(size="20Gi", before="5Gi"),
        (START, "back end from 5Gi to 20Gi", "await a node"),
    ),
    "flex, a node is to finish: nothing": (
        a_claim(allocated="10Gi", at="NodeResizePending"),
        a_volume(size="10Gi", before="5Gi"),
        (),
    ),
    "flex, a node has given up: it tries again": (
        a_claim(allocated="10Gi", at="NodeResizeInfeasible"),
        a_volume(size="10Gi", before="5Gi"),
        ("await a node",),
    ),
    "flex, a node has given up and nothing is remembered: both": (
        a_claim(allocated="10Gi", at="NodeResizeInfeasible"),
        a_volume(size="10Gi"),
        ("grow to 10Gi from 5Gi", "await a node"),
    ),
    "flex, the node has finished: the old size is forgotten": (
        a_claim(has="10Gi", allocated="10Gi"),
        a_volume(size="10Gi", before="5Gi"),
        ("forget the old size",),
    ),
    "flex, the claim has what it asks for but its file system not all there is: nothing": (
        a_claim("5Gi", "5Gi", allocated="10Gi", at="NodeResizePending"),
        a_volume(size="10Gi", before="1Gi"),
        (),
    ),
    "flex, request lowered while the node has not finished: nothing": (
        a_claim("6Gi", "5Gi", allocated="10Gi", at="NodeResizePending"),
        a_volume(size="10Gi", before="5Gi"),
        (),
    ),
}


@pytest.mark.parametrize(("claim", "volume", "then"), TABLE.values(), ids=TABLE)
def test_claim(claim: Claim, volume: Volume | None, then: tuple[str, ...]) -> None:
    assert tuple(map(say, decide(ClaimView(claim, volume)).steps)) == then


def test_a_driver_that_leaves_no_file_system_to_the_node_finishes() -> None:
    view = ClaimView(a_claim(), a_volume(), driver_leaves_file_system=False)
    steps = tuple(map(say, decide(view).steps))
    assert steps == (START, BACK, "grow to 10Gi", "finish 10Gi", TOLD)


ODD: dict[str, tuple[Volume | None, str]] = {
    "the volume is missing": (None, 'failed to get PV "disk"'),
    "the volume points at nobody": (
        a_volume(uid=""),
        "persistent Volume is not bound to PVC being updated : ns/data",
    ),
    "the volume points at an older claim of that name": (
        a_volume(uid="u-older"),
        "persistent Volume is not bound to PVC being updated : ns/data",
    ),
}


@pytest.mark.parametrize(("volume", "problem"), ODD.values(), ids=ODD)
def test_what_does_not_fit_together_is_looked_at_again(volume: Volume | None, problem: str) -> None:
    assert decide(ClaimView(a_claim(), volume)).steps == (Fail(problem),)


@pytest.mark.parametrize(
    ("source", "driver"),
    {
        "awsElasticBlockStore": "ebs.csi.aws.com",
        "gcePersistentDisk": "pd.csi.storage.gke.io",
        "azureDisk": "disk.csi.azure.com",
        "azureFile": "file.csi.azure.com",
        "cinder": "cinder.csi.openstack.org",
        "vsphereVolume": "csi.vsphere.vmware.com",
        "portworxVolume": "pxd.portworx.com",
    }.items(),
)
def test_drivers_that_have_taken_over(source: str, driver: str) -> None:
    steps = decide(ClaimView(a_claim(), a_volume({source: {"x": "y"}}))).steps
    assert steps[1:] == (NameResizer(driver),)


WAKES: dict[str, tuple[Claim | None, Claim, bool]] = {
    "a bound claim comes": (None, a_claim(), True),
    "an unbound claim comes": (None, a_claim(phase="Pending"), False),
    "it asks for more": (a_claim("5Gi"), a_claim("10Gi"), True),
    "it asks for less": (a_claim("10Gi"), a_claim("6Gi"), False),
    "it got more": (a_claim(has="5Gi"), a_claim(has="10Gi"), True),
    "it becomes bound, and has something": (a_claim(has="0", phase="Pending"), a_claim(), True),
    "it is called bound, and has no more": (a_claim(phase="Pending"), a_claim(), False),
    "something else changes": (a_claim(), a_claim(resizer="x"), False),
    "it asks for more and is not bound": (a_claim("5Gi"), a_claim(phase="Lost"), False),
}


@pytest.mark.parametrize(("before", "after", "then"), WAKES.values(), ids=WAKES)
def test_what_wakes_the_controller(
    before: Claim | None,
    after: Claim,
    then: bool,  # noqa: FBT001 - a column
) -> None:
    assert wakes(before, after) is then


# laws


def apply(claim: Claim, volume: Volume, step: Step) -> tuple[Claim, Volume]:
    status = claim.status
    match step:
        case Start(size, _):
            status = expansion.start(status, size, NOW)
        case AwaitNode():
            status = expansion.await_node(status, NOW)
        case Finish(size):
            status = expansion.finish(status, size)
        case GrowVolume(_, size, before):
            spec = msgspec.structs.replace(volume.spec, capacity={"storage": str(size)})
            kept = {} if before is None else {PRE_RESIZE: before}
            metadata = msgspec.structs.replace(volume.metadata, annotations=kept)
            volume = msgspec.structs.replace(volume, spec=spec, metadata=metadata)
        case ForgetBefore():
            metadata = msgspec.structs.replace(volume.metadata, annotations={})
            volume = msgspec.structs.replace(volume, metadata=metadata)
        case _:
            pass
    return msgspec.structs.replace(claim, status=status), volume


def by_a_node(claim: Claim, volume: Volume) -> Claim:
    if decide_node(claim, volume) is not NodeMove.EXPAND:
        return claim
    grown = expansion.finish(claim.status, node_target(claim, volume))
    return msgspec.structs.replace(claim, status=grown)


@given(
    mode=st.sampled_from(["Filesystem", "Block"]),
    cuts=st.lists(st.integers(0, 4), max_size=4),
    asks=st.integers(5, 20),
)
def test_an_expansion_cut_anywhere_is_finished_and_never_told_too_early(
    mode: str, cuts: list[int], asks: int
) -> None:
    claim, volume = a_claim(f"{asks}Gi"), a_volume(mode=mode)
    for cut in [*cuts, 9, 9, 9]:
        for step in decide(ClaimView(claim, volume)).steps[:cut]:
            claim, volume = apply(claim, volume, step)
            assert claim.capacity <= volume.size
            if volume.size > claim.capacity and mode == "Filesystem":
                assert volume.metadata.annotations == {PRE_RESIZE: "5Gi"}
        claim = by_a_node(claim, volume)
    assert claim.capacity == volume.size == parse(f"{asks}Gi")
    assert find_resize_status(claim.status) is None
    assert not claim.status.conditions
    assert not volume.metadata.annotations
    assert decide(ClaimView(claim, volume)).steps == ()
