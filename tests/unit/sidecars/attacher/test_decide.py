"""What is done about an attachment; whole stories are in tests/scenarios/sidecars."""

from collections.abc import Iterator
from itertools import product

import pytest

from mooring.csi.capability import ControllerCapability, PluginService
from mooring.model.attachment import (
    Attachment,
    AttachmentMeta,
    AttachmentSource,
    AttachmentSpec,
    AttachmentStatus,
)
from mooring.model.csi_node import CsiNode, CsiNodeSpec, NodeDriver
from mooring.model.meta import ObjectMeta
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import CsiSource
from mooring.model.wellknown import Annotation
from mooring.sidecars.attacher.decide import decide_attachment, decide_volume
from mooring.sidecars.attacher.plan import (
    Attach,
    AttachFails,
    Detach,
    DetachFails,
    DetachFormer,
    MarkAttached,
    Protect,
    Record,
    Unprotect,
    finalizer_of,
)
from mooring.sidecars.attacher.view import AttachmentView, VolumeView
from mooring.sidecars.driver import Abilities

FAILS = (AttachFails, DetachFails)
DRIVER = "d.example.com"
HELD = finalizer_of(DRIVER)
THEN = "2026-01-02T03:04:05Z"
ABLE = Abilities(
    frozenset({PluginService.CONTROLLER_SERVICE}),
    frozenset({ControllerCapability.PUBLISH_UNPUBLISH_VOLUME}),
)
UNABLE = Abilities(frozenset({PluginService.CONTROLLER_SERVICE}))
RECORD = {Annotation.NODE_ID_AT_ATTACH: "id-n1", Annotation.HANDLE_AT_ATTACH: "h1"}
SPEC = VolumeSpec(csi=CsiSource(DRIVER, "h1"), access_modes=(AccessMode.ONCE,))


def a_link(
    *finalizers: str,
    attached: bool = False,
    deleting: bool = False,
    attacher: str = DRIVER,
    source: AttachmentSource | None = None,
    notes: dict[str, str] | None = None,
) -> Attachment:
    return Attachment(
        metadata=AttachmentMeta(
            name="link",
            finalizers=finalizers,
            annotations=notes or {},
            deletion_timestamp=THEN if deleting else None,
        ),
        spec=AttachmentSpec(attacher, "n1", source or AttachmentSource("pv1")),
        status=AttachmentStatus(attached=attached),
    )


def a_volume(*finalizers: str, deleting: bool = False, spec: VolumeSpec = SPEC) -> Volume:
    stamp = THEN if deleting else None
    meta = ObjectMeta(name="pv1", finalizers=finalizers, deletion_timestamp=stamp)
    return Volume(metadata=meta, spec=spec)


NODE = CsiNode(metadata=ObjectMeta(name="n1"), spec=CsiNodeSpec((NodeDriver(DRIVER, "id-n1"),)))
WITHOUT = CsiNode(metadata=ObjectMeta(name="n1"))


def a_view(
    link: Attachment,
    volume: Volume | None = None,
    node: CsiNode | None = NODE,
    abilities: Abilities = ABLE,
    *,
    doubted: bool = False,
) -> AttachmentView:
    return AttachmentView(DRIVER, abilities, link, volume, node, doubted)


RECORDED = a_link(HELD, notes=RECORD)
LEAVING = a_link(HELD, notes=RECORD, deleting=True, attached=True)
INLINE = AttachmentSource(inline_volume_spec=SPEC)
BOTH = AttachmentSource("pv1", SPEC)

TABLE: dict[str, tuple[AttachmentView, tuple[type, ...]]] = {
    "another's is left alone": (a_view(a_link(attacher="o"), a_volume()), ()),
    "a new one is protected, recorded, attached": (
        a_view(a_link(), a_volume()),
        (Protect, Record, Attach),
    ),
    "one on record is attached": (a_view(RECORDED, a_volume(HELD)), (Attach,)),
    "a node with another id by now is recorded anew, and the old id detached before": (
        a_view(a_link(HELD, notes=RECORD | {Annotation.NODE_ID_AT_ATTACH: "x"}), a_volume(HELD)),
        (DetachFormer, Record, Attach),
    ),
    "a volume made anew under its name: the old one is detached before": (
        a_view(a_link(HELD, notes=RECORD | {Annotation.HANDLE_AT_ATTACH: "x"}), a_volume(HELD)),
        (DetachFormer, Record, Attach),
    ),
    "a record of upstream's attacher is completed": (
        a_view(a_link(HELD, notes={Annotation.NODE_ID_AT_ATTACH: "id-n1"}), a_volume(HELD)),
        (Record, Attach),
    ),
    "an inline one has no volume to protect": (a_view(a_link(source=INLINE)), (Record, Attach)),
    "an attached one is left alone": (a_view(a_link(HELD, attached=True), a_volume(HELD)), ()),
    "an attached one that the driver does not list is attached again": (
        a_view(a_link(HELD, attached=True, notes=RECORD), a_volume(HELD), doubted=True),
        (Attach,),
    ),
    "without its volume it fails": (a_view(a_link()), (AttachFails,)),
    "with two sources it fails": (a_view(a_link(source=BOTH), a_volume()), (AttachFails,)),
    "without a source it fails": (a_view(a_link(source=AttachmentSource())), (AttachFails,)),
    "of a volume that is going it fails, and nothing is recorded": (
        a_view(a_link(), a_volume(deleting=True)),
        (AttachFails,),
    ),
    "of a volume that no driver serves it fails": (
        a_view(a_link(), a_volume(HELD, spec=VolumeSpec(access_modes=(AccessMode.ONCE,)))),
        (AttachFails,),
    ),
    "without the node's word it fails": (a_view(a_link(), a_volume(HELD), None), (AttachFails,)),
    "without the driver on the node it fails": (
        a_view(a_link(), a_volume(HELD), WITHOUT),
        (AttachFails,),
    ),
    "a deleted one is detached": (a_view(LEAVING, a_volume(HELD)), (Detach,)),
    "a deleted one on a node that is gone is detached": (
        a_view(LEAVING, a_volume(HELD), None),
        (Detach,),
    ),
    "a deleted one whose volume is gone is detached": (a_view(LEAVING), (Detach,)),
    "a deleted one that is not on record cannot be": (
        a_view(a_link(HELD, deleting=True)),
        (DetachFails,),
    ),
    "a deleted one without the node's id cannot be": (
        a_view(a_link(HELD, deleting=True), a_volume(HELD), None),
        (DetachFails,),
    ),
    "a deleted one without our finalizer is done": (
        a_view(a_link(deleting=True), a_volume()),
        (),
    ),
    "a driver that does not attach has it so": (
        a_view(a_link(), None, None, UNABLE),
        (MarkAttached,),
    ),
    "a driver that does not attach has nothing to detach": (
        a_view(a_link(deleting=True), None, None, UNABLE),
        (),
    ),
}


@pytest.mark.parametrize(("view", "expected"), TABLE.values(), ids=TABLE)
def test_an_attachment(view: AttachmentView, expected: tuple[type, ...]) -> None:
    assert tuple(map(type, decide_attachment(view).steps)) == expected


def test_the_record_alone_is_enough_to_detach() -> None:
    (step,) = decide_attachment(a_view(LEAVING, None, None)).steps
    assert step == Detach(LEAVING, "h1", "id-n1", None)


VOLUMES: dict[str, tuple[Volume, bool, tuple[type, ...]]] = {
    "one that stays is left alone": (a_volume(HELD), False, ()),
    "one that goes and is attached is held": (a_volume(HELD, deleting=True), True, ()),
    "one that goes and is attached nowhere is let go": (
        a_volume(HELD, deleting=True),
        False,
        (Unprotect,),
    ),
    "one that others hold is left alone": (a_volume("x/y", deleting=True), False, ()),
}


@pytest.mark.parametrize(("volume", "attached", "expected"), VOLUMES.values(), ids=VOLUMES)
def test_a_volume(volume: Volume, *, attached: bool, expected: tuple[type, ...]) -> None:
    steps = decide_volume(VolumeView(DRIVER, volume, attached)).steps
    assert tuple(map(type, steps)) == expected


def _every_view() -> Iterator[AttachmentView]:
    records: tuple[dict[str, str], ...] = (
        {},
        RECORD,
        {**RECORD, Annotation.NODE_ID_AT_ATTACH: "id-before"},
    )
    flags = product((False, True), repeat=5)
    volumes = (None, a_volume(), a_volume(HELD), a_volume(HELD, deleting=True))
    for notes, volume, node, (held, attached, deleting, doubted, able), attacher in product(
        records, volumes, (NODE, WITHOUT, None), flags, (DRIVER, "other.example.com")
    ):
        finalizers = (HELD,) if held else ()
        link = a_link(
            *finalizers, attached=attached, deleting=deleting, attacher=attacher, notes=notes
        )
        yield a_view(link, volume, node, ABLE if able else UNABLE, doubted=doubted)


def test_what_is_always_true_of_a_plan() -> None:
    asks = (Attach, Detach, DetachFormer)
    for view in _every_view():
        steps = decide_attachment(view).steps
        asked = [step for step in steps if isinstance(step, asks)]
        link, volume = view.attachment, view.volume
        if link.spec.attacher != DRIVER:
            assert not steps
        if view.abilities is UNABLE or isinstance(steps[-1] if steps else None, FAILS):
            assert not asked
        assert not any(isinstance(step, (Attach, *FAILS)) for step in steps[:-1])
        if steps and isinstance(steps[-1], Attach):
            request = steps[-1].request
            assert volume is None or HELD in volume.metadata.finalizers or Protect(volume) in steps
            wanted = {
                Annotation.NODE_ID_AT_ATTACH: request.node_id,
                Annotation.HANDLE_AT_ATTACH: request.volume_id,
            }
            held, notes = HELD in link.metadata.finalizers, link.metadata.annotations
            assert (held and notes == wanted) or Record(link, wanted) in steps
            if held and notes and notes != wanted:
                kinds = [type(step) for step in steps]
                assert kinds.index(DetachFormer) < kinds.index(Record)
        if any(isinstance(step, Detach) for step in steps):
            assert link.is_deleting
            assert HELD in link.metadata.finalizers
