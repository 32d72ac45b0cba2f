"""Pods that want to be with others, or away from them: required affinity and anti-affinity.

Always true:

- A pod is placed only where, for each of its affinity terms, a pod that all of its terms choose is
  in the same place; the first of a group, which chooses itself, may be anywhere.
- No pod is placed where one is that it wants to be away from, nor where one is that wants to be
  away from it.
"""

from collections.abc import Iterable, Mapping

import msgspec

from mooring.model.namespace import Namespace
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.pod_affinity import (
    NOBODY,
    PodAffinityRules,
    PodAffinityTerm,
    any_name,
    chosen_pods,
)
from mooring.model.selector import LabelSelector
from mooring.scheduling.decide.contract import Change, Opinion, Refused, Rule, is_relabelled
from mooring.scheduling.decide.places import Place, PlaceCounts, all_pods
from mooring.scheduling.view import NodeView, Picture, Storage

WITHOUT_OTHERS = Refused(("node(s) didn't match pod affinity rules",))
BESIDE_OTHERS = Refused(("node(s) didn't match pod anti-affinity rules",), yields=True)
_FIXED = (NOBODY, LabelSelector())  # namespaces that are chosen whatever their labels

UNWANTED = Refused(("node(s) didn't satisfy existing pods anti-affinity rules",), yields=True)


class Term(msgspec.Struct, frozen=True):
    """A term, as its pod means it."""

    key: str
    pods: LabelSelector
    names: frozenset[str]  # of namespaces
    namespaces: LabelSelector  # and those that this chooses

    def chooses(self, pod: Pod, storage: Storage) -> bool:
        if not self.pods.matches(pod.metadata.labels):
            return False
        if pod.namespace in self.names:
            return True
        if self.namespaces is NOBODY:
            return False
        return self.namespaces.empty or self.namespaces.matches(
            storage.namespace_labels(pod.namespace)
        )


def terms_of(pod: Pod, rules: PodAffinityRules | None) -> tuple[Term, ...]:
    return () if rules is None else tuple(_term(pod, term) for term in rules.required)


def _term(pod: Pod, term: PodAffinityTerm) -> Term:
    labels: Mapping[str, str] = pod.metadata.labels
    chosen = chosen_pods(
        term.label_selector, labels, term.match_label_keys, term.mismatch_label_keys
    )
    names = frozenset(term.namespaces)
    if not names and term.namespace_selector is None:
        names = frozenset({pod.namespace})
    namespaces = NOBODY
    if term.namespace_selector is not None:
        everywhere = any_name(term.namespace_selector)
        namespaces = LabelSelector() if everywhere else chosen_pods(term.namespace_selector, {})
    return Term(term.topology_key, chosen, names, namespaces)


def wishes_distance(pod: Pod) -> bool:
    """Whether it has required anti-affinity, so that it is in the way of others."""
    affinity = pod.spec.affinity
    rules = affinity.pod_anti_affinity if affinity is not None else None
    return rules is not None and bool(rules.required)


def look_at(picture: Picture) -> Opinion:
    pod, affinity = picture.pod, picture.pod.spec.affinity
    near = terms_of(pod, affinity.pod_affinity if affinity is not None else None)
    far = terms_of(pod, affinity.pod_anti_affinity if affinity is not None else None)
    unwanted = _unwanted(picture)
    if not near and not far and unwanted is None:
        return None
    return _Check(picture, near, far, unwanted)


def _unwanted(picture: Picture) -> PlaceCounts | None:
    """Places where a pod is that wants to be away from this one."""
    pod, storage = picture.pod, picture.storage
    if not any(node.distant for node in picture.nodes):
        return None

    def places(other: Pod, node: NodeView) -> Iterable[Place]:
        affinity = other.spec.affinity
        terms = terms_of(other, affinity.pod_anti_affinity if affinity is not None else None)
        return _places(node, (term for term in terms if term.chooses(pod, storage)))

    def distant(node: NodeView) -> Iterable[Pod]:
        return (node.pods[key] for key in node.distant)

    labels = pod.metadata.labels, storage.namespace_labels(pod.namespace)
    question = "unwanted", pod.namespace, *(frozenset(each.items()) for each in labels)
    counts = PlaceCounts(picture, places, distant, question)
    return None if counts.is_empty else counts


def _places(node: NodeView, terms: Iterable[Term]) -> Iterable[Place]:
    return [(term.key, node.labels[term.key]) for term in terms if term.key in node.labels]


class _Check:
    def __init__(
        self,
        picture: Picture,
        near: tuple[Term, ...],
        far: tuple[Term, ...],
        unwanted: PlaceCounts | None,
    ) -> None:
        storage = picture.storage
        self._near = near
        self._far = far
        self._unwanted = unwanted
        self._is_own_company = all(term.chooses(picture.pod, storage) for term in near)

        def company(other: Pod, node: NodeView) -> Iterable[Place]:
            if not all(term.chooses(other, storage) for term in near):
                return ()
            return _places(node, near)

        def avoided(other: Pod, node: NodeView) -> Iterable[Place]:
            return _places(node, (term for term in far if term.chooses(other, storage)))

        self._company = self._avoided = None
        if near:
            self._company = PlaceCounts(picture, company, all_pods, _question("company", near))
        if far:
            self._avoided = PlaceCounts(picture, avoided, all_pods, _question("avoided", far))

    def __call__(self, node: NodeView) -> Refused | None:
        if self._company is not None and not self._has_company(self._company, node):
            return WITHOUT_OTHERS
        if self._avoided is not None and _is_any(self._avoided, node, self._far):
            return BESIDE_OTHERS
        if self._unwanted is not None:
            counts = self._unwanted.seen_from(node)
            if any(counts[place] > 0 for place in node.labels.items()):
                return UNWANTED
        return None

    def _has_company(self, company: PlaceCounts, node: NodeView) -> bool:
        if any(term.key not in node.labels for term in self._near):
            return False
        counts = company.seen_from(node)
        if all(counts[term.key, node.labels[term.key]] > 0 for term in self._near):
            return True
        return self._is_own_company and not any(count > 0 for count in counts.values())


def _question(about: str, terms: tuple[Term, ...]) -> tuple[str, tuple[Term, ...]] | None:
    """None: what the terms choose is up to the labels of namespaces, which may change."""
    return (about, terms) if all(term.namespaces in _FIXED for term in terms) else None


def _is_any(counted: PlaceCounts, node: NodeView, terms: tuple[Term, ...]) -> bool:
    counts = counted.seen_from(node)
    return any(counts[place] > 0 for place in _places(node, terms))


def is_woken(_: Pod, change: Change) -> bool:
    """A pod or a node came, went or has other labels, or a namespace has."""
    before, after = change.before, change.after
    if isinstance(before, Node) or isinstance(after, Node):
        return after is None or is_relabelled(change)
    return is_pod_moved(change) or isinstance(after, Namespace)


def is_pod_moved(change: Change) -> bool:
    """A pod with a node came, went, is ending, or has other labels."""
    before, after = change.before, change.after
    if isinstance(before, Pod) and isinstance(after, Pod):
        return (
            before.metadata.labels != after.metadata.labels
            or before.spec.node_name != after.spec.node_name
            or before.is_deleting != after.is_deleting
        )
    return isinstance(before, Pod) or isinstance(after, Pod)


RULE = Rule("InterPodAffinity", look_at, is_woken)
