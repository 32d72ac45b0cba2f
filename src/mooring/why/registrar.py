"""A CSI driver that a node does not have: which pod should register it there, and why it does not.

A node plugin is known by two things: it mounts the kubelet's directory of registration sockets, and
its arguments or paths name the driver.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.daemon_set import DaemonSet
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod, PodSpec
from mooring.model.storage_class import StorageClass
from mooring.model.taint import find_untolerated
from mooring.model.volume import Volume
from mooring.why.answer import Fix, Ref, State, Step
from mooring.why.found import NOTHING, Found, kubectl, link, ref
from mooring.why.world import World

REGISTRY = "plugins_registry"


def explain_absent_drivers(world: World, pod: Pod, volumes: list[Volume]) -> Found:
    """Drivers of the pod's volumes that its node does not have."""
    node = pod.spec.node_name
    if world.find(CsiNode, Key("", node)) is None:
        return NOTHING  # not read, or a node without CSI: nothing is claimed
    found = NOTHING
    for name in sorted(drivers_of(pod, volumes)):
        found = found.plus(explain_absent_driver(world, name, node))
    return found


def drivers_of(pod: Pod, volumes: list[Volume]) -> set[str]:
    named = {volume.spec.csi.driver for volume in volumes if volume.spec.csi is not None}
    return named | {volume.csi.driver for volume in pod.spec.volumes if volume.csi is not None}


def drivers_of_claims(world: World, claims: Sequence[Claim]) -> set[str]:
    """Of their volumes; where there is none yet, of their classes."""
    volumes = (world.find(Volume, Key("", claim.spec.volume_name)) for claim in claims)
    classes = (world.find(StorageClass, Key("", claim.storage_class)) for claim in claims)
    found = {one.spec.csi.driver for one in volumes if one is not None and one.spec.csi}
    return found | {one.provisioner for one in classes if one is not None}


def is_required(world: World, driver: str) -> bool:
    """Whether the driver takes no pod to a node that does not have it."""
    found = world.find(CsiDriver, Key("", driver))
    return found is not None and bool(found.spec.prevent_pod_scheduling_if_missing)


def explain_absent_driver(world: World, driver: str, node: str) -> Found:
    """Nothing, if the node has it."""
    csi = world.find(CsiNode, Key("", node))
    if csi is not None and csi.find_driver(driver) is not None:
        return NOTHING
    about = Ref(CsiNode.resource.kind, node)
    lacks = f"driver {driver} is not registered on node {node}"
    who = f"whoever runs driver {driver}"
    plugins = [pod for pod in node_plugins(world, driver) if pod.spec.node_name == node]
    if plugins:
        return _plugin(plugins[0], lacks, about)
    for daemon_set in daemon_sets(world, driver):
        words = f"{lacks}: {ref(daemon_set)} has no pod there"
        found = link(Step.DRIVER, about, State.BROKEN, words, source=ref(daemon_set), who=who)
        return found.plus(Found(fixes=tuple(_onto(world, daemon_set, node))))
    words = f"{lacks}: CSINode {node} does not name it"
    return link(Step.DRIVER, about, State.BROKEN, words, who=who)


def explain_missing_everywhere(world: World, driver: str) -> Found:
    """No node has the driver: its own pods, and what keeps them from running."""
    fixes: list[Fix] = []
    for pod in node_plugins(world, driver):
        return _plugin(pod, "no node has it registered", ref(pod))
    for daemon_set in daemon_sets(world, driver):
        words = f"no node has it registered: {ref(daemon_set)} has no pod on any node"
        for node in world.all(Node):
            fixes += _onto(world, daemon_set, node.name)
        found = link(Step.DRIVER, daemon_set, State.BROKEN, words, who="an administrator")
        return found.plus(Found(fixes=tuple(dict.fromkeys(fixes))))
    return NOTHING


def _plugin(pod: Pod, lacks: str, about: Ref) -> Found:
    from mooring.why.pod import is_running

    if not is_running(pod):
        words = f"{lacks}: {ref(pod)}, which is to register it, does not run"
        found = link(Step.DRIVER, about, State.BROKEN, words, source=ref(pod), who=f"{ref(pod)}")
        told = "says why that pod does not run"
        command = f"mooring why pod/{pod.name} -n {pod.namespace}"
        return found.plus(Found(fixes=(Fix(command, told),)))
    words = f"{lacks}, though {ref(pod)}, which is to register it, runs"
    found = link(Step.DRIVER, about, State.BROKEN, words, source=ref(pod), who=f"{ref(pod)}")
    told = "starts the driver's pod anew, which registers it again when it can"
    return found.plus(Found(fixes=(Fix(kubectl("delete", ref(pod)), told),)))


def _onto(world: World, daemon_set: DaemonSet, name: str) -> Iterator[Fix]:
    """What lets a pod of it on the node."""
    node = world.find(Node, Key("", name))
    spec = _spec_of(daemon_set)
    if node is None or spec is None:
        return
    labels = node.metadata.labels
    pairs = [f"{key}={value}" for key, value in spec.node_selector.items()]
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        told = f"gives node {name} the labels that {daemon_set.name} selects"
        yield Fix(kubectl("label", ref(node), *pairs, "--overwrite"), told)
    taint = find_untolerated(node.spec.taints, spec.tolerations)
    if taint is not None:
        told = f"removes the taint {taint.key} from node {name}, for all pods"
        yield Fix(kubectl("taint", ref(node), f"{taint.key}:{taint.effect}-"), told)


def node_plugins(world: World, driver: str) -> list[Pod]:
    return [pod for pod in world.all(Pod) if not pod.is_finished and _is_plugin(pod.spec, driver)]


def daemon_sets(world: World, driver: str) -> list[DaemonSet]:
    """Those whose pods are node plugins of the driver."""
    found = []
    for daemon_set in world.all(DaemonSet):
        spec = _spec_of(daemon_set)
        if spec is not None and _is_plugin(spec, driver):
            found.append(daemon_set)
    return found


def _spec_of(daemon_set: DaemonSet) -> PodSpec | None:
    with suppress(msgspec.ValidationError):
        return daemon_set.pod_spec()
    return None


def _is_plugin(spec: PodSpec, driver: str) -> bool:
    paths = [volume.host_path.path for volume in spec.volumes if volume.host_path is not None]
    if not any(path.rstrip("/").endswith(REGISTRY) for path in paths):
        return False
    words = [word for one in spec.containers for word in (*one.command, *one.args)]
    named = re.compile(rf"(?<![\w.-]){re.escape(driver)}(?![\w.-])")
    return any(named.search(text) for text in (*paths, *words))
