"""A group of claims that has no content yet: which claims, whose driver, and what is posted.

Always true of a plan:

- The whole label selector chooses, and it chooses once, from what the server lists.
- All claims are bound, to volumes of the one driver that the class names: a part is never taken.
- The group has its finalizer before its content exists, and the content has its own from the start.
"""

import msgspec

from mooring.controllers.snapshots.decide.create import Refusal
from mooring.controllers.snapshots.groups.view import GroupView
from mooring.controllers.snapshots.names import group_content_name
from mooring.controllers.snapshots.plan import (
    AskServer,
    Change,
    ChangeStatus,
    Create,
    GroupReason,
    Plan,
    Step,
)
from mooring.controllers.snapshots.secret_templates import (
    GROUP_SNAPSHOTTER,
    find_secret,
    group_tokens,
)
from mooring.controllers.snapshots.status import failed
from mooring.controllers.snapshots.view import Source
from mooring.model.csi_translation.translate import translate
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotClass, GroupSnapshotContent
from mooring.model.reference import ObjectReference
from mooring.model.secret_template import InvalidTemplate
from mooring.model.selector import SelectorDocument
from mooring.model.steps import Emit, plan
from mooring.model.volume_source import CsiSource
from mooring.model.wellknown import Annotation, Finalizer

_NOT_CREATED = "Failed to create group snapshot content with error "


def decide_creation(view: GroupView) -> Plan:
    group = view.group
    if view.sources is None:
        return plan("its claims have to be listed", AskServer())
    if trouble := _find_trouble(group.spec.source.selector):
        return fail(view, GroupReason.INVALID, trouble)
    try:
        volumes = _find_volumes(group, view.sources)
        chosen = _choose_class(view, volumes)
        content = _content(group, chosen, volumes)
    except Refusal as refusal:
        return fail(view, refusal.reason, str(refusal))
    waiting = f"Waiting for a group snapshot {group.key} to be created by the CSI driver."
    status: Doc = {
        "boundVolumeGroupSnapshotContentName": group_content_name(group),
        "readyToUse": False,
        "error": None,
    }
    steps: list[Step] = [
        *protect(group, chosen.name),
        Create(GroupSnapshotContent, content, group),
        Emit(group, EventType.NORMAL, GroupReason.CREATING, waiting),
        ChangeStatus(group, status),
    ]
    return plan("its claims can be copied", *steps)


def fail(view: GroupView, reason: str, message: str, *, is_unready: bool = True) -> Plan:
    group = view.group
    change = failed(group, message, view.now, is_unready=is_unready)
    if not change:
        return plan("it cannot be taken, as its status says")
    event = Emit(group, EventType.WARNING, reason, message)
    return plan("it cannot be taken", ChangeStatus(group, change), event)


def protect(group: GroupSnapshot, class_name: str = "") -> tuple[Change, ...]:
    adds = tuple({Finalizer.GROUP_SNAPSHOT_BOUND}.difference(group.metadata.finalizers))
    spec: Doc = {}
    if class_name and group.spec.volume_group_snapshot_class_name is None:
        spec = {"volumeGroupSnapshotClassName": class_name}
    return (Change(group, adds=adds, spec=spec),) if adds or spec else ()


def _find_trouble(selector: SelectorDocument | None) -> str:
    """What is wrong with the selector; empty: nothing."""
    try:
        if selector is not None:
            selector.selector()
    except ValueError as error:
        return f"spec.source.selector: {error}"
    return ""


def _cannot(why: str) -> Refusal:
    return Refusal(GroupReason.NOT_CREATED, f"{_NOT_CREATED}{why}")


def _find_volumes(group: GroupSnapshot, sources: tuple[Source, ...]) -> tuple[CsiSource, ...]:
    if not sources:
        words = format_selector(group.spec.source.selector)
        raise _cannot(f"label selector {words} for group snapshot not applied to any PVC")
    volumes = tuple(_find_volume(source) for source in sources)
    if len({volume.volume_handle for volume in volumes}) < len(volumes):
        raise _cannot("two of the PVCs have volumes with the same handle")
    return volumes


def _find_volume(source: Source) -> CsiSource:
    claim, volume = source.claim, source.volume
    if claim is None or claim.is_deleting:
        raise _cannot(f"the PVC {claim and claim.name} is being deleted")
    if not claim.is_bound:
        not_yet = "is not yet bound to a PV, will not attempt to take a group snapshot"
        raise _cannot(f"the PVC {claim.name} {not_yet}")
    if volume is None:
        raise _cannot(f'persistentvolume "{claim.spec.volume_name}" not found')
    reference = volume.spec.claim_ref
    if reference is None or reference.key != claim.key or reference.uid != claim.uid:
        raise _cannot(f"the PVC {claim.name} and volume {volume.name} are not bound to each other")
    translated = translate(volume)
    csi = None if translated is None else translated.spec.csi
    if csi is None or not csi.volume_handle:
        raise _cannot(f"cannot find CSI PersistentVolumeSource for volume {volume.name}")
    return csi


def _choose_class(view: GroupView, volumes: tuple[CsiSource, ...]) -> GroupSnapshotClass:
    name = view.group.spec.volume_group_snapshot_class_name
    if name is None:
        return _choose_default(view, volumes)
    if view.classes.named is None:
        raise class_missing(name)
    return view.classes.named


def class_missing(name: str) -> Refusal:
    missing = f'volumegroupsnapshotclass.groupsnapshot.storage.k8s.io "{name}" not found'
    words = f"Failed to get group snapshot class with error {missing}"
    return Refusal(GroupReason.CLASS_MISSING, words)


def _choose_default(view: GroupView, volumes: tuple[CsiSource, ...]) -> GroupSnapshotClass:
    drivers = {volume.driver for volume in volumes}
    fitting = [each for each in view.classes.defaults if {each.driver} == drivers]
    words = "Failed to set default group snapshot class with error"
    if len(drivers) > 1:
        names = ", ".join(sorted(drivers))
        raise Refusal(GroupReason.NO_DEFAULT, f"{words} the PVCs have several drivers: {names}")
    if not fitting:
        raise Refusal(GroupReason.NO_DEFAULT, f"{words} cannot find default group snapshot class")
    if len(fitting) > 1:
        count = f"{len(fitting)} default group snapshot classes were found"
        raise Refusal(GroupReason.NO_DEFAULT, f"{words} {count}")
    return fitting[0]


def _content(
    group: GroupSnapshot, chosen: GroupSnapshotClass, volumes: tuple[CsiSource, ...]
) -> Doc:
    name = group_content_name(group)
    for volume in volumes:
        if volume.driver != chosen.driver:
            raise Refusal(
                GroupReason.NOT_POSTED,
                f"Volume CSI driver ({volume.driver}) mismatch with VolumeGroupSnapshotClass"
                f" ({chosen.driver}) {chosen.name}: {volume.volume_handle}",
            )
    try:
        tokens = group_tokens(name, group.namespace, group.name)
        secret = find_secret(GROUP_SNAPSHOTTER, chosen.parameters, tokens)
    except InvalidTemplate as error:
        raise _cannot(str(error)) from None
    metadata: Doc = {"name": name, "finalizers": [Finalizer.GROUP_SNAPSHOT_CONTENT]}
    if secret is not None:
        metadata["annotations"] = {
            Annotation.GROUP_SNAPSHOT_SECRET_NAME: secret.name,
            Annotation.GROUP_SNAPSHOT_SECRET_NAMESPACE: secret.namespace,
        }
    spec: Doc = {
        "volumeGroupSnapshotRef": msgspec.to_builtins(ObjectReference.to(group)),
        "source": {"volumeHandles": [volume.volume_handle for volume in volumes]},
        "volumeGroupSnapshotClassName": chosen.name,
        "deletionPolicy": chosen.deletion_policy.value,
        "driver": chosen.driver,
    }
    return {"metadata": metadata, "spec": spec}


def format_selector(selector: SelectorDocument | None) -> str:
    """As kubectl writes it."""
    if selector is None:
        return "<none>"
    words = [f"{key}={value}" for key, value in sorted((selector.match_labels or {}).items())]
    for one in selector.match_expressions or ():
        listed = ",".join(one.values)
        words.append(
            {
                "In": f"{one.key} in ({listed})",
                "NotIn": f"{one.key} notin ({listed})",
                "Exists": one.key,
                "DoesNotExist": f"!{one.key}",
            }.get(one.operator, f"{one.key} {one.operator} ({listed})")
        )
    return ",".join(words) or "<none>"
