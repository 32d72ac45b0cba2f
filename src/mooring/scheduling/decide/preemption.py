"""Which pods make room for one of higher priority that fits nowhere, and the words when none can.

Always true of a preemption:

- Every victim has a lower priority than the pod, and all are on the one node that it will get.
- The pod fits there once they are gone, and would not if any one of them stayed.
- Of the nodes it is the one with the fewest pods whose disruption budget is exceeded, then the
  least important victims, then the fewest, then those that started last.
- While pods that were preempted for it are still ending on the node, nobody else is.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from math import inf
from typing import Final

import msgspec

from mooring.model.condition import find_condition
from mooring.model.disruption_budget import DisruptionBudget
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.scheduling.decide.contract import Refused
from mooring.scheduling.decide.occupancy import without
from mooring.scheduling.plan import Preemption
from mooring.scheduling.view import NodeView, Picture

NEVER = "preemption: not eligible due to preemptionPolicy=Never."
ENDING = "preemption: not eligible due to a terminating pod on the nominated node."
NOT_HELPFUL = "Preemption is not helpful for scheduling"
FOUND = "preemption: found a potential placement for pod on node"
NO_VICTIMS = "No preemption victims found for incoming pod"
DISRUPTION_TARGET: Final = "DisruptionTarget"
PREEMPTED: Final = "PreemptionByScheduler"

MOST_CANDIDATES = 100  # or a tenth of the nodes, if that is more
_LOWEST = 2**31  # added to priorities: fewer pods of a negative priority are better than more

Reasons = Callable[[NodeView, frozenset[Key]], tuple[str, ...]]
"""(the node without some pods, the claims that they used) -> why the pod does not fit there."""


class _Candidate(msgspec.Struct, frozen=True):
    node: str
    victims: tuple[Pod, ...]  # the most important first
    violations: int  # of budgets


class Waiting(msgspec.Struct, frozen=True):
    """The pod is to wait for those that were preempted for it before."""

    text: str


def preempt(
    picture: Picture, refusals: Mapping[str, Refused], reasons: Reasons
) -> Preemption | Waiting | str:
    """`refusals` are by node; one that is not among them was refused for the pod's own sake.

    Returns the text for the event when nobody's going would help.
    """
    if picture.pod.spec.preemption_policy == "Never":
        return NEVER
    if _has_victims(picture, refusals):
        return Waiting(ENDING)
    words: Counter[str] = Counter()
    candidates: list[_Candidate] = []
    most = max(MOST_CANDIDATES, len(picture.nodes) // 10)
    for node in sorted(picture.nodes, key=lambda node: node.name):
        refused = refusals.get(node.name)
        if refused is None or not refused.yields:
            words[NOT_HELPFUL] += 1
            continue
        match _candidate(picture, node, reasons):
            case _Candidate() as candidate:
                candidates.append(candidate)
            case told:
                words.update(told)
        if len(candidates) >= most and not all(each.violations for each in candidates):
            break
    if candidates:
        best = min(candidates, key=_cost)
        return Preemption(best.node, best.victims)
    counted = ", ".join(sorted(f"{count} {word}" for word, count in words.items()))
    return f"preemption: 0/{len(picture.nodes)} nodes are available: {counted}."


def is_preempted(pod: Pod) -> bool:
    """It is ending because a scheduler wanted its place."""
    condition = find_condition(pod.status.conditions, DISRUPTION_TARGET)
    is_target = condition is not None and condition.is_true and condition.reason == PREEMPTED
    return pod.is_deleting and is_target


def _has_victims(picture: Picture, refusals: Mapping[str, Refused]) -> bool:
    """Whether pods are ending for its sake, on a node where that will help."""
    pod = picture.pod
    refused = refusals.get(pod.status.nominated_node_name)
    if refused is None or not refused.yields:
        return False
    promised = (node for node in picture.nodes if node.name == pod.status.nominated_node_name)
    return any(is_preempted(victim) for node in promised for victim in _lower(pod, node))


def _lower(pod: Pod, node: NodeView) -> Iterator[Pod]:
    return (other for other in node.pods.values() if other.spec.priority < pod.spec.priority)


def _candidate(picture: Picture, node: NodeView, reasons: Reasons) -> _Candidate | tuple[str, ...]:
    """Or why the node is none."""
    potential = sorted(_lower(picture.pod, node), key=_importance)
    if not potential:
        return (NO_VICTIMS,)
    gone = {victim.key for victim in potential}

    def told() -> tuple[str, ...]:
        freed = frozenset(
            Key(key.namespace, name) for key in gone for name in node.pods[key].shared_claim_names()
        )
        return reasons(without(node, gone), freed)

    if why := told():
        return why
    violating, others = _by_budget(potential, picture.budgets)
    victims: list[Pod] = []
    violations = 0
    for victim in (*violating, *others):  # spare whom one can, the most important first
        gone.discard(victim.key)
        if told():
            gone.add(victim.key)
            victims.append(victim)
            violations += victim in violating
    return _Candidate(node.name, tuple(sorted(victims, key=_importance)), violations)


def _by_budget(
    pods: Iterable[Pod], budgets: Sequence[DisruptionBudget]
) -> tuple[list[Pod], list[Pod]]:
    """Those whose end would exceed a budget, if all before them end too; and the others."""
    left = [budget.status.disruptions_allowed for budget in budgets]
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        is_violating = False
        for index, budget in enumerate(budgets):
            if not pod.metadata.labels or not budget.covers(pod):
                continue
            if pod.name in budget.status.disrupted_pods:
                continue  # granted already
            left[index] -= 1
            is_violating = is_violating or left[index] < 0
        (violating if is_violating else others).append(pod)
    return violating, others


def _importance(pod: Pod) -> tuple[int, float, Key]:
    """The most important first: the highest priority, then the longest running."""
    return -pod.spec.priority, _started(pod), pod.key


def _cost(candidate: _Candidate) -> tuple[int, int, int, int, float, str]:
    victims = candidate.victims
    highest = victims[0].spec.priority
    first = min(_started(pod) for pod in victims if pod.spec.priority == highest)
    return (
        candidate.violations,
        highest,
        sum(pod.spec.priority + _LOWEST for pod in victims),
        len(victims),
        -first,
        candidate.node,
    )


def _started(pod: Pod) -> float:
    """One that has not started yet started last."""
    start = pod.status.start_time
    return inf if start is None else datetime.fromisoformat(start).timestamp()


def victims_found(preemption: Preemption) -> str:
    return f"{FOUND} {preemption.node}, preempting {len(preemption.victims)} victims"
