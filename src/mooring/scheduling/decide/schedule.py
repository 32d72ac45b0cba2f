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
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
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
from mooring.scheduling.decide.memory import Memory, PodShape, pod_shape
from mooring.scheduling.decide.preemption import Waiting, preempt, victims_found
from mooring.scheduling.decide.score import Merits, best_of, by_merit, is_each_by_itself, merits_of
from mooring.scheduling.decide.storage_score import storage_score, tells_nodes_apart
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

OF_THE_NODE: Final[tuple[Rule, ...]] = (
    unschedulable.RULE,
    node_name.RULE,
    taints.RULE,
    affinity.RULE,
    ports.RULE,
    resources.RULE,
)
"""They look at the pod's spec and one node, at nothing else: what they said can be remembered."""

OF_VOLUMES: Final[tuple[Rule, ...]] = (restrictions.RULE, limits.RULE, binding.RULE, zone.RULE)
OF_OTHER_PODS: Final[tuple[Rule, ...]] = (spread.RULE, pod_affinity.RULE)

RULES: Final[tuple[Rule, ...]] = (*OF_THE_NODE, *OF_VOLUMES, *OF_OTHER_PODS)
"""In upstream's order."""

_BY_NAME = {rule.name: rule for rule in RULES}
_REMEMBERED = frozenset(rule.name for rule in OF_THE_NODE)

NO_NODES = Unschedulable("no nodes available to schedule pods")


Answer = tuple[str, Refused] | Merits
"""Of a node to a pod: the first rule that refuses it, with its reason; or how good it would be."""


class _Opinions(msgspec.Struct):
    """What the rules say before they see a node."""

    checks: list[tuple[str, Check]]
    among: frozenset[str] | None = None
    narrowed_by: str = ""


class _Objection(msgspec.Struct, frozen=True):
    """A rule refuses the pod, whatever the node."""

    rule: str
    reasons: tuple[str, ...]


_Gathered = _Opinions | _Objection | Trouble


def decide(picture: Picture, memory: Memory[Answer] | None = None) -> Verdict:
    """`memory` is of earlier pictures of the same cluster; the verdict is the same without it."""
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
    first, others = _split(opinions)
    refusals: dict[str, tuple[str, Refused]] = {}
    passing: list[tuple[NodeView, Merits]] = []
    for node, answer in _answers(picture, first, memory or Memory()):
        if isinstance(answer, Merits):
            passing.append((node, answer))
        else:
            refusals[node.name] = answer
    feasible: list[tuple[NodeView, Merits]] = []
    scored = _scored_volumes(picture, opinions)
    by_itself = scored is None and is_each_by_itself(passing)
    for node, merits in sorted(passing, key=by_merit) if by_itself else passing:
        refused = _judge(_Opinions(others), node)
        if refused is not None:
            refusals[node.name] = refused
        else:
            storage = 0 if scored is None else storage_score(scored, node)
            feasible.append((node, msgspec.structs.replace(merits, storage=storage)))
            if by_itself:
                break  # it is the best of all: nobody needs to ask about the others
    if not feasible:
        return _refused(picture, refusals)
    return _placed(opinions, best_of(feasible))


def _scored_volumes(picture: Picture, opinions: _Opinions) -> binding.VolumeCheck | None:
    """What the nodes are compared by, if volumes have yet to be found or made."""
    if picture.release.scores_capacity:
        for _, check in opinions.checks:
            if isinstance(check, binding.VolumeCheck) and tells_nodes_apart(check):
                return check
    return None


def _refused(picture: Picture, refusals: Mapping[str, tuple[str, Refused]]) -> Unschedulable:
    by_node = {node: refused for node, (_, refused) in refusals.items()}
    counts = Counter(reason for refused in by_node.values() for reason in refused.reasons)
    culprits = frozenset(rule for rule, _ in refusals.values())
    return _fits_nowhere(picture, ", ".join(_counted(counts)), by_node, culprits)


def _answers(
    picture: Picture, opinions: _Opinions, memory: Memory[Answer]
) -> Iterator[tuple[NodeView, Answer]]:
    """Of every node, by the rules that can be remembered."""
    pod = picture.pod
    known = memory.answers(pod_shape(pod), len(picture.nodes))
    for node in picture.nodes:
        remembered = known.get(node.name)
        if remembered is not None and remembered[0] is node:
            yield node, remembered[1]
            continue
        answer = _judge(opinions, node) or merits_of(pod, node)
        known[node.name] = node, answer
        yield node, answer


def _split(opinions: _Opinions) -> tuple[_Opinions, list[tuple[str, Check]]]:
    """Those of the rules whose answers are remembered, and those of the others."""
    first = [each for each in opinions.checks if each[0] in _REMEMBERED]
    others = opinions.checks[len(first) :]
    return msgspec.structs.replace(opinions, checks=first), others


def find_refuser(picture: Picture, shape: PodShape, memory: Memory[Answer]) -> str | None:
    """The rule that keeps the pod of this shape from the one node of the picture, even if others
    made room. None: it may fit. The rules about other pods are left out: they look at all nodes."""
    (node,) = picture.nodes
    known = memory.answers(shape, 1 << 30)
    remembered = known.get(node.name)
    if remembered is not None and remembered[0] is node and not isinstance(remembered[1], Merits):
        return _unless_room(picture.pod, node, remembered[1])
    opinions = _gather(picture, (*OF_THE_NODE, *OF_VOLUMES))
    match opinions:
        case Trouble():
            return None
        case _Objection(rule, _):
            return rule
        case _Opinions():
            pass
    first, others = _split(opinions)
    if remembered is None or remembered[0] is not node:
        answer = _judge(first, node) or merits_of(picture.pod, node)
        known[node.name] = node, answer
        if not isinstance(answer, Merits):
            return _unless_room(picture.pod, node, answer)
    refused = _judge(_Opinions(others), node)
    return None if refused is None else _unless_room(picture.pod, node, refused)


def _unless_room(pod: Pod, node: NodeView, answer: tuple[str, Refused]) -> str | None:
    """The rule, unless others might make room; `preempt` says whether they do."""
    rule, refused = answer
    if refused.yields and any(x.spec.priority < pod.spec.priority for x in node.pods.values()):
        return None
    return rule


def _gather(picture: Picture, rules: tuple[Rule, ...] = RULES) -> _Gathered:
    opinions = _Opinions([])
    for rule in rules:
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
    others = cache(partial(_gather, picture, OF_OTHER_PODS))
    match preempt(picture, refusals, partial(_reasons, picture, others)):
        case Preemption() as preemption:
            if picture.release.tells_of_victims:
                text = f"{text} {victims_found(preemption)}"
            return Unschedulable(text, rules, preemption)
        case Waiting(told):
            return Unschedulable(f"{text} {told}", rules, waits_for_victims=True)
        case told:
            return Unschedulable(f"{text} {told}", rules)


def _reasons(
    picture: Picture, others: Callable[[], _Gathered], node: NodeView, freed: frozenset[Key]
) -> tuple[str, ...]:
    """Why the pod does not fit on a node that some pods have left, with these claims.

    `others` says what the rules about other pods think: of all nodes, since all count for them.
    """
    storage = WithoutClaims(picture.storage, freed) if freed else picture.storage
    alone = msgspec.structs.replace(picture, nodes=(node,), storage=storage)
    for opinions in (_gather(alone, (*OF_THE_NODE, *OF_VOLUMES)), others()):
        match opinions:
            case Trouble(message):
                return (message,)
            case _Objection(_, reasons):
                return reasons
            case _Opinions():
                found = _judge(opinions, node)
                if found is not None:
                    return found[1].reasons
    return ()


def _counted(counts: Mapping[str, int]) -> Sequence[str]:
    return sorted(f"{count} {reason}" for reason, count in counts.items())


def _available(picture: Picture, why: str) -> str:
    return f"0/{len(picture.nodes)} nodes are available: {why}."


def is_woken(pod: Pod, rules: frozenset[str], change: Change) -> bool:
    """Whether a pod that these rules refused may fit after a change. No rules: no node."""
    if not rules:
        return is_new_node(change)
    return any(_BY_NAME[name].is_woken(pod, change) for name in rules)
