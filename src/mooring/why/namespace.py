"""A namespace that is being deleted: what is left in it, and which finalizers hold that."""

from datetime import datetime

from mooring.model.claim import Claim
from mooring.model.namespace import Namespace
from mooring.model.pod import Pod
from mooring.model.snapshot import Snapshot
from mooring.why.answer import Fix, State, Step
from mooring.why.deletion import explain_deletion, explain_pod_deletion
from mooring.why.found import Found, link, ref
from mooring.why.world import World

CONTROLLER = "the namespace controller"
_FAILURES = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
)
_REMAINING = ("NamespaceFinalizersRemaining", "NamespaceContentRemaining")


def explain_namespace(world: World, it: Namespace, now: datetime) -> Found:
    if not it.is_deleting:
        return link(Step.NAMESPACE, it, State.DONE, "it is Active")
    since = it.metadata.deletion_timestamp
    told = {one.type: one.message for one in it.status.conditions if one.is_true}
    found = Found()
    for kind in _FAILURES:
        if kind in told:
            words = f"it is being deleted, and not all of it can be: {told[kind]}"
            found = found.plus(
                link(Step.NAMESPACE, it, State.BROKEN, words, since=since, who="an administrator")
            )
    found = found.plus(_contents(world, it, now))
    left = next((told[kind] for kind in _REMAINING if kind in told), "")
    if left:
        words = f"it is being deleted, and waits: {left}"
        found = found.plus(
            link(Step.NAMESPACE, it, State.WAITING, words, since=since, who=CONTROLLER)
        )
    if not found.links:
        words = "it is being deleted"
        found = link(Step.NAMESPACE, it, State.WAITING, words, since=since, who=CONTROLLER)
    if it.spec.finalizers and set(it.spec.finalizers) != {"kubernetes"}:
        held = ", ".join(name for name in it.spec.finalizers if name != "kubernetes")
        words = f"its own finalizers hold it: {held}"
        found = found.plus(link(Step.DELETION, it, State.BROKEN, words, since=since))
    return found


def _contents(world: World, it: Namespace, now: datetime) -> Found:
    """Of the kinds that are explained here, each object that does not go."""
    found = Found()
    for claim in world.all(Claim):
        found = found.plus(explain_deletion(world, claim, now))
    for snapshot in world.all(Snapshot):
        found = found.plus(explain_deletion(world, snapshot, now))
    for pod in world.all(Pod):
        found = found.plus(explain_pod_deletion(world, pod, now))
    if found.links:
        return found
    told = next(
        (one for one in it.status.conditions if one.type == _REMAINING[0] and one.is_true), None
    )
    if told is None:
        return found
    command = (
        "kubectl api-resources --verbs=list,patch --namespaced -o name "
        f"| xargs -n 1 kubectl get -n {it.name} --ignore-not-found -o name "
        f"| xargs -r kubectl patch -n {it.name} --type=merge "
        """-p '{"metadata":{"finalizers":null}}'"""
    )
    what = "removes every finalizer in it: what those would have cleaned up outside stays behind"
    words = f"finalizers of others hold what is left: {told.message}"
    return link(Step.DELETION, ref(it), State.BROKEN, words, who="whoever set the finalizers").plus(
        Found(fixes=(Fix(command, what),))
    )
