"""An object that is being deleted: which finalizer holds it, who removes that, and when."""

from datetime import datetime

from mooring.controllers.protection.decide import decide_claim, decide_volume, is_used_by
from mooring.controllers.protection.view import ClaimView, Evidence
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.snapshot import Snapshot
from mooring.model.volume import Volume
from mooring.model.wellknown import Finalizer, TaintKey
from mooring.why.answer import Fix, Ref, State, Step
from mooring.why.found import NOTHING, Found, kubectl, link, newest_event, ref, reporter
from mooring.why.refusal import who_acts, with_meaning
from mooring.why.world import World


def explain_deletion(world: World, it: ApiObject, now: datetime) -> Found:
    """One link per finalizer; nothing for an object that is not being deleted."""
    if not it.is_deleting:
        return NOTHING
    found = NOTHING
    for name in it.metadata.finalizers:
        found = found.plus(_explain_finalizer(world, it, name))
    if not found.links:
        words = "it is being deleted, and no finalizer holds it"
        found = link(Step.DELETION, it, State.WAITING, words, since=it.metadata.deletion_timestamp)
    return found


def _explain_finalizer(world: World, it: ApiObject, name: str) -> Found:
    if isinstance(it, Claim) and name == Finalizer.CLAIM_PROTECTION:
        return _protected_claim(world, it)
    if isinstance(it, Claim) and name == Finalizer.CLAIM_AS_SOURCE:
        return _snapshot_source(world, it)
    if isinstance(it, Volume) and name == Finalizer.VOLUME_PROTECTION:
        return _protected_volume(world, it)
    if name in {Finalizer.EXTERNAL_PROVISIONER, Finalizer.IN_TREE_PROVISIONER}:
        return _provisioned(world, it, name)
    if name.startswith(Finalizer.ATTACHER_PREFIX):
        driver = name.removeprefix(Finalizer.ATTACHER_PREFIX)
        return _attached(world, it, name, driver)
    known = _KNOWN.get(name)
    if known is not None:
        who, until = known
        return _held(it, name, State.WAITING, until, who)
    return _foreign(it, name)


def _held(it: ApiObject, name: str, state: State, until: str, who: str) -> Found:
    words = f"it is being deleted; the finalizer {name} holds it: {until}"
    return link(Step.DELETION, it, state, words, since=it.metadata.deletion_timestamp, who=who)


def _protected_claim(world: World, claim: Claim) -> Found:
    pods = tuple(pod for pod in world.all(Pod) if pod.namespace == claim.namespace)
    plan = decide_claim(ClaimView(claim, pods, Evidence.SERVER))
    users = sorted(pod.name for pod in pods if is_used_by(claim, pod))
    name = Finalizer.CLAIM_PROTECTION
    if not users and Pod in world.unseen:
        until = "pods that use it could not be read"
        return _held(claim, name, State.UNKNOWN, until, "the PVC protection controller")
    if not users:
        who = "the PVC protection controller"
        return _held(claim, name, State.WAITING, f"{plan.because}, so it is about to go", who)
    several = "pod" if len(users) == 1 else "pods"
    until = f"{several} {', '.join(users[:5])} still use it, and must be deleted first"
    found = _held(claim, name, State.BROKEN, until, f"whoever deletes the {several}")
    command = " ".join(("kubectl delete pod", *users, "-n", claim.namespace))
    return found.plus(Found(fixes=(Fix(command, "deletes the pods; then the claim goes"),)))


def _snapshot_source(world: World, claim: Claim) -> Found:
    taking = [
        each.name
        for each in world.all(Snapshot)
        if each.namespace == claim.namespace
        and each.spec.source.persistent_volume_claim_name == claim.name
        and not each.is_ready
    ]
    until = "a snapshot of it is being taken"
    if taking:
        until = f"snapshots of it are not ready yet: {', '.join(sorted(taking)[:5])}"
    found = _held(claim, Finalizer.CLAIM_AS_SOURCE, State.WAITING, until, "the snapshot controller")
    if not taking:
        return found
    about = Ref(Snapshot.resource.kind, sorted(taking)[0], claim.namespace)
    return found.plus(
        Found(fixes=(Fix(kubectl("delete", about), "gives up the snapshot that is not ready"),))
    )


def _protected_volume(world: World, volume: Volume) -> Found:
    plan = decide_volume(volume)
    name, who = Finalizer.VOLUME_PROTECTION, "the PV protection controller"
    reference = volume.spec.claim_ref
    if not volume.is_bound or reference is None:
        return _held(volume, name, State.WAITING, f"{plan.because}, so it is about to go", who)
    about = Ref(Claim.resource.kind, reference.name, reference.namespace)
    until = f"claim {reference.key} is bound to it, and must be deleted first"
    found = _held(volume, name, State.BROKEN, until, "whoever deletes the claim")
    told = "deletes the claim; what is on the volume is lost, unless it is retained"
    return found.plus(Found(fixes=(Fix(kubectl("delete", about), told),)))


def _provisioned(world: World, it: ApiObject, name: str) -> Found:
    maker = it.provisioned_by if isinstance(it, Volume) else ""
    who = f"the provisioner {maker}".strip()
    said = newest_event(world, it, {"VolumeFailedDelete"})
    if said is not None:
        words = f"{reporter(said)} says: {with_meaning(said.message)}"
        who = who_acts(said.message, who)
        return link(Step.DELETION, it, State.BROKEN, words, source=ref(said), who=who)
    return _held(it, name, State.WAITING, "its storage has to be deleted first", who)


def _attached(world: World, it: ApiObject, name: str, driver: str) -> Found:
    who = f"the attacher of {driver}"
    if isinstance(it, Attachment):
        error = it.status.detach_error
        if error is not None:
            words = f"detaching it failed: {with_meaning(error.message)}"
            return link(Step.DELETION, it, State.BROKEN, words, since=error.time, who=who)
        return _held(it, name, State.WAITING, "the volume has to be detached first", who)
    nodes = sorted(
        each.spec.node_name for each in world.all(Attachment) if each.volume_name == it.name
    )
    where = f" from {', '.join(nodes[:5])}" if nodes else ""
    return _held(it, name, State.WAITING, f"it has to be detached{where} first", who)


def _foreign(it: ApiObject, name: str) -> Found:
    """Nobody here knows who removes it: that is said, and the way round it with its price."""
    until = "this is none of Kubernetes' own; whoever set it removes it"
    found = _held(it, name, State.BROKEN, until, f"the owner of {name}")
    place = list(it.metadata.finalizers).index(name)
    patch = (
        f'[{{"op":"test","path":"/metadata/finalizers/{place}","value":"{name}"}},'
        f'{{"op":"remove","path":"/metadata/finalizers/{place}"}}]'
    )
    told = "removes the finalizer: only if its owner is gone for good, whose clean-up is skipped"
    command = kubectl("patch", ref(it), "--type=json", "-p", patch)
    return found.plus(Found(fixes=(Fix(command, told),)))


def explain_pod_deletion(world: World, pod: Pod, now: datetime) -> Found:
    """A pod goes when its kubelet says that its containers have ended and its volumes are
    unmounted; a kubelet of Mooring tells which one it cannot unmount."""
    if not pod.is_deleting:
        return NOTHING
    if pod.metadata.finalizers:
        return explain_deletion(world, pod, now)
    name, due = pod.spec.node_name, pod.metadata.deletion_timestamp
    if not name:
        words = "it is being deleted, and has no node"
        return link(Step.DELETION, pod, State.WAITING, words, since=due)
    node = world.find(Node, Key("", name))
    more: dict[str, object] = {"until": due, "who": f"the kubelet of {name}"}
    if node is not None and node.is_ready:
        said = newest_event(world, pod, {"FailedUnmount"})
        if said is not None:
            words = f"it is being deleted; {reporter(said)} says: {said.message}"
            more |= {"source": ref(said), "since": said.first_timestamp or said.last_seen}
            return link(Step.DELETION, pod, State.BROKEN, words, **more)
        words = f"it is being deleted; its containers have until {due} to end"
        return link(Step.DELETION, pod, State.WAITING, words, **more)
    gone = "there is no such Node any more" if node is None else "that node is not ready"
    if node is None and not world.is_known(Node, Key("", name)):
        gone = "that node could not be read"
    words = f"it is being deleted, and waits for the kubelet of {name}: {gone}"
    found = link(Step.DELETION, pod, State.BROKEN, words, **more)
    fixes = [] if node is None else [out_of_service(node.name)]
    forced = kubectl("delete", ref(pod), "--force", "--grace-period=0")
    told = "removes the pod at once: only if the machine is off, or both may write to its volumes"
    return found.plus(Found(fixes=(*fixes, Fix(forced, told))))


def out_of_service(node: str) -> Fix:
    taint = f"{TaintKey.OUT_OF_SERVICE}=nodeshutdown:NoExecute"
    command = kubectl("taint", Ref(Node.resource.kind, node), taint, "--overwrite")
    return Fix(command, "says that the machine is off: pods move, volumes are detached by force")


_KNOWN = {
    Finalizer.SNAPSHOT_AS_SOURCE: ("the snapshot controller", "its content has to go first"),
    Finalizer.SNAPSHOT_BOUND: ("the snapshot controller", "its content has to go first"),
    Finalizer.SNAPSHOT_IN_GROUP: ("the snapshot controller", "its group has to go first"),
    Finalizer.SNAPSHOT_CONTENT: ("the snapshotter", "the snapshot has to be deleted first"),
    Finalizer.CLONE_SOURCE: ("the provisioner", "a copy of it is being made"),
    Finalizer.RESTORE_SOURCE: ("the provisioner", "a claim is being made from it"),
    Finalizer.VOLUME_MAY_EXIST: ("the provisioner", "a volume for it may exist, and is looked for"),
    Finalizer.ATTRIBUTES_CLASS_PROTECTION: ("the protection controller", "it is still referred to"),
    Finalizer.FOREGROUND: ("the garbage collector", "what it owns has to go first"),
    Finalizer.ORPHAN: ("the garbage collector", "what it owns has to be let go first"),
}
