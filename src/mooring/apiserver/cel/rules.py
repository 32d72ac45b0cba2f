"""The `x-kubernetes-validations` of a schema: compiled once, checked on every write."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mooring.apiserver.cel.call_cost import MOST_PER_OBJECT
from mooring.apiserver.cel.checker import Checked
from mooring.apiserver.cel.compiler import Program
from mooring.apiserver.cel.environment import compile_text, environment
from mooring.apiserver.cel.errors import CompileError, ProgramError
from mooring.apiserver.cel.rule_check import CompiledRule, Findings, Part, Walk
from mooring.apiserver.cel.rule_costs import TotalCost, too_costly
from mooring.apiserver.cel.schema import MOST_REQUEST, Declared, declare, records
from mooring.apiserver.cel.static_cost import most_cost
from mooring.apiserver.cel.types import BOOL, STRING, CelType, optional_of
from mooring.apiserver.structural.contract import ListType, Node, Rule
from mooring.apiserver.structural.field_paths import BadFieldPath, find_field
from mooring.model.field_error import FieldError, forbidden, invalid

_UNCORRELATED = "oldSelf cannot be used on the uncorrelatable portion of the schema within "
_FAILED = {
    (False, False): "compilation failed",
    (False, True): "program instantiation failed",
    (True, False): "messageExpression compilation failed",
    (True, True): "messageExpression instantiation failed",
}


class CompiledRules:
    """The rules of a schema."""

    def __init__(self, root: Part | None) -> None:
        self._root = root

    def check(self, doc: Any, old: Any = None, budget: int = MOST_PER_OBJECT) -> Findings:
        """What the rules say of a document; `old` is the one it replaces.

        A rule that fails on a part that did not change is a warning, unless it compares with the
        old value.
        """
        if self._root is None:
            return Findings([], [])
        return Walk(budget).whole(self._root, doc, old)


def compile_rules(node: Node, path: str) -> CompiledRules | list[FieldError]:
    """All rules of a schema, or what is wrong with them; `path` is the schema's own in errors.

    Of entries that have no expression, or a wrong message, reason or path, `rule_entries.py` tells
    when a schema is judged; here they are left out.
    """
    compiler = _Compiler()
    root = compiler.part(node, _Place(path, resource=True))
    errors = compiler.errors + compiler.total.errors(path)
    return errors or CompiledRules(root)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node is in its schema."""

    path: str
    resource: bool = False
    cardinality: int | None = 1  # how often it can occur; None: as often as fits a request
    uncorrelated: str = ""  # the list above it whose items have no old value

    def below(self, node: Node, step: str, inner: Node) -> "_Place":
        times = _most_below(node)
        bounded = self.cardinality is not None and times is not None
        return _Place(
            f"{self.path}.{step}",
            inner.embedded_resource,
            (self.cardinality or 0) * (times or 0) if bounded else None,
            self.uncorrelated,
        )


def _most_below(node: Node) -> int | None:
    key = {"array": "maxItems", "object": "maxProperties"}.get(node.type)
    if key is None or (node.type == "object" and node.additional is None):
        return 1
    most = node.written.get(key)
    return None if most is None else max(0, most)


class _Compiler:
    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.total = TotalCost()

    def part(self, node: Node, place: _Place) -> Part | None:
        """The rules of a node and of all below it; None: there are none."""
        additional = self._additional(node, place)
        properties = self._properties(node, place)
        items = self._items(node, place)
        rules: tuple[CompiledRule, ...] = ()
        convert = None
        if node.rules:
            declared = declare(node, resource=place.resource)
            if declared is not None:
                rules, convert = self._rules(node, place, declared), declared.convert
        if not (rules or additional or properties or items):
            return None
        return Part(node, rules, convert, properties, additional, items)

    def _additional(self, node: Node, place: _Place) -> Part | None:
        if not isinstance(node.additional, Node):
            return None
        return self.part(
            node.additional, place.below(node, "additionalProperties", node.additional)
        )

    def _properties(self, node: Node, place: _Place) -> Mapping[str, Part]:
        found = {
            name: self.part(inner, place.below(node, f"properties[{name}]", inner))
            for name, inner in node.properties.items()
        }
        return {name: part for name, part in found.items() if part is not None}

    def _items(self, node: Node, place: _Place) -> Part | None:
        if node.items is None:
            return None
        below = place.below(node, "items", node.items)
        if node.list_type is not ListType.MAP and not place.uncorrelated:
            below = _Place(below.path, below.resource, below.cardinality, place.path)
        return self.part(node.items, below)

    def _rules(self, node: Node, place: _Place, declared: Declared) -> tuple[CompiledRule, ...]:
        found = (
            self._rule(node, rule, f"{place.path}.x-kubernetes-validations[{at}]", place, declared)
            for at, rule in enumerate(node.rules)
            if rule.rule.strip()
        )
        return tuple(rule for rule in found if rule is not None)

    def _rule(
        self, node: Node, rule: Rule, path: str, place: _Place, declared: Declared
    ) -> CompiledRule | None:
        old = optional_of(declared.type) if rule.optional_old_self else declared.type
        variables = {"self": declared.type, "oldSelf": old}
        compiled = self._compile(rule, rule.rule, variables, declared, f"{path}.rule")
        if compiled is None:
            return None
        checked, program = compiled
        self._count(most_cost(checked, declared), f"{path}.rule", place, declared)
        transition = "oldSelf" in checked.variables
        if transition and place.uncorrelated:
            self.errors.append(
                invalid(f"{path}.rule", rule.rule, _UNCORRELATED + place.uncorrelated)
            )
        if rule.optional_old_self and not transition:
            unused = "may not be set if oldSelf is not used in rule"
            self.errors.append(invalid(f"{path}.optionalOldSelf", rule.optional_old_self, unused))
        message = self._message(rule, variables, declared, f"{path}.messageExpression")
        return CompiledRule(rule, program, message, transition, _field(node, rule))

    def _message(
        self, rule: Rule, variables: Mapping[str, CelType], declared: Declared, path: str
    ) -> Program | None:
        if not rule.message_expression:
            return None
        compiled = self._compile(rule, rule.message_expression, variables, declared, path)
        if compiled is None:
            return None
        checked, program = compiled
        cost = most_cost(checked, declared)
        if text := too_costly("estimated messageExpression cost", cost):
            self.errors.append(forbidden(path, text))
        self.total.add(path, cost)
        return program

    def _compile(
        self,
        rule: Rule,
        text: str,
        variables: Mapping[str, CelType],
        declared: Declared,
        path: str,
    ) -> tuple[Checked, Program] | None:
        message = path.endswith("messageExpression")
        try:
            checked, program = compile_text(text, environment(variables, records(declared)))
        except CompileError as error:
            what = _FAILED[message, isinstance(error, ProgramError)]
            self.errors.append(_of_rule(path, rule, f"{what}: {error}"))
            return None
        if checked.result == (STRING if message else BOOL):
            return checked, program
        wanted = "messageExpression must evaluate to a string"
        detail = wanted if message else "cel expression must evaluate to a bool"
        self.errors.append(_of_rule(path, rule, detail))
        return None

    def _count(self, cost: int, path: str, place: _Place, declared: Declared) -> None:
        times = place.cardinality
        if times is None:
            times = MOST_REQUEST // (declared.least + 1)
        cost *= times
        if text := too_costly("estimated rule cost", cost):
            self.errors.append(forbidden(path, text))
        self.total.add(path, cost)


def _field(node: Node, rule: Rule) -> str:
    """Where below its value a rule puts its error."""
    try:
        return find_field(rule.field_path, node.written)[0]
    except BadFieldPath:
        return ""


def _of_rule(path: str, rule: Rule, detail: str) -> FieldError:
    """An error that shows the whole rule, as Go's JSON does."""
    shown = {
        "Rule": rule.rule,
        "Message": rule.message,
        "MessageExpression": rule.message_expression,
        "Reason": rule.reason or None,
        "FieldPath": rule.field_path,
        "OptionalOldSelf": rule.optional_old_self or None,
    }
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {text}: {detail}")
