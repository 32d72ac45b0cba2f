"""Nodes that the volumes of a pod cannot be used on: what would bring pod and volumes together."""

from collections.abc import Iterator

from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.names import dns_subdomain
from mooring.model.node import Node
from mooring.model.node_selector import NodeOperator, NodeRequirement
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.model.wellknown import Label
from mooring.why.answer import Fix, Ref
from mooring.why.found import kubectl, ref
from mooring.why.registrar import drivers_of_claims, explain_absent_driver, is_required
from mooring.why.world import World

_NODE_KEYS = frozenset({"hostname", "node", "nodename"})
"""How the label ends under which a driver tells the one node that has a volume."""


def fix_reach(world: World, pod: Pod, node: Node) -> Iterator[Fix]:
    """A volume is elsewhere: the label it asks for, or the node it is on, when that was renamed."""
    for claim in pod.claim_keys():
        volume = _volume_of(world, claim)
        affinity = None if volume is None else volume.spec.node_affinity
        if volume is None or affinity is None or affinity.required is None:
            continue
        for term in affinity.required.node_selector_terms[:1]:
            wanted = [
                one
                for one in term.match_expressions
                if one.operator is NodeOperator.IN
                and one.values
                and node.metadata.labels.get(one.key) not in one.values
            ]
            renamed = [one for one in wanted if _names_nodes(one.key, node)]
            if renamed:
                yield from _under_its_old_name(world, volume, renamed[0])
            elif wanted:
                pairs = [f"{one.key}={one.values[0]}" for one in wanted]
                told = f"says that node {node.name} reaches volume {volume.name}: only if it does"
                yield Fix(kubectl("label", ref(node), *pairs, "--overwrite"), told)


def fix_absent_driver(world: World, pod: Pod, node: Node) -> Iterator[Fix]:
    """A driver takes no pod to a node that does not have it."""
    csi = world.find(CsiNode, Key("", node.name))
    claims = [found for key in pod.claim_keys() if (found := world.find(Claim, key)) is not None]
    for driver in sorted(drivers_of_claims(world, claims)):
        has_it = csi is not None and csi.find_driver(driver) is not None
        if has_it or not is_required(world, driver):
            continue
        yield from explain_absent_driver(world, driver, node.name).fixes or _find_it(node)
        patch = '{"spec":{"preventPodSchedulingIfMissing":false}}'
        about = Ref(CsiDriver.resource.kind, driver)
        told = f"lets pods go to nodes without driver {driver}, where they wait until it registers"
        yield Fix(kubectl("patch", about, "--type=merge", "-p", patch), told)


def _find_it(node: Node) -> Iterator[Fix]:
    chosen = f"--field-selector=spec.nodeName={node.name}"
    told = f"lists the pods on node {node.name}: the driver's, which registers it, is to be there"
    yield Fix(f"kubectl get pods -A -o wide {chosen}", told)


def _names_nodes(key: str, node: Node) -> bool:
    """Whether each node has a value of its own: to give one the value of another would be a lie."""
    is_usual = key.rpartition("/")[2].lower() in _NODE_KEYS
    return key == Label.HOSTNAME or is_usual or node.metadata.labels.get(key) == node.name


def _under_its_old_name(world: World, volume: Volume, wanted: NodeRequirement) -> Iterator[Fix]:
    """Nothing, if a node of the name is there: it may be full, or cordoned."""
    name = wanted.values[0]
    if any(dns_subdomain(name)):
        return  # whoever wrote the volume: it is the name of no node
    nodes = world.all(Node)
    if any(one.name == name or one.metadata.labels.get(wanted.key) == name for one in nodes):
        return
    told = (
        f"on the machine that was node {name}, beside its other flags: makes it that node again, "
        f"which volume {volume.name} is on (of a kubelet: --hostname-override)"
    )
    yield Fix(f"mooring up --node-name {name}", told)


def _volume_of(world: World, claim: Key) -> Volume | None:
    found = world.find(Claim, claim)
    return None if found is None else world.find(Volume, Key("", found.spec.volume_name))
