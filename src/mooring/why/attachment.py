"""Attaching: the attach/detach controller's own rules for a volume, asked of what was read."""

from collections import defaultdict
from datetime import datetime

from mooring.controllers.attachment.actual import BLANK, Memory, VolumeOnNode
from mooring.controllers.attachment.force_detach import Held, decide_gate
from mooring.controllers.attachment.multi_attach import find_holders, find_wait, refusal
from mooring.controllers.attachment.resolve import (
    AttachableVolume,
    needs_attaching,
    resolve_claimed,
)
from mooring.controllers.attachment.view import Policy, VolumeOnNodeView, VolumeView
from mooring.controllers.attachment.volume_name import name_of_attachment
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.why.answer import Fix, Ref, State, Step
from mooring.why.deletion import explain_deletion, out_of_service
from mooring.why.found import NOTHING, Found, kubectl, link, newest_event, ref, reporter
from mooring.why.refusal import fix_refused, who_acts, with_meaning
from mooring.why.registrar import explain_absent_driver
from mooring.why.world import World

CONTROLLER = "the attach/detach controller"


def explain_attaching(world: World, pod: Pod, now: datetime) -> Found:
    """The attachments that a pod with a node waits for."""
    found = NOTHING
    for outer in pod.spec.volumes:
        name = pod.find_claim_name(outer)
        claim = None if name is None else world.find(Claim, Key(pod.namespace, name))
        volume = None if claim is None else world.find(Volume, Key("", claim.spec.volume_name))
        if volume is None:
            continue
        wanted = resolve_claimed(pod, outer, claim, volume)
        if not isinstance(wanted, AttachableVolume):
            continue
        driver = world.find(CsiDriver, Key("", wanted.csi.driver))
        if not needs_attaching(driver):
            words = f"driver {wanted.csi.driver} attaches nothing"
            found = found.plus(link(Step.ATTACHMENT, volume, State.SKIPPED, words))
            continue
        if not wanted.csi.driver.startswith("kubernetes.io/"):
            found = found.plus(_explain_one(world, pod, volume, wanted, now))
    return found


def _explain_one(
    world: World, pod: Pod, volume: Volume, wanted: AttachableVolume, now: datetime
) -> Found:
    node = pod.spec.node_name
    attachment = world.find(Attachment, Key("", name_of_attachment(wanted.csi, node)))
    if attachment is not None:
        return explain_attachment_state(world, attachment, now)
    view = _view(world, volume, wanted, now)
    here = next((one for one in view.on_nodes if one.where.node == node), None)
    holders = () if here is None else find_holders(view, here)
    if wanted.flex is not None and (not holders or (here is not None and here.is_reported)):
        return _explain_flex(world, pod, volume, wanted)
    if Attachment in world.unseen:
        words = f"whether volume {volume.name} is attached could not be read"
        return link(Step.ATTACHMENT, volume, State.UNKNOWN, words, source=ref(pod))
    if not holders:
        words = f"volume {volume.name} is not attached to {node}, and nobody was asked to do it yet"
        return link(Step.ATTACHMENT, volume, State.WAITING, words, source=ref(pod), who=CONTROLLER)
    holder = holders[0]
    users = [each for one in holders for each in one.pods]
    words = refusal(view.label, pod, users)
    if wait := _wait(view, holder):
        words = f"{words}. {wait}"
    source = pod if holder.attachment is None else holder.attachment
    found = link(Step.ATTACHMENT, volume, State.BROKEN, words, source=ref(source), who=CONTROLLER)
    return found.plus(Found(fixes=_free(holder, users)))


def _explain_flex(world: World, pod: Pod, volume: Volume, wanted: AttachableVolume) -> Found:
    """A FlexVolume has no VolumeAttachment; the Node lists what is attached to it. Whether a driver
    attaches at all is known where it is installed alone."""
    name = pod.spec.node_name
    node = world.find(Node, Key("", name))
    if node is not None and any(one.name == wanted.name for one in node.status.volumes_attached):
        words = f"volume {volume.name} on node {name} is attached"
        return link(Step.ATTACHMENT, volume, State.DONE, words, source=ref(node))
    said = newest_event(world, pod, {"FailedAttachVolume"}, containing=f'"{volume.name}"')
    if said is not None:
        words = f"{reporter(said)} says: {said.message}"
        who = f"whoever installed the FlexVolume driver {wanted.csi.driver}"
        return link(Step.ATTACHMENT, volume, State.BROKEN, words, source=ref(said), who=who)
    words = f"node {name} does not list volume {volume.name} as attached, and it need not be"
    return link(Step.ATTACHMENT, volume, State.SKIPPED, words, source=ref(node or pod))


def _wait(view: VolumeView, holder: VolumeOnNodeView) -> str:
    """What keeps it there. Since when no pod wants it is in the controller's memory alone, and so
    is the moment when it is taken by force: that is not guessed."""
    gate = decide_gate(holder, view.policy, view.now)
    if not holder.pods and isinstance(gate, Held) and gate.until is not None:
        minutes = int(view.policy.max_wait // 60)
        node = holder.where.node
        return (
            f"Node {node} is not ready, or gone, and may still use it: it is taken away by force "
            f"{minutes} minutes after its last pod there is gone, unless that is disabled"
        )
    wait = find_wait(view, holder)
    return "" if wait is None else wait.words


def _free(holder: VolumeOnNodeView, users: list[Pod]) -> tuple[Fix, ...]:
    """What takes the volume from the node that has it."""
    gone = holder.node is None or not holder.node.is_ready
    if gone and holder.node is not None:
        return (out_of_service(holder.where.node),)
    if users:
        told = f"deletes the pod that uses the volume on {holder.where.node}"
        return tuple(Fix(kubectl("delete", ref(pod)), told) for pod in users[:1])
    if holder.attachment is not None:
        told = f"detaches the volume from {holder.where.node}: only if nobody uses it there"
        return (Fix(kubectl("delete", ref(holder.attachment)), told),)
    return ()


def _view(world: World, volume: Volume, wanted: AttachableVolume, now: datetime) -> VolumeView:
    """The controller's picture; what it only remembers (attempts, back-off) is not known here."""
    pods: defaultdict[str, list[Pod]] = defaultdict(list)
    reference = volume.spec.claim_ref
    for pod in world.all(Pod):
        wants = reference is not None and reference.key in pod.claim_keys()
        if wants and pod.is_scheduled and not pod.is_finished:
            pods[pod.spec.node_name].append(pod)
    held = {
        each.spec.node_name: each
        for each in world.all(Attachment)
        if each.volume_name == volume.name
    }
    views = tuple(
        _on_node(world, wanted, name, held.get(name), tuple(pods.get(name, ())))
        for name in sorted({*pods, *held})
    )
    return VolumeView(
        wanted.name, wanted.csi, wanted, volume, views, now.timestamp(), now, Policy()
    )


def _on_node(
    world: World,
    wanted: AttachableVolume,
    name: str,
    attachment: Attachment | None,
    pods: tuple[Pod, ...],
) -> VolumeOnNodeView:
    node = world.find(Node, Key("", name))
    attached = () if node is None else node.status.volumes_attached
    return VolumeOnNodeView(
        where=VolumeOnNode(wanted.name, name),
        node=node,
        is_read=True,
        attachment=attachment,
        is_reported=any(one.name == wanted.name for one in attached),
        pods=pods,
        memory=BLANK if pods else Memory(leaving_since=None),
        is_managed=node is None or node.leaves_attaching_to_controller,
        is_ours=attachment is not None and (attachment.is_made_by_controller or bool(pods)),
    )


def explain_attachment_state(world: World, attachment: Attachment, now: datetime) -> Found:
    """One VolumeAttachment: attached, being attached, failed, or being detached."""
    spec = attachment.spec
    if attachment.is_deleting:
        return explain_deletion(world, attachment, now)
    born = attachment.metadata.creation_timestamp
    where = f"volume {attachment.volume_name or 'of a pod'} on node {spec.node_name}"
    if attachment.is_attached:
        return link(Step.ATTACHMENT, attachment, State.DONE, f"{where} is attached", since=born)
    who = f"the attacher of {spec.attacher}"
    csi_node = world.find(CsiNode, Key("", spec.node_name))
    error = attachment.status.attach_error
    if error is not None:
        words = f"attaching {where} failed: {with_meaning(error.message)}"
        who = who_acts(error.message, who)
        found = link(
            Step.ATTACHMENT, attachment, State.BROKEN, words, since=error.time or born, who=who
        )
        helps = tuple(fix_refused(spec.attacher, error.message))
        return found.plus(Found(fixes=(*helps, *_reattach(world, attachment))))
    if csi_node is not None and csi_node.find_driver(spec.attacher) is None:
        words = f"CSINode {spec.node_name} does not have driver {spec.attacher}"
        about = Ref(CsiNode.resource.kind, spec.node_name)
        who = f"whoever runs driver {spec.attacher}"
        found = explain_absent_driver(world, spec.attacher, spec.node_name)
        return found.plus(
            link(
                Step.ATTACHMENT, attachment, State.BROKEN, words, since=born, who=who, source=about
            )
        )
    words = f"attaching {where} was asked for, and is not done"
    return link(Step.ATTACHMENT, attachment, State.WAITING, words, since=born, who=who)


def _reattach(world: World, attachment: Attachment) -> tuple[Fix, ...]:
    volume = world.find(Volume, Key("", attachment.volume_name))
    if attachment.volume_name and volume is None:
        told = "gives up the attachment of a volume that does not exist"
    else:
        told = "gives up this attempt, so that the controller asks again, with no back-off"
    return (Fix(kubectl("delete", ref(attachment)), told),)


def explain_attachment(world: World, attachment: Attachment, now: datetime) -> Found:
    """As a subject: who wants it, and why it is still there."""
    found = explain_attachment_state(world, attachment, now)
    node = world.find(Node, Key("", attachment.spec.node_name))
    if node is None and world.is_known(Node, Key("", attachment.spec.node_name)):
        words = f"node {attachment.spec.node_name} does not exist any more"
        found = found.plus(link(Step.NODE, attachment, State.WAITING, words, who=CONTROLLER))
    volume = world.find(Volume, Key("", attachment.volume_name))
    reference = None if volume is None else volume.spec.claim_ref
    users = [
        pod
        for pod in world.all(Pod)
        if pod.spec.node_name == attachment.spec.node_name
        and not pod.is_finished
        and reference is not None
        and reference.key in pod.claim_keys()
    ]
    if users:
        words = f"pods want it there: {', '.join(sorted(pod.name for pod in users)[:5])}"
        return found.plus(link(Step.PUBLISHING, users[0], State.DONE, words))
    if attachment.is_attached and not attachment.is_deleting and Pod not in world.unseen:
        words = f"no pod on node {attachment.spec.node_name} wants it; it is about to be detached"
        who = CONTROLLER
        if node is not None and volume is not None and _is_in_use(node, volume):
            words = f"no pod wants it, but node {node.name} still reports it in use"
            who = f"the kubelet of {node.name}"
        if not attachment.is_made_by_controller:
            words, who = f"{words}; somebody else made it", "whoever made the attachment"
        return found.plus(link(Step.DELETION, attachment, State.WAITING, words, who=who))
    return found


def _is_in_use(node: Node, volume: Volume) -> bool:
    csi = volume.spec.csi
    name = "" if csi is None else f"kubernetes.io/csi/{csi.driver}^{csi.volume_handle}"
    return name in node.status.volumes_in_use
