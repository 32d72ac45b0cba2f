"""What must still be so before anything outside is destroyed; a row for each thing that may not."""

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.model.attachment import (
    Attachment,
    AttachmentMeta,
    AttachmentSource,
    AttachmentSpec,
    AttachmentStatus,
)
from mooring.model.claim import Claim, ClaimSpec
from mooring.model.csi_node import CsiNode, CsiNodeSpec, NodeDriver
from mooring.model.may_destroy import (
    DetachOrder,
    Go,
    Kept,
    Shared,
    Stay,
    VolumeOrder,
    may_delete_provisioned,
    may_delete_unsaved,
    may_destroy,
    may_detach,
    may_move,
)
from mooring.model.meta import ObjectMeta
from mooring.model.reference import ClaimRef
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume, VolumePhase, VolumeSpec, VolumeStatus
from mooring.model.volume_source import CsiSource, HostPathSource
from mooring.model.wellknown import Annotation

DRIVER, HELD = "d.example.com", "external-attacher/d-example-com"
THEN = "2026-01-02T03:04:05Z"
LEFT = ClaimRef(namespace="default", name="data", uid="c1")


def a_volume(
    name: str = "pv1",
    uid: str = "u1",
    *,
    policy: ReclaimPolicy = ReclaimPolicy.DELETE,
    phase: VolumePhase = VolumePhase.RELEASED,
    claim_ref: ClaimRef | None = LEFT,
    handle: str = "h1",
) -> Volume:
    return Volume(
        metadata=ObjectMeta(name=name, uid=uid, resource_version="7"),
        spec=VolumeSpec(csi=CsiSource(DRIVER, handle), reclaim_policy=policy, claim_ref=claim_ref),
        status=VolumeStatus(phase=phase),
    )


def a_claim(uid: str = "c1", volume: str = "", *, bound: bool = False) -> Claim:
    notes = {Annotation.BIND_COMPLETED: "yes"} if bound else {}
    meta = ObjectMeta(name="data", namespace="default", uid=uid, annotations=notes)
    return Claim(metadata=meta, spec=ClaimSpec(volume_name=volume))


ORDER = VolumeOrder(a_volume(), ReclaimPolicy.DELETE, frozenset((VolumePhase.RELEASED,)))
VOLUMES: dict[str, tuple[Volume | None, Claim | None, tuple[Volume, ...], type]] = {
    "as it was seen": (a_volume(), None, (), Go),
    "gone": (None, None, (), Stay),
    "another of its name": (a_volume(uid="u2"), None, (), Stay),
    "kept by its policy": (a_volume(policy=ReclaimPolicy.RETAIN), None, (), Stay),
    "of another policy": (a_volume(policy=ReclaimPolicy.RECYCLE), None, (), Stay),
    "bound again": (a_volume(phase=VolumePhase.BOUND), None, (), Stay),
    "free": (a_volume(claim_ref=None), None, (), Stay),
    "reserved": (a_volume(claim_ref=replace(LEFT, uid="")), None, (), Stay),
    "of another claim": (a_volume(claim_ref=replace(LEFT, uid="c2")), None, (), Stay),
    "of another name": (a_volume(claim_ref=replace(LEFT, name="other")), None, (), Stay),
    "for another volume": (a_volume(handle="h2"), None, (), Stay),
    "its claim is there": (a_volume(), a_claim(), (), Stay),
    "its claim has it": (a_volume(), a_claim(volume="pv1"), (), Stay),
    "its claim has another": (a_volume(), a_claim(volume="pv2"), (), Go),
    "a new claim of the name": (a_volume(), a_claim("c2"), (), Go),
    "a new claim that was bound to it": (a_volume(), a_claim("c2", "pv1", bound=True), (), Stay),
    "a twin that is bound": (
        a_volume(),
        None,
        (a_volume("pv2", "u2", phase=VolumePhase.BOUND),),
        Stay,
    ),
    "a twin that is kept": (
        a_volume(),
        None,
        (a_volume("pv2", "u2", policy=ReclaimPolicy.RETAIN),),
        Stay,
    ),
    "a twin that goes too": (a_volume(), None, (a_volume("pv2", "u2"),), Go),
    "no twin any more": (a_volume(), None, (a_volume("pv2", "u2", handle="h2"),), Go),
}


@pytest.mark.parametrize(("live", "claim", "siblings", "expected"), VOLUMES.values(), ids=VOLUMES)
def test_a_volume(
    live: Volume | None, claim: Claim | None, siblings: tuple[Volume, ...], expected: type
) -> None:
    assert isinstance(may_destroy(ORDER, live, claim, siblings), expected)


def test_what_the_permission_rests_on_is_told() -> None:
    verdict = may_destroy(ORDER, a_volume(), None, ())
    assert isinstance(verdict, Go)
    for word in ("uid=u1", "version=7", "policy=Delete", "phase=Released", "default/data(c1)"):
        assert word in verdict.saw


def an_in_tree_volume(claim_uid: str) -> Volume:
    reference = ClaimRef(namespace="default", name="data", uid=claim_uid)
    spec = VolumeSpec(claim_ref=reference, gce_persistent_disk={"pdName": "pvc-1"})
    return Volume(metadata=ObjectMeta(name="pvc-1"), spec=spec)


MADE: dict[str, tuple[Claim | None, tuple[Volume, ...], Any]] = {
    "nobody tells of it": (a_claim(), (), Go),
    "its claim is gone": (None, (a_volume(handle="h2"),), Go),
    "a volume tells of it": (a_claim(), (a_volume(),), Kept),
    "an in-tree volume of the claim tells of it, without its project": (
        a_claim(),
        (an_in_tree_volume("c1"),),
        Kept,
    ),
    "an in-tree volume of another claim": (a_claim(), (an_in_tree_volume("c2"),), Go),
    "its claim is bound to a volume that is another": (
        a_claim(volume="pv1"),
        (a_volume(handle="h2"),),
        Go,
    ),
    "its claim is bound to a volume that is gone": (a_claim(volume="pv1"), (), Kept),
    "another claim of its name is": (a_claim("c2", "pv1"), (), Go),
}


@pytest.mark.parametrize(("live", "volumes", "expected"), MADE.values(), ids=MADE)
def test_a_volume_that_was_made(
    live: Claim | None, volumes: tuple[Volume, ...], expected: type
) -> None:
    made = ("pd.csi.storage.gke.io", "projects/p/zones/z/disks/pvc-1")
    handle = made if any(volume.spec.csi is None for volume in volumes) else (DRIVER, "h1")
    assert isinstance(may_delete_provisioned(handle, a_claim(), live, volumes), expected)


def a_directory(name: str, path: str, kind: str = "") -> Volume:
    source = HostPathSource(path=path, type=kind)
    return Volume(metadata=ObjectMeta(name=name), spec=VolumeSpec(host_path=source))


UNTOLD: dict[str, tuple[Volume, type]] = {
    "nobody tells of it": (a_directory("pv1", "/disks/2"), Go),
    "the API took it after all": (a_directory("pvc-1", "/disks/9"), Kept),
    "somebody else tells of it": (a_directory("pv1", "/disks/./1/", "Directory"), Kept),
    "a volume of a driver": (a_volume(), Go),
}


@pytest.mark.parametrize(("there", "expected"), UNTOLD.values(), ids=UNTOLD)
def test_what_a_plugin_made_and_the_api_would_not_take(there: Volume, expected: type) -> None:
    made = a_directory("pvc-1", "/disks/1")
    assert isinstance(may_delete_unsaved(made, (there,)), expected)


def a_link(
    name: str = "link",
    uid: str = "u1",
    *,
    deleting: bool = True,
    attached: bool = False,
    held: bool = True,
    volume: str = "pv1",
    handle: str = "h1",
    node_id: str = "n1",
) -> Attachment:
    notes = {Annotation.NODE_ID_AT_ATTACH: node_id, Annotation.HANDLE_AT_ATTACH: handle}
    return Attachment(
        metadata=AttachmentMeta(
            name=name,
            uid=uid,
            annotations=notes,
            finalizers=(HELD,) if held else (),
            deletion_timestamp=THEN if deleting else None,
        ),
        spec=AttachmentSpec(DRIVER, "node", AttachmentSource(persistent_volume_name=volume)),
        status=AttachmentStatus(attached=attached),
    )


DETACH = DetachOrder(a_link(), DRIVER, HELD, "h1", "n1")
TWIN = a_link("twin", "u2", deleting=False)
LINKS: dict[str, tuple[Attachment | None, tuple[Attachment, ...], type]] = {
    "as it was seen": (a_link(), (), Go),
    "gone": (None, (), Stay),
    "another of its name": (a_link(uid="u2"), (), Stay),
    "not deleted": (a_link(deleting=False), (), Stay),
    "let go of": (a_link(held=False), (), Stay),
    "about another volume": (a_link(volume="pv2"), (), Stay),
    "attached under another id": (a_link(node_id="n2"), (), Stay),
    "attached by another handle": (a_link(handle="h2"), (), Stay),
    "another keeps it there": (a_link(), (TWIN,), Shared),
    "another is elsewhere": (a_link(), (a_link("twin", "u2", deleting=False, node_id="n2"),), Go),
    "another is deleted too": (a_link(), (a_link("twin", "u2"),), Go),
    "another is not on record": (a_link(), (a_link("twin", "u2", deleting=False, held=False),), Go),
}


@pytest.mark.parametrize(("live", "siblings", "expected"), LINKS.values(), ids=LINKS)
def test_an_attachment(
    live: Attachment | None, siblings: tuple[Attachment, ...], expected: type
) -> None:
    assert isinstance(may_detach(DETACH, live, siblings), expected)


def a_node(node_id: str) -> CsiNode:
    meta = ObjectMeta(name="node")
    return CsiNode(metadata=meta, spec=CsiNodeSpec((NodeDriver(DRIVER, node_id),)))


WANTED = a_link(deleting=False)
MOVES: dict[str, tuple[Attachment | None, CsiNode | None, type]] = {
    "the node is called so": (WANTED, a_node("n2"), Go),
    "the node is called otherwise": (WANTED, a_node("n1"), Stay),
    "the node says nothing": (WANTED, None, Stay),
    "it is attached by now": (a_link(deleting=False, attached=True), a_node("n2"), Stay),
    "it is deleted": (a_link(), a_node("n2"), Stay),
    "it is gone": (None, a_node("n2"), Stay),
}


@pytest.mark.parametrize(("live", "node", "expected"), MOVES.values(), ids=MOVES)
def test_a_node_that_is_called_otherwise_by_now(
    live: Attachment | None, node: CsiNode | None, expected: type
) -> None:
    order = DetachOrder(WANTED, DRIVER, HELD, "h1", "n1")
    assert isinstance(may_move(order, live, node, "n2"), expected)
