"""Nodes that the pod asks for by their labels and names: nodeSelector and nodeAffinity."""

from functools import partial

from mooring.model.node import Node
from mooring.model.node_selector import NodeOperator, NodeSelectorTerm
from mooring.model.pod import NodeAffinity, Pod
from mooring.scheduling.decide.contract import Among, Change, Opinion, Refused, Rule
from mooring.scheduling.view import NodeView, Picture

OTHER_NODE = Refused(("node(s) didn't match Pod's node affinity/selector",))
CONFLICT = Refused(("pod affinity terms conflict",))

_NAME = "metadata.name"


def look_at(picture: Picture) -> Opinion:
    pod = picture.pod
    affinity = _affinity(pod)
    required = affinity.required if affinity is not None else None
    if required is None and not pod.spec.node_selector:
        return None
    check = partial(_check, pod)
    if required is None or not required.node_selector_terms:
        return check
    names: set[str] = set()
    for term in required.node_selector_terms:
        named = _named(term)
        if named is None:
            return check  # one of the alternatives asks for no name
        names |= named
    return Among(frozenset(names), check) if names else CONFLICT


def _named(term: NodeSelectorTerm) -> frozenset[str] | None:
    """The nodes that this term asks for by name; None: any."""
    found: frozenset[str] | None = None
    for requirement in term.match_fields:
        if requirement.key == _NAME and requirement.operator is NodeOperator.IN:
            names = frozenset(requirement.values)
            found = names if found is None else found & names
    return found


def _check(pod: Pod, node: NodeView) -> Refused | None:
    return None if wants(pod, node.node) else OTHER_NODE


def wants(pod: Pod, node: Node) -> bool:
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = _affinity(pod)
    if affinity is None or affinity.required is None:
        return True
    return affinity.required.matches(labels, node.selectable_fields)


def preference(pod: Pod, node: NodeView) -> int:
    """The weight of all that the pod would like and the node has."""
    affinity = _affinity(pod)
    if affinity is None:
        return 0
    labels, fields = node.labels, node.node.selectable_fields
    return sum(
        term.weight for term in affinity.preferred if term.preference.matches(labels, fields)
    )


def _affinity(pod: Pod) -> NodeAffinity | None:
    return pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None


def is_woken(pod: Pod, change: Change) -> bool:
    """A node came that the pod wants, or has become such a one."""
    before, after = change.before, change.after
    if not isinstance(after, Node) or not wants(pod, after):
        return False
    return not isinstance(before, Node) or not wants(pod, before)


RULE = Rule("NodeAffinity", look_at, is_woken)
