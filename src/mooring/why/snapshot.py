"""A snapshot that is not ready, by the snapshot controller's own decision."""

from collections.abc import Iterator
from datetime import datetime
from difflib import get_close_matches

from mooring.controllers.snapshots.decide.snapshot import decide_snapshot
from mooring.controllers.snapshots.names import content_names, points_back
from mooring.controllers.snapshots.plan import Create
from mooring.controllers.snapshots.view import (
    Classes,
    Evidence,
    FoundContent,
    SnapshotView,
    Source,
    Uses,
)
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.snapshot import Snapshot, SnapshotClass, SnapshotContent
from mooring.model.steps import Emit
from mooring.model.timestamp import to_seconds
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.why.answer import Fix, Ref, State, Step
from mooring.why.deletion import explain_deletion
from mooring.why.found import NOTHING, Found, kubectl, link, recreated, ref, sed_value
from mooring.why.refusal import fix_refused, who_acts, with_meaning
from mooring.why.world import World

CONTROLLER = "the snapshot controller"


def explain_snapshot(world: World, snapshot: Snapshot, now: datetime) -> Found:
    view = _view(world, snapshot, now)
    plan = decide_snapshot(view)
    said = next((step.message for step in plan.steps if isinstance(step, Emit)), "")
    born = snapshot.metadata.creation_timestamp
    if snapshot.is_deleting:
        found = explain_deletion(world, snapshot, now)
        if said:
            words = f"its deletion waits: {said}"
            found = found.plus(link(Step.SNAPSHOT, snapshot, State.BROKEN, words, who=CONTROLLER))
        return found.plus(Found(fixes=tuple(_free(view))))
    if snapshot.is_ready and view.found.content is not None:
        return link(Step.SNAPSHOT, snapshot, State.DONE, "it is ready to use", since=born)
    trouble = said or _error(snapshot)
    is_asked = any(isinstance(step, Create) for step in plan.steps)
    if view.found.content is not None:
        found = link(Step.SNAPSHOT, snapshot, State.DONE, "its content was made", since=born)
        return found.plus(_content(view.found.content))
    if is_asked or not trouble:
        words = f"{plan.because}; its content has not been made"
        return link(Step.SNAPSHOT, snapshot, State.WAITING, words, since=born, who=CONTROLLER)
    found = link(Step.SNAPSHOT, snapshot, State.BROKEN, trouble, since=born, who="its maker")
    return found.plus(_of_claim(world, view, now)).plus(Found(fixes=tuple(_fixes(world, view))))


def _view(world: World, snapshot: Snapshot, now: datetime) -> SnapshotView:
    contents = [world.find(SnapshotContent, Key("", name)) for name in content_names(snapshot)]
    found = [content for content in contents if content is not None]
    own = next((one for one in found if points_back(one, snapshot)), None)
    name = snapshot.spec.source.persistent_volume_claim_name
    claim = world.find(Claim, Key(snapshot.namespace, name)) if name else None
    volume = None if claim is None else world.find(Volume, Key("", claim.spec.volume_name))
    chosen = snapshot.spec.volume_snapshot_class_name
    classes = tuple(world.all(SnapshotClass))
    return SnapshotView(
        snapshot,
        to_seconds(now),
        FoundContent(own or (found[0] if found else None), Evidence.SERVER),
        Source(claim, volume),
        Classes(
            world.find(SnapshotClass, Key("", chosen)) if chosen else None,
            tuple(each for each in classes if each.is_default),
        ),
        Uses(_restoring(world, snapshot)),
    )


def _restoring(world: World, snapshot: Snapshot) -> tuple[Key, ...]:
    """Claims that are being made from it."""
    found = []
    for claim in world.all(Claim):
        data = claim.spec.data_source or claim.spec.data_source_ref
        if data is None or claim.is_bound or data.kind != Snapshot.resource.kind:
            continue
        if Key(data.namespace or claim.namespace, data.name) == snapshot.key:
            found.append(claim.key)
    return tuple(found)


def _error(snapshot: Snapshot) -> str:
    error = None if snapshot.status is None else snapshot.status.error
    return "" if error is None else error.message or ""


def _content(content: SnapshotContent) -> Found:
    error = None if content.status is None else content.status.error
    who = f"the snapshotter of {content.spec.driver}"
    if error is not None and error.message:
        who, words = who_acts(error.message, who), with_meaning(error.message)
        found = link(Step.CONTENT, content, State.BROKEN, words, since=error.time, who=who)
        fixes = tuple(fix_refused(content.spec.driver, error.message))
        return found.plus(Found(fixes=fixes))
    if content.is_ready:
        return link(Step.CONTENT, content, State.DONE, "the driver has taken it")
    driver = content.spec.driver
    is_asked = Annotation.SNAPSHOT_BEING_CREATED in content.metadata.annotations
    if is_asked or content.status is not None:
        words = f"driver {driver} was asked to take it, and has not finished"
    else:
        words = (
            f"no snapshotter of {driver} has taken it on: one has to run, and one on each node "
            f"takes only what has the label of its node (--enable-distributed-snapshotting)"
        )
    born = content.metadata.creation_timestamp
    return link(Step.CONTENT, content, State.WAITING, words, since=born, who=who)


def _of_claim(world: World, view: SnapshotView, now: datetime) -> Found:
    """A claim that is not bound has reasons of its own."""
    claim = view.source.claim
    if claim is None or claim.is_bound:
        return NOTHING
    from mooring.why.claim import explain_claim

    return explain_claim(world, claim, now)


def _free(view: SnapshotView) -> Iterator[Fix]:
    for key in view.uses.restoring[:1]:
        about = Ref(Claim.resource.kind, key.name, key.namespace)
        yield Fix(kubectl("delete", about), "gives up the claim that is being made from it")


def _fixes(world: World, view: SnapshotView) -> Iterator[Fix]:
    snapshot, about = view.snapshot, ref(view.snapshot)
    wanted = snapshot.spec.volume_snapshot_class_name
    classes = list(world.all(SnapshotClass))
    volume = view.source.volume
    driver = "" if volume is None or volume.spec.csi is None else volume.spec.csi.driver
    fitting = [each for each in classes if not driver or each.driver == driver]
    names = [each.name for each in fitting]
    named = view.classes.named
    if wanted and names and (named is None or (driver and named.driver != driver)):
        near = get_close_matches(wanted, names, n=1, cutoff=0.5) or names[:1]
        edit = sed_value("volumeSnapshotClassName", wanted, near[0])
        yield Fix(recreated(about, edit), f"makes the snapshot anew, of class {near[0]}")
    if wanted is None and names:
        if not any(each.is_default for each in fitting):
            chosen = Ref(SnapshotClass.resource.kind, names[0])
            mark = f"{Annotation.DEFAULT_SNAPSHOT_CLASS}=true"
            command = kubectl("annotate", chosen, mark, "--overwrite")
            yield Fix(command, f"makes {names[0]} the default class of driver {driver}")
        elif len([each for each in fitting if each.is_default]) > 1:
            last = [each.name for each in fitting if each.is_default][-1]
            mark = f"{Annotation.DEFAULT_SNAPSHOT_CLASS}-"
            command = kubectl("annotate", Ref(SnapshotClass.resource.kind, last), mark)
            yield Fix(command, f"leaves one default class: {last} is none any more")
    source = snapshot.spec.source.persistent_volume_claim_name
    if source and view.source.claim is None:
        told = "gives the snapshot up: there is no claim to take it of"
        yield Fix(kubectl("delete", about), told)
