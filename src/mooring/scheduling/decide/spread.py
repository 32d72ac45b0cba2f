"""Pods that are to be spread evenly over places: topologySpreadConstraints of DoNotSchedule."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.pod_affinity import SpreadConstraint, chosen_pods
from mooring.model.selector import LabelSelector
from mooring.model.taint import find_untolerated
from mooring.scheduling.decide.affinity import wants
from mooring.scheduling.decide.contract import Change, Opinion, Refused, Rule, is_relabelled
from mooring.scheduling.decide.memory import pod_shape
from mooring.scheduling.decide.places import Place, PlaceCounts, all_pods
from mooring.scheduling.decide.pod_affinity import is_pod_moved
from mooring.scheduling.view import NodeView, Picture

_TEXT = "node(s) didn't match pod topology spread constraints"
UNEVEN = Refused((_TEXT,), yields=True)
NOWHERE = Refused((f"{_TEXT} (missing required label)",))


class _Spread(msgspec.Struct, frozen=True):
    constraint: SpreadConstraint
    pods: LabelSelector
    counts: PlaceCounts
    places: frozenset[Place]  # that count: of nodes where the pod might be
    is_self_counted: bool

    def lowest(self, counts: Counter[Place]) -> int:
        least = self.constraint.min_domains
        if not self.places or (least is not None and len(self.places) < least):
            return 0
        return min(counts[place] for place in self.places)


def look_at(picture: Picture) -> Opinion:
    pod = picture.pod
    demanded = [one for one in pod.spec.topology_spread_constraints if one.is_demanded]
    return _Check(picture, demanded) if demanded else None


class _Check:
    def __init__(self, picture: Picture, demanded: list[SpreadConstraint]) -> None:
        self._spreads = [_spread(picture, one, demanded) for one in demanded]

    def __call__(self, node: NodeView) -> Refused | None:
        for spread in self._spreads:
            value = node.labels.get(spread.constraint.topology_key)
            if value is None:
                return NOWHERE
            counts = spread.counts.seen_from(node)
            here = counts[spread.constraint.topology_key, value] + spread.is_self_counted
            if here - spread.lowest(counts) > spread.constraint.max_skew:
                return UNEVEN
        return None


def _spread(
    picture: Picture, constraint: SpreadConstraint, demanded: list[SpreadConstraint]
) -> _Spread:
    pod = picture.pod
    labels = pod.metadata.labels
    chosen = chosen_pods(constraint.label_selector, labels, constraint.match_label_keys)
    keys = [one.topology_key for one in demanded]

    def counts_here(node: NodeView) -> bool:
        return all(key in node.labels for key in keys) and _comes_into_question(
            pod, node, constraint
        )

    def places(other: Pod, node: NodeView) -> Iterable[Place]:
        if other.namespace != pod.namespace or other.is_deleting or not counts_here(node):
            return ()
        if not chosen.matches(other.metadata.labels):
            return ()
        return ((constraint.topology_key, node.labels[constraint.topology_key]),)

    policies = constraint.node_affinity_policy, constraint.node_taints_policy
    place = constraint.topology_key, tuple(keys), policies
    question = "spread", pod.namespace, chosen, place, pod_shape(pod)

    return _Spread(
        constraint,
        chosen,
        PlaceCounts(picture, places, all_pods, question),
        frozenset(
            (constraint.topology_key, node.labels[constraint.topology_key])
            for node in picture.nodes
            if counts_here(node)
        ),
        chosen.matches(labels),
    )


def _comes_into_question(pod: Pod, node: NodeView, constraint: SpreadConstraint) -> bool:
    if constraint.node_affinity_policy != "Ignore" and not wants(pod, node.node):
        return False
    if constraint.node_taints_policy != "Honor":
        return True
    return find_untolerated(node.node.spec.taints, pod.spec.tolerations) is None


def is_woken(_: Pod, change: Change) -> bool:
    """A pod came, went or has other labels; a node came, went or has other labels."""
    before, after = change.before, change.after
    if isinstance(before, Node) or isinstance(after, Node):
        return after is None or is_relabelled(change)
    return is_pod_moved(change)


RULE = Rule("PodTopologySpread", look_at, is_woken)
