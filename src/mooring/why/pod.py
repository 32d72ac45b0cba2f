"""A pod: its claims, the scheduler's rules, attachment, mounts and containers."""

from collections.abc import Iterator
from datetime import datetime

from mooring.model.claim import Claim
from mooring.model.condition import find_condition
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.why.admission import fix_creation
from mooring.why.answer import Fix, Ref, State, Step
from mooring.why.claim import explain_claim
from mooring.why.deletion import explain_pod_deletion, out_of_service
from mooring.why.found import (
    NOTHING,
    Found,
    applied,
    is_plain,
    kubectl,
    link,
    newest_event,
    ref,
    reporter,
)
from mooring.why.image import REASONS, fix_image
from mooring.why.world import World

_BROKEN = frozenset(
    {
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImagePull",
        "ErrImageNeverPull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    }
)


def explain_pod(world: World, pod: Pod, now: datetime) -> Found:
    found = explain_pod_deletion(world, pod, now)
    if pod.is_finished:
        from mooring.why.ended import explain_ended

        return found.plus(explain_ended(pod))
    for claim in _claims(world, pod):
        found = found.plus(claim if isinstance(claim, Found) else explain_claim(world, claim, now))
    return found.plus(explain_rest(world, pod, now))


def explain_rest(world: World, pod: Pod, now: datetime) -> Found:
    """From scheduling on. What explains a step is imported when it is reached: it takes time."""
    if not pod.is_scheduled:
        from mooring.why.scheduling import explain_scheduling

        return explain_scheduling(world, pod)
    where = f"it is on node {pod.spec.node_name}"
    found = link(Step.SCHEDULING, pod, State.DONE, where, since=_scheduled_at(pod))
    if is_running(pod):
        return found.plus(_running(pod))
    from mooring.why.attachment import explain_attaching
    from mooring.why.mounting import explain_mounting

    node = explain_node_of(world, pod).plus(_drivers(world, pod))
    attaching = explain_attaching(world, pod, now)
    mounting = explain_mounting(world, pod)
    return found.plus(node).plus(attaching).plus(mounting).plus(_containers(world, pod))


def _drivers(world: World, pod: Pod) -> Found:
    from mooring.why.mounting import volumes_of
    from mooring.why.registrar import explain_absent_drivers

    return explain_absent_drivers(world, pod, volumes_of(world, pod))


def is_running(pod: Pod) -> bool:
    states = pod.status.container_statuses
    return bool(states) and all(one.state.running is not None for one in states)


def explain_node_of(world: World, pod: Pod) -> Found:
    """Nothing, when its node is well."""
    name = pod.spec.node_name
    node = world.find(Node, Key("", name))
    about = Ref(Node.resource.kind, name)
    if node is None:
        if not world.is_known(Node, Key("", name)):
            return link(
                Step.NODE, about, State.UNKNOWN, "its node could not be read", source=ref(pod)
            )
        words = f"the pod is on node {name}, and there is no such Node"
        found = link(Step.NODE, about, State.BROKEN, words, source=ref(pod), who="an administrator")
        delete = kubectl("delete", ref(pod), "--force", "--grace-period=0")
        told = "removes the pod, so that whoever made it makes another one, on another node"
        return found.plus(Found(fixes=(Fix(delete, told),)))
    if node.is_ready:
        return NOTHING
    ready = find_condition(node.status.conditions, "Ready")
    said = "it has not said that it is ready" if ready is None else ready.message or ready.reason
    moment = None if ready is None else ready.last_transition_time
    words = f"node {name} is not ready: {said}"
    found = link(Step.NODE, node, State.BROKEN, words, since=moment, who=f"the kubelet of {name}")
    return found.plus(Found(fixes=(out_of_service(name),)))


def _claims(world: World, pod: Pod) -> Iterator[Claim | Found]:
    for volume in pod.spec.volumes:
        name = pod.find_claim_name(volume)
        if name is None:
            continue
        key = Key(pod.namespace, name)
        claim = world.find(Claim, key)
        if claim is not None:
            yield claim
        elif not world.is_known(Claim, key):
            about = Ref(Claim.resource.kind, name, pod.namespace)
            words = "the claim could not be read"
            yield link(Step.CLAIM, about, State.UNKNOWN, words, source=ref(pod))
        elif volume.ephemeral is not None:
            yield _not_made(world, pod, name)
        else:
            yield _missing(pod, name)


def _missing(pod: Pod, name: str) -> Found:
    about = Ref(Claim.resource.kind, name, pod.namespace)
    words = f"pod {pod.name} uses claim {name}, and there is no such claim"
    found = link(
        Step.CLAIM, about, State.BROKEN, words, source=ref(pod), who="whoever makes claims"
    )
    document = f"""
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}, namespace: {pod.namespace}}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {{requests: {{storage: 1Gi}}}}
"""
    if not is_plain(name):
        return found  # no claim can be called so
    told = "makes the claim, of the default class; look at size and access modes first"
    return found.plus(Found(fixes=(Fix(applied(document), told),)))


def _not_made(world: World, pod: Pod, name: str) -> Found:
    """The claim of an ephemeral volume: the controller that makes it may have been refused."""
    about = Ref(Claim.resource.kind, name, pod.namespace)
    said = newest_event(world, pod, containing=name) or newest_event(
        world, pod, {"EphemeralVolumeCreationFailed", "FailedBinding"}
    )
    who = "the ephemeral volume controller"
    if said is None or said.type == "Normal":
        words = f"{who} has not made claim {name} yet"
        return link(Step.CLAIM, about, State.WAITING, words, source=ref(pod), who=who)
    words = f"{reporter(said)} says: {said.message}"
    found = link(Step.CLAIM, about, State.BROKEN, words, source=ref(said), who=who)
    return found.plus(Found(fixes=tuple(fix_creation(world, said.message, pod.namespace))))


def _scheduled_at(pod: Pod) -> str | None:
    found = find_condition(pod.status.conditions, "PodScheduled")
    return None if found is None else found.last_transition_time


def _running(pod: Pod) -> Found:
    done = (Step.ATTACHMENT, Step.STAGING, Step.PUBLISHING)
    found = NOTHING
    for step in done if pod.spec.volumes else ():
        found = found.plus(link(step, pod, State.DONE, "its containers run, so it is done"))
    first = pod.status.container_statuses[0].state.running
    moment = None if first is None else first.started_at
    return found.plus(link(Step.CONTAINER, pod, State.DONE, "its containers run", since=moment))


def _containers(world: World, pod: Pod) -> Found:
    for one in pod.status.all_containers:
        waiting = one.state.waiting
        if waiting is not None and waiting.reason in _BROKEN:
            said = f": {waiting.message}" if waiting.message else ""
            words = f"container {one.name} does not run: {waiting.reason}{said}"
            found = link(
                Step.CONTAINER, pod, State.BROKEN, words, who=f"the kubelet of {pod.spec.node_name}"
            )
            if waiting.reason in REASONS:
                told = waiting.message or waiting.reason
                return found.plus(Found(fixes=tuple(fix_image(world, pod, one.name, told))))
            logs = kubectl("logs", ref(pod), "-c", one.name, "--previous").replace(" pod ", " ", 1)
            told = "shows what the container said last"
            return found.plus(Found(fixes=(Fix(logs, told),)))
        ended = one.state.terminated
        if ended is not None and ended.exit_code:
            words = f"container {one.name} ended with exit code {ended.exit_code} {ended.reason}"
            return link(Step.CONTAINER, pod, State.WAITING, words.strip())
    words = "its containers have not been started"
    return link(
        Step.CONTAINER, pod, State.WAITING, words, who=f"the kubelet of {pod.spec.node_name}"
    )
