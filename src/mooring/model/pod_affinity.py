"""Where a pod wants to be with regard to other pods: affinity, anti-affinity, spread."""

from collections.abc import Mapping

import msgspec

from mooring.model.selector import LabelSelector, Operator, Requirement, SelectorDocument
from mooring.model.wire import Wire

NOBODY = LabelSelector((Requirement("", Operator.IN, ()),))
"""Chooses no object at all."""


class PodAffinityTerm(Wire, frozen=True):
    """Other pods, and the label of nodes that says what "the same place" is."""

    topology_key: str = ""
    label_selector: SelectorDocument | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: SelectorDocument | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class PodAffinityRules(Wire, frozen=True):
    """What a pod demands; what it would merely like is not looked at."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=()
    )


class SpreadConstraint(Wire, frozen=True):
    """How unevenly pods may be spread over places."""

    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: SelectorDocument | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()

    @property
    def is_demanded(self) -> bool:
        return self.when_unsatisfiable == "DoNotSchedule"


def chosen_pods(
    document: SelectorDocument | None,
    labels: Mapping[str, str],
    same: tuple[str, ...] = (),
    other: tuple[str, ...] = (),
) -> LabelSelector:
    """The pods that a term or constraint means: without a selector none.

    `labels` are those of the pod that has it; `same` and `other` name labels whose values must be
    equal to its own, or must not.
    """
    if document is None:
        return NOBODY
    selector = _selector(document)
    further = [
        Requirement(key, operator, (labels[key],))
        for keys, operator in ((same, Operator.IN), (other, Operator.NOT_IN))
        for key in keys
        if key in labels
    ]
    return LabelSelector((*selector.requirements, *further)) if further else selector


def _selector(document: SelectorDocument) -> LabelSelector:
    try:
        return document.selector()
    except ValueError:  # the API has let it pass: what cannot be met chooses nobody
        return NOBODY


def any_name(document: SelectorDocument) -> bool:
    """Whether a selector chooses everything."""
    return not document.match_labels and not document.match_expressions
