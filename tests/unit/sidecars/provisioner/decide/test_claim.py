"""What is done about a claim."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from mooring.model.claim import Claim, ClaimPhase, ClaimSpec, ClaimStatus
from mooring.model.meta import ObjectMeta
from mooring.model.steps import Emit, Fail
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import BindingMode
from mooring.model.wellknown import Annotation, Finalizer
from mooring.sidecars.provisioner.decide.claim import decide_claim
from mooring.sidecars.provisioner.plan import (
    INTENT,
    Close,
    Later,
    Provision,
    ReleaseSource,
    Settle,
)
from mooring.sidecars.provisioner.record import VolumeRequest, encode
from mooring.sidecars.provisioner.view import ClaimView, recorded_driver

DRIVER = "d.example.com"
AT_ONCE = StorageClass(metadata=ObjectMeta(name="fast"), provisioner=DRIVER)
LATE = StorageClass(
    metadata=ObjectMeta(name="late"),
    provisioner=DRIVER,
    volume_binding_mode=BindingMode.WAIT_FOR_CONSUMER,
)


def a_claim(
    *finalizers: str,
    volume: str = "",
    deleting: bool = False,
    phase: ClaimPhase = ClaimPhase.PENDING,
    **annotations: str,
) -> Claim:
    notes = {Annotation.PROVISIONER: annotations.get("provisioner", DRIVER)}
    if "record" in annotations:
        notes[Annotation.VOLUME_REQUEST] = encode(VolumeRequest(annotations["record"]))
    if "node" in annotations:
        notes[Annotation.SELECTED_NODE] = annotations["node"]
    return Claim(
        metadata=ObjectMeta(
            name="data",
            namespace="default",
            uid="u1",
            annotations=notes,
            finalizers=finalizers,
            deletion_timestamp="2026-01-02T03:04:05Z" if deleting else None,
        ),
        spec=ClaimSpec(volume_name=volume, storage_class_name="fast"),
        status=ClaimStatus(phase=phase),
    )


def a_view(
    claim: Claim,
    storage_class: StorageClass | None = AT_ONCE,
    *,
    volume: bool = False,
    gone: bool = False,
    known_open: bool = False,
    source: bool = False,
    paused: float = 0.0,
) -> ClaimView:
    return ClaimView(DRIVER, claim, gone, storage_class, volume, known_open, source, paused)


OTHERS = StorageClass(metadata=ObjectMeta(name="fast"), provisioner="o.example.com")
BOUND = ClaimPhase.BOUND

TABLE: dict[str, tuple[ClaimView, tuple[type, ...]]] = {
    "a claim of another driver is left alone": (a_view(a_claim(provisioner="o")), ()),
    "a new claim gets a volume": (a_view(a_claim()), (Provision,)),
    "an uncertain one is asked for again": (a_view(a_claim(INTENT)), (Provision,)),
    "late binding without a node waits": (a_view(a_claim(), LATE), ()),
    "late binding with a node gets a volume": (a_view(a_claim(node="n1"), LATE), (Provision,)),
    "without its class it waits": (a_view(a_claim(), None), (Fail,)),
    "a class that is another's by now is left alone": (a_view(a_claim(), OTHERS), ()),
    "an impossible wish waits": (a_view(a_claim(), paused=9.0), (Later,)),
    "a volume that is there is left to the binder": (a_view(a_claim(INTENT), volume=True), ()),
    "while it is being bound the record stays": (
        a_view(a_claim(INTENT, volume="pvc-u1"), volume=True),
        (),
    ),
    "when it is bound the record goes": (
        a_view(a_claim(INTENT, volume="pvc-u1", phase=BOUND), volume=True),
        (Close,),
    ),
    "bound, and its volume's object lost: nothing is deleted": (
        a_view(a_claim(INTENT, volume="pvc-u1", phase=ClaimPhase.LOST)),
        (Close,),
    ),
    "deleted after it was bound, and the object lost: nothing is deleted": (
        a_view(a_claim(INTENT, volume="pvc-u1", deleting=True, phase=BOUND)),
        (Close,),
    ),
    "bound to another volume, what may have been made is deleted": (
        a_view(a_claim(INTENT, volume="mine", phase=BOUND)),
        (Settle,),
    ),
    "deleted while it is uncertain, what may have been made is deleted": (
        a_view(a_claim(INTENT, deleting=True)),
        (Settle,),
    ),
    "deleted while its volume is told of, the binder sees to that": (
        a_view(a_claim(INTENT, deleting=True), volume=True),
        (Close,),
    ),
    "deleted with nothing on record, nothing is asked": (a_view(a_claim(deleting=True)), ()),
    "taken away by force while it is uncertain": (
        a_view(a_claim(), gone=True, known_open=True),
        (Settle,),
    ),
    "uncertain, deleted, and its class gone: what may have been made is deleted": (
        a_view(a_claim(INTENT, deleting=True), None),
        (Settle,),
    ),
    "uncertain, and its class is another's by now: what may have been made is deleted": (
        a_view(a_claim(INTENT, provisioner="o.example.com", record=DRIVER), OTHERS),
        (Settle,),
    ),
    "uncertain, deleted, and its class is another's by now: likewise": (
        a_view(a_claim(INTENT, provisioner="o", record=DRIVER, deleting=True), OTHERS),
        (Settle,),
    ),
    "another driver may have made a volume: that comes first": (
        a_view(a_claim(INTENT, record="o.example.com")),
        (Emit, Fail),
    ),
    "another driver may have made a volume, and it is deleted: not ours": (
        a_view(a_claim(INTENT, record="o.example.com", deleting=True)),
        (),
    ),
    "what is on record without the finalizer is nothing": (
        a_view(a_claim(record="o.example.com")),
        (Provision,),
    ),
    "a source is held while somebody is cloned from it": (
        a_view(a_claim(Finalizer.CLONE_SOURCE, deleting=True, volume="v"), source=True),
        (),
    ),
    "a source that nobody needs is let go": (
        a_view(a_claim(Finalizer.CLONE_SOURCE, deleting=True, volume="v")),
        (ReleaseSource,),
    ),
}


@pytest.mark.parametrize(("view", "expected"), TABLE.values(), ids=TABLE)
def test_a_claim(view: ClaimView, expected: tuple[type, ...]) -> None:
    assert tuple(map(type, decide_claim(view).steps)) == expected


def _every_view() -> Iterator[ClaimView]:
    made = "pvc-u1"
    finalizers = ((), (INTENT,), (INTENT, Finalizer.CLONE_SOURCE), (Finalizer.CLONE_SOURCE,))
    records: tuple[dict[str, Any], ...] = ({}, {"record": DRIVER}, {"record": "o.example.com"})
    nodes: tuple[dict[str, Any], ...] = ({}, {"node": "n1"})
    classes = (None, AT_ONCE, LATE, OTHERS)
    for held, record, of, node, bound, storage_class, flags in product(
        finalizers,
        records,
        (DRIVER, "o.example.com"),
        nodes,
        ("", made, "other"),
        classes,
        product((False, True), repeat=5),
    ):
        deleting, volume, gone, known_open, source = flags
        claim = a_claim(*held, volume=bound, deleting=deleting, provisioner=of, **record, **node)
        yield a_view(
            claim, storage_class, volume=volume, gone=gone, known_open=known_open, source=source
        )


def test_what_is_always_true_of_a_plan() -> None:
    for view in _every_view():
        steps = decide_claim(view).steps
        assert len(steps) <= 1 or [type(step) for step in steps] == [Emit, Fail]
        if recorded_driver(view.claim) not in ("", DRIVER):
            assert all(isinstance(step, Emit | Fail) for step in steps)
        for step in steps:
            match step:
                case Provision(_, storage_class):
                    assert not view.is_unwanted
                    assert not view.has_volume
                    assert storage_class.provisioner == DRIVER
                    assert view.claim.selected_node or not storage_class.waits_for_consumer
                case Settle():
                    assert view.is_open
                    assert view.is_unwanted or view.storage_class is OTHERS
                    assert not view.has_volume
                case Close():
                    assert view.is_open
                    assert view.was_told_of
                case ReleaseSource():
                    assert view.claim.is_deleting
                    assert not view.is_open
                    assert not view.is_source
                case _:
                    assert isinstance(step, Emit | Fail)
