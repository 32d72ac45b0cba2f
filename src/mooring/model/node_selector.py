"""Choosing nodes by label and name: the affinity of volumes and pods.

Terms are alternatives; inside a term all requirements must hold. An empty or invalid term matches
no node.
"""

from collections.abc import Mapping

from mooring.model.selector import find_int64
from mooring.model.wire import Wire, Word


class NodeOperator(Word):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    ABSENT = "DoesNotExist"
    GREATER = "Gt"
    LESS = "Lt"


class NodeRequirement(Wire, frozen=True):
    key: str
    operator: NodeOperator
    values: tuple[str, ...] = ()

    def matches_label(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case NodeOperator.IN:
                return value in self.values
            case NodeOperator.NOT_IN:
                return bool(self.values) and value not in self.values
            case NodeOperator.EXISTS:
                return value is not None and not self.values
            case NodeOperator.ABSENT:
                return value is None and not self.values
            case NodeOperator.GREATER | NodeOperator.LESS:
                if len(self.values) != 1:
                    return False
                number, bound = find_int64(value), find_int64(self.values[0])
                if number is None or bound is None:
                    return False
                return number > bound if self.operator is NodeOperator.GREATER else number < bound
            case _:  # an unknown operator
                return False

    def matches_field(self, fields: Mapping[str, str]) -> bool:
        """Fields allow only In and NotIn, with one value; an absent field is empty."""
        if len(self.values) != 1:
            return False
        same = fields.get(self.key, "") == self.values[0]
        match self.operator:
            case NodeOperator.IN:
                return same
            case NodeOperator.NOT_IN:
                return not same
            case _:
                return False


class NodeSelectorTerm(Wire, frozen=True):
    match_expressions: tuple[NodeRequirement, ...] = ()
    match_fields: tuple[NodeRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
        if not self.match_expressions and not self.match_fields:
            return False
        return all(r.matches_label(labels) for r in self.match_expressions) and all(
            r.matches_field(fields) for r in self.match_fields
        )

    def matches_labels(self, labels: Mapping[str, str]) -> bool:
        """By labels alone, when the node's fields are unknown: they count as matching."""
        if not self.match_expressions and not self.match_fields:
            return False
        return all(r.matches_label(labels) for r in self.match_expressions)


class NodeSelector(Wire, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()

    def matches(self, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
        """Whether a node with these labels and fields (`metadata.name`) is chosen."""
        return any(term.matches(labels, fields) for term in self.node_selector_terms)

    def matches_labels(self, labels: Mapping[str, str]) -> bool:
        """By labels alone, as upstream matches a volume's node affinity."""
        return any(term.matches_labels(labels) for term in self.node_selector_terms)
