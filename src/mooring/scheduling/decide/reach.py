"""Which nodes reach a volume, where one label of a node says all of it."""

from mooring.model.node_selector import NodeOperator
from mooring.model.volume import Volume

NodeLabel = tuple[str, str]
"""Key and value."""


def node_labels_of(volume: Volume) -> tuple[NodeLabel, ...]:
    """Nodes with any one of these reach the volume, and no others; empty: it is not so simple.

    So it is for the volumes of one node, and of one zone.
    """
    affinity = volume.spec.node_affinity
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    if len(terms) != 1 or terms[0].match_fields or len(terms[0].match_expressions) != 1:
        return ()
    (wanted,) = terms[0].match_expressions
    if wanted.operator is not NodeOperator.IN:
        return ()
    return tuple((wanted.key, value) for value in sorted(set(wanted.values)))
