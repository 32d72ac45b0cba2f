"""What stands behind the counted reasons: which volume, and where it can be used. Pure.

Each text begins as Kubernetes', so that whoever searches for that finds it, and says the same of
every node, so that nodes are still counted together.
"""

from collections.abc import Iterable, Sequence

from mooring.model.claim import Claim
from mooring.model.node_selector import NodeOperator, NodeRequirement, NodeSelectorTerm
from mooring.model.volume import Volume
from mooring.model.wellknown import Label

NOT_REACHABLE = "node(s) didn't match PersistentVolume's node affinity"
NOTHING_TO_BIND = "node(s) didn't find available persistent volumes to bind"

MOST_NAMED = 3

_SIGNS = {
    NodeOperator.IN: "in",
    NodeOperator.NOT_IN: "not in",
    NodeOperator.GREATER: ">",
    NodeOperator.LESS: "<",
}


def out_of_reach(volume: Volume) -> str:
    affinity = volume.spec.node_affinity
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    where = f" is only on {_places(terms)}" if terms else ""
    return f'{NOT_REACHABLE} (volume "{volume.name}"{where})'


def too_small(claim: Claim, largest: Volume | None) -> str:
    """`largest` is the largest free volume that would do but for its size."""
    if largest is None:
        return NOTHING_TO_BIND
    return (
        f'{NOTHING_TO_BIND} (claim "{claim.name}" asks for {claim.requested}; the largest volume '
        f'that would fit otherwise, "{largest.name}", has {largest.size})'
    )


def _places(terms: Sequence[NodeSelectorTerm]) -> str:
    """`node "n1"`, or the labels that its nodes have."""
    wanted = [(*term.match_expressions, *term.match_fields) for term in terms]
    if all(len(one) == 1 and _is_by_name(one[0]) for one in wanted):
        names = [f'"{name}"' for one in wanted for name in one[0].values]
        return f"node{'s' if len(names) > 1 else ''} {_some(names)}"
    texts = [" and ".join(map(_requirement, one)) for one in wanted]
    return f"nodes with {_some(texts, ' or ')}"


def _is_by_name(wanted: NodeRequirement) -> bool:
    return wanted.key in {Label.HOSTNAME, "metadata.name"} and wanted.operator is NodeOperator.IN


def _requirement(wanted: NodeRequirement) -> str:
    match wanted.operator:
        case NodeOperator.EXISTS:
            return wanted.key
        case NodeOperator.ABSENT:
            return f"no {wanted.key}"
        case operator:
            values = f"({_some(wanted.values)})" if len(wanted.values) != 1 else wanted.values[0]
            return f"{wanted.key} {_SIGNS.get(operator, operator)} {values}"


def _some(words: Iterable[str], between: str = ", ") -> str:
    every = list(words)
    more = len(every) - MOST_NAMED
    shown = between.join(every[:MOST_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown
