"""What a new volume may be filled with: sizes, modes, and who is bound to whom."""

from typing import Any

import pytest

from mooring.csi.volume import FromSnapshot, FromVolume
from mooring.model.claim import Claim, ClaimPhase, ClaimResources, ClaimSpec, ClaimStatus
from mooring.model.meta import ObjectMeta
from mooring.model.reference import ClaimRef, ObjectReference
from mooring.model.snapshot import (
    ContentSource,
    ContentSpec,
    ContentStatus,
    DeletionPolicy,
    Snapshot,
    SnapshotContent,
    SnapshotSource,
    SnapshotSpec,
    SnapshotStatus,
)
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume, VolumePhase, VolumeSpec, VolumeStatus
from mooring.model.volume_source import CsiSource
from mooring.model.wellknown import Annotation
from mooring.sidecars.provisioner.sources import check_clone, from_clone, from_snapshot
from mooring.sidecars.provisioner.waiting_reason import WaitingReason

DRIVER = "d.example.com"
CLASS = StorageClass(metadata=ObjectMeta(name="fast"), provisioner=DRIVER)
BLOCK, FILES = VolumeMode.BLOCK, VolumeMode.FILESYSTEM


def a_claim(size: str = "1Gi", mode: VolumeMode = FILES, name: str = "new", **status: Any) -> Claim:
    return Claim(
        metadata=ObjectMeta(name=name, namespace="default", uid=f"u-{name}"),
        spec=ClaimSpec(
            storage_class_name="fast",
            volume_mode=mode,
            volume_name="pv1",
            resources=ClaimResources(requests={"storage": size}),
        ),
        status=ClaimStatus(**status),
    )


def a_snapshot(size: str | None = "1Gi", *, ready: bool = True) -> Snapshot:
    return Snapshot(
        metadata=ObjectMeta(name="snap", namespace="default", uid="s1"),
        spec=SnapshotSpec(SnapshotSource("data")),
        status=SnapshotStatus("content", ready_to_use=ready, restore_size=size),
    )


def a_content(
    mode: VolumeMode | None = None, word: str | None = None, **changes: Any
) -> SnapshotContent:
    notes = {} if word is None else {Annotation.ALLOW_MODE_CHANGE: word}
    reference = ObjectReference(namespace="default", name="snap", uid=changes.get("uid", "s1"))
    return SnapshotContent(
        metadata=ObjectMeta(name="content", annotations=notes),
        spec=ContentSpec(
            changes.get("driver", DRIVER),
            DeletionPolicy.DELETE,
            reference,
            ContentSource("vol-1"),
            source_volume_mode=mode,
        ),
        status=ContentStatus(changes.get("handle", "h-1"), ready_to_use=True),
    )


RESTORED = {
    "the same size": (a_claim(), a_snapshot(), a_content()),
    "larger": (a_claim("2Gi"), a_snapshot(), a_content()),
    "a snapshot that says no size": (a_claim("1Mi"), a_snapshot(None), a_content()),
    "the same mode": (a_claim(mode=BLOCK), a_snapshot(), a_content(BLOCK)),
    "a source whose mode is not known": (a_claim(mode=BLOCK), a_snapshot(), a_content()),
    "another mode, by permission": (a_claim(mode=BLOCK), a_snapshot(), a_content(FILES, "true")),
    "another mode, by a short permission": (a_claim(), a_snapshot(), a_content(BLOCK, "t")),
}
REFUSED = {
    "smaller": (a_claim("1Mi"), a_snapshot(), a_content(), "is less than the size 1073741824"),
    "another mode": (
        a_claim(mode=BLOCK),
        a_snapshot(),
        a_content(FILES),
        "annotation is not present on snapshotcontent content",
    ),
    "another mode, forbidden": (
        a_claim(),
        a_snapshot(),
        a_content(BLOCK, "false"),
        "is set to false on snapshotcontent content",
    ),
    "another mode, and a word that is none": (
        a_claim(),
        a_snapshot(),
        a_content(BLOCK, "yes"),
        'strconv.ParseBool: parsing "yes": invalid syntax',
    ),
    "not ready": (a_claim(), a_snapshot(ready=False), a_content(), "snapshot snap is not Ready"),
    "of another driver": (a_claim(), a_snapshot(), a_content(driver="e"), "is not handled by"),
    "bound to another": (a_claim(), a_snapshot(), a_content(uid="s2"), "to a different snapshot"),
    "without a handle": (a_claim(), a_snapshot(), a_content(handle=None), "is not available"),
}


@pytest.mark.parametrize(("claim", "snapshot", "content"), RESTORED.values(), ids=RESTORED)
def test_what_may_be_restored(claim: Claim, snapshot: Snapshot, content: SnapshotContent) -> None:
    assert from_snapshot(claim, CLASS, snapshot, content) == FromSnapshot("h-1")


@pytest.mark.parametrize(("claim", "snapshot", "content", "why"), REFUSED.values(), ids=REFUSED)
def test_what_may_not_be_restored(
    claim: Claim, snapshot: Snapshot, content: SnapshotContent, why: str
) -> None:
    with pytest.raises(WaitingReason) as caught:
        from_snapshot(claim, CLASS, snapshot, content)
    assert why in str(caught.value)


SOURCE = a_claim(name="data", phase=ClaimPhase.BOUND)


def a_volume(mode: VolumeMode = FILES) -> Volume:
    return Volume(
        metadata=ObjectMeta(name="pv1"),
        spec=VolumeSpec(
            csi=CsiSource(DRIVER, "vol-1"),
            volume_mode=mode,
            claim_ref=ClaimRef(namespace="default", name="data", uid="u-data"),
        ),
        status=VolumeStatus(phase=VolumePhase.BOUND),
    )


def test_a_clone_is_of_the_same_mode_and_not_smaller() -> None:
    assert check_clone(a_claim("2Gi"), SOURCE) == "pv1"
    with pytest.raises(WaitingReason, match="must be greater than or equal in size"):
        check_clone(a_claim("1Mi"), SOURCE)
    assert from_clone(a_claim(), CLASS, SOURCE, a_volume()) == FromVolume("vol-1")
    for mode in (BLOCK, FILES):
        other = BLOCK if mode is FILES else FILES
        with pytest.raises(WaitingReason, match=f"Source is {other}, but new PVC requested {mode}"):
            from_clone(a_claim(mode=mode), CLASS, SOURCE, a_volume(other))
