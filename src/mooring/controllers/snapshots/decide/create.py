"""A snapshot of a claim that has no content yet: whether one may be made, and with what in it.

Always true of a plan:

- The snapshot and the claim have their finalizers before the content is made, and the content is
  made with its own, so that none of the three can go while a driver may be at work.
- The content names the driver of the volume: a class of another driver is refused.
- Of several default classes none is chosen.
"""

import msgspec

from mooring.controllers.snapshots.names import content_name
from mooring.controllers.snapshots.plan import Change, ChangeStatus, Create, Plan, Reason, Step
from mooring.controllers.snapshots.secret_templates import (
    SNAPSHOTTER,
    find_secret,
    snapshot_tokens,
)
from mooring.controllers.snapshots.status import failed
from mooring.controllers.snapshots.view import ContentMode, SnapshotView, Source
from mooring.model.claim import Claim
from mooring.model.csi_translation.translate import translate
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.reference import ObjectReference
from mooring.model.secret_template import InvalidTemplate
from mooring.model.snapshot import DeletionPolicy, Snapshot, SnapshotClass, SnapshotContent
from mooring.model.steps import Emit, plan
from mooring.model.volume import Volume
from mooring.model.volume_source import CsiSource
from mooring.model.wellknown import Annotation, Finalizer, Label


class Refusal(Exception):
    """The snapshot cannot be taken as things are; the text is for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def decide_creation(view: SnapshotView) -> Plan:
    try:
        chosen = _choose_class(view)
        volume, csi = _find_volume(view.source, view.snapshot)
        content = _content(view, chosen, volume, csi)
    except Refusal as refusal:
        return fail(view, refusal.reason, str(refusal))
    snapshot, claim = view.snapshot, view.source.claim
    steps: list[Step] = [
        *protect(snapshot, chosen.deletion_policy, chosen.name),
        *_hold(claim),
        Create(SnapshotContent, content, snapshot),
        Emit(
            snapshot,
            EventType.NORMAL,
            Reason.CREATING,
            f"Waiting for a snapshot {snapshot.key} to be created by the CSI driver.",
        ),
        ChangeStatus(snapshot, _awaited(content_name(snapshot))),
    ]
    return plan("its claim can be copied", *steps)


def fail(view: SnapshotView, reason: str, message: str, *, is_unready: bool = True) -> Plan:
    """Show people what is wrong, once; what could change it wakes the snapshot."""
    snapshot = view.snapshot
    change = failed(snapshot, message, view.now, is_unready=is_unready)
    if not change:
        return plan("it cannot be taken, as its status says")
    event = Emit(snapshot, EventType.WARNING, reason, message)
    return plan("it cannot be taken", ChangeStatus(snapshot, change), event)


def protect(
    snapshot: Snapshot, policy: DeletionPolicy | None, class_name: str = ""
) -> tuple[Change, ...]:
    """Finalizers that it lacks, and the class that was chosen for it, in one write."""
    wanted = [Finalizer.SNAPSHOT_AS_SOURCE]
    if policy is DeletionPolicy.DELETE:
        wanted.append(Finalizer.SNAPSHOT_BOUND)
    adds = tuple(name for name in wanted if name not in snapshot.metadata.finalizers)
    spec: Doc = {}
    if class_name and snapshot.spec.volume_snapshot_class_name is None:
        spec = {"volumeSnapshotClassName": class_name}
    return (Change(snapshot, adds=adds, spec=spec),) if adds or spec else ()


def _hold(claim: Claim | None) -> tuple[Change, ...]:
    if claim is None or Finalizer.CLAIM_AS_SOURCE in claim.metadata.finalizers:
        return ()
    return (Change(claim, adds=(Finalizer.CLAIM_AS_SOURCE,)),)


def _awaited(content: str) -> Doc:
    return {"boundVolumeSnapshotContentName": content, "readyToUse": False, "error": None}


def _choose_class(view: SnapshotView) -> SnapshotClass:
    name = view.snapshot.spec.volume_snapshot_class_name
    if name is None:
        return _choose_default(view)
    if view.classes.named is None:
        raise class_missing(name)
    return view.classes.named


def class_missing(name: str) -> Refusal:
    missing = f'volumesnapshotclass.snapshot.storage.k8s.io "{name}" not found'
    return Refusal(Reason.CLASS_MISSING, f"Failed to get snapshot class with error {missing}")


def _choose_default(view: SnapshotView) -> SnapshotClass:
    words = "Failed to set default snapshot class with error"
    try:
        _, csi = _find_volume(view.source, view.snapshot)
    except Refusal as refusal:
        trouble = str(refusal).removeprefix(_NOT_CREATED)
        raise Refusal(Reason.NO_DEFAULT, f"{words} {trouble}") from None
    fitting = [each for each in view.classes.defaults if each.driver == csi.driver]
    if not fitting:
        raise Refusal(Reason.NO_DEFAULT, f"{words} cannot find default snapshot class")
    if len(fitting) > 1:
        count = f"{len(fitting)} default snapshot classes were found"
        raise Refusal(Reason.NO_DEFAULT, f"{words} {count}")
    return fitting[0]


_NOT_CREATED = "Failed to create snapshot content with error "


def _cannot(why: str) -> Refusal:
    return Refusal(Reason.NOT_CREATED, f"{_NOT_CREATED}{why}")


def _find_volume(source: Source, snapshot: Snapshot) -> tuple[Volume, CsiSource]:
    claim, volume = source.claim, source.volume
    if claim is None:
        name = snapshot.spec.source.persistent_volume_claim_name
        raise _cannot(f'persistentvolumeclaim "{name}" not found')
    if claim.is_deleting:
        raise _cannot("cannot add finalizer on claim because it is being deleted")
    if not claim.is_bound:
        not_yet = "is not yet bound to a PV, will not attempt to take a snapshot"
        raise _cannot(f"the PVC {claim.name} {not_yet}")
    if volume is None:
        raise _cannot(f'persistentvolume "{claim.spec.volume_name}" not found')
    reference = volume.spec.claim_ref
    if reference is None or reference.key != claim.key or reference.uid != claim.uid:
        raise _cannot("claim in dataSource not bound or invalid")
    translated = translate(volume)
    csi = None if translated is None else translated.spec.csi
    if csi is None:
        raise _cannot(f"cannot find CSI PersistentVolumeSource for volume {volume.name}")
    if not csi.volume_handle:
        raise _cannot(f"volume {volume.name} has no volume handle")
    return volume, csi


def _content(view: SnapshotView, chosen: SnapshotClass, volume: Volume, csi: CsiSource) -> Doc:
    """The content as it is posted."""
    snapshot, name = view.snapshot, content_name(view.snapshot)
    if csi.driver != chosen.driver:
        raise _cannot(
            f"Volume CSI driver ({csi.driver}) mismatch with VolumeSnapshotClass"
            f" ({chosen.driver}) {chosen.name}"
        )
    try:
        tokens = snapshot_tokens(name, snapshot.namespace, snapshot.name)
        secret = find_secret(SNAPSHOTTER, chosen.parameters, tokens)
    except InvalidTemplate as error:
        raise _cannot(str(error)) from None
    metadata: Doc = {"name": name, "finalizers": [Finalizer.SNAPSHOT_CONTENT]}
    if secret is not None:
        metadata["annotations"] = {
            Annotation.SNAPSHOT_SECRET_NAME: secret.name,
            Annotation.SNAPSHOT_SECRET_NAMESPACE: secret.namespace,
        }
    if view.source.node:
        metadata["labels"] = {Label.SNAPSHOT_MANAGED_BY: view.source.node}
    spec: Doc = {
        "volumeSnapshotRef": msgspec.to_builtins(ObjectReference.to(snapshot)),
        "source": {"volumeHandle": csi.volume_handle},
        "volumeSnapshotClassName": chosen.name,
        "deletionPolicy": chosen.deletion_policy.value,
        "driver": chosen.driver,
    }
    if view.mode is ContentMode.RECORDED:
        spec["sourceVolumeMode"] = volume.spec.volume_mode.value
    return {"metadata": metadata, "spec": spec}
