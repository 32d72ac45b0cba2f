"""Where a pod goes: every rule is asked about every node, and the best that passes all is taken.

Always true of a verdict:

- A pod is assigned to a node that passes every rule, in a picture that counts as done what was
  decided before and is not written yet: no two pods are given the same room or the same volume.
- With the node come the volumes: for each claim that waited, a volume that the node can reach or
  an order to make one there; no volume for two claims.
- A claim for which the scheduler has chosen a node before leads to that node or nowhere.
- The same picture gives the same verdict, in whatever order its nodes are.
- A pod that fits nowhere is put aside with the names of the rules that refused: only a change that
  one of them names may wake it. Without a name there was no node.
- Of several rules that refuse a node the first one's reasons are shown, in the order of RULES.
- A pod of higher priority may be put where others have to go first: see `preemption.py`.
- What cannot be judged is Trouble: no refusal, and tried again after a while.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.scheduling.decide import (
    affinity,
    binding,
    limits,
    node_name,
    pod_affinity,
    ports,
    resources,
    restrictions,
    spread,
    taints,
    unschedulable,
    zone,
)
from mooring.scheduling.decide.contract import Among, Change, Check, Refused, Rule, is_new_node
from mooring.scheduling.decide.preemption import Waiting, preempt
from mooring.scheduling.decide.score import best_node
from mooring.scheduling.decide.without_claims import WithoutClaims
from mooring.scheduling.plan import (
    Assignment,
    PodVolumes,
    Preemption,
    Trouble,
    Unschedulable,
    Verdict,
)
from mooring.scheduling.view import NodeView, Picture

RULES: Final[tuple[Rule, ...]] = (
    unschedulable.RULE,
    node_name.RULE,
    taints.RULE,
    affinity.RULE,
    ports.RULE,
    resources.RULE,
    restrictions.RULE,
    limits.RULE,
    binding.RULE,
    zone.RULE,
    spread.RULE,
    pod_affinity.RULE,
)
"""In upstream's order."""

_BY_NAME = {rule.name: rule for rule in RULES}

NO_NODES = Unschedulable("no nodes available to schedule pods")


class _Opinions(msgspec.Struct):
    """What the rules say before they see a node."""

    checks: list[tuple[str, Check]]
    among: frozenset[str] | None = None
    narrowed_by: str = ""


class _Objection(msgspec.Struct, frozen=True):
    """A rule refuses the pod, whatever the node."""

    rule: str
    reasons: tuple[str, ...]


def decide(picture: Picture) -> Verdict:
    if not picture.nodes:
        return NO_NODES
    opinions = _gather(picture)
    match opinions:
        case Trouble():
            return opinions
        case _Objection(rule, reasons):
            return _fits_nowhere(picture, ", ".join(reasons), {}, frozenset({rule}))
        case _Opinions():
            pass
    refusals: dict[str, Refused] = {}
    culprits: set[str] = set()
    feasible: list[NodeView] = []
    for node in picture.nodes:
        found = _judge(opinions, node)
        if found is None:
            feasible.append(node)
        else:
            culprit, refusals[node.name] = found
            culprits.add(culprit)
    if not feasible:
        counts = Counter(reason for refused in refusals.values() for reason in refused.reasons)
        why = ", ".join(_counted(counts))
        return _fits_nowhere(picture, why, refusals, frozenset(culprits))
    return _placed(opinions, best_node(picture.pod, feasible))


def _gather(picture: Picture) -> _Opinions | _Objection | Trouble:
    opinions = _Opinions([])
    for rule in RULES:
        match rule.look_at(picture):
            case None:
                pass
            case Refused(reasons):
                return _Objection(rule.name, reasons)
            case Trouble() as trouble:
                return trouble
            case Among(names, check):
                opinions.among, opinions.narrowed_by = names, rule.name
                opinions.checks.append((rule.name, check))
            case check:
                opinions.checks.append((rule.name, check))
    return opinions


def _judge(opinions: _Opinions, node: NodeView) -> tuple[str, Refused] | None:
    """The first rule that refuses the node, with its reason."""
    if opinions.among is not None and node.name not in opinions.among:
        rule = opinions.narrowed_by
        return rule, Refused((f"node(s) didn't satisfy plugin(s) [{rule}]",))
    for name, check in opinions.checks:
        refused = check(node)
        if refused is not None:
            return name, refused
    return None


def _placed(opinions: _Opinions, node: NodeView) -> Verdict:
    for _, check in opinions.checks:
        if isinstance(check, binding.VolumeCheck):
            match check.choose(node):
                case PodVolumes() as volumes:
                    return Assignment(node.name, volumes)
                case Refused(reasons):  # not in the picture in which it passed a moment ago
                    return Trouble(", ".join(reasons))
    return Assignment(node.name)


def _fits_nowhere(
    picture: Picture, why: str, refusals: Mapping[str, Refused], rules: frozenset[str]
) -> Unschedulable:
    text = _available(picture, why)
    match preempt(picture, refusals, partial(_reasons, picture)):
        case Preemption() as preemption:
            return Unschedulable(text, rules, preemption)
        case Waiting(told):
            return Unschedulable(f"{text} {told}", rules, waits_for_victims=True)
        case told:
            return Unschedulable(f"{text} {told}", rules)


def _reasons(picture: Picture, node: NodeView, freed: frozenset[Key]) -> tuple[str, ...]:
    """Why the pod does not fit on a node that some pods have left, with these claims."""
    storage = WithoutClaims(picture.storage, freed) if freed else picture.storage
    opinions = _gather(msgspec.structs.replace(picture, nodes=(node,), storage=storage))
    match opinions:
        case Trouble(message):
            return (message,)
        case _Objection(_, reasons):
            return reasons
        case _Opinions():
            found = _judge(opinions, node)
            return () if found is None else found[1].reasons


def _counted(counts: Mapping[str, int]) -> Sequence[str]:
    return sorted(f"{count} {reason}" for reason, count in counts.items())


def _available(picture: Picture, why: str) -> str:
    return f"0/{len(picture.nodes)} nodes are available: {why}."


def is_woken(pod: Pod, rules: frozenset[str], change: Change) -> bool:
    """Whether a pod that these rules refused may fit after a change. No rules: no node."""
    if not rules:
        return is_new_node(change)
    return any(_BY_NAME[name].is_woken(pod, change) for name in rules)
