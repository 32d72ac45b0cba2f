"""Rules on a document: which run where, and what is said of those that fail."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from mooring.apiserver.cel.call_cost import MOST_PER_EXPRESSION
from mooring.apiserver.cel.compiler import Program
from mooring.apiserver.cel.correlation import Correlation, OldItems
from mooring.apiserver.cel.errors import NO_SUCH_OVERLOAD, CelError
from mooring.apiserver.cel.patience import evaluate
from mooring.apiserver.cel.values import NONE, Optional
from mooring.apiserver.structural.contract import Node, Rule
from mooring.model.field_error import FieldError, duplicate, forbidden, invalid, required

ROOT = "<nil>"  # what errors call the whole object
MOST_MESSAGE = 5 * 1024  # bytes of a message that an expression makes
_OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


class Findings(NamedTuple):
    errors: list[FieldError]
    warnings: list[FieldError]  # rules that fail on what did not change


@dataclass(frozen=True, slots=True)
class CompiledRule:
    rule: Rule
    program: Program
    message: Program | None
    transition: bool  # it compares with the old value
    field: str  # below the value, where the error is


@dataclass(frozen=True, slots=True)
class Part:
    """The rules of a node of the schema, and of the nodes below it that have any."""

    node: Node
    rules: tuple[CompiledRule, ...]
    convert: Callable[[Any], Any] | None
    properties: Mapping[str, "Part"]
    additional: "Part | None"
    items: "Part | None"


class _Ratchet(NamedTuple):
    """The part's own old value, or that of the nearest part above that has one."""

    own: Correlation | None
    above: Correlation | None

    @property
    def unchanged(self) -> bool:
        known = self.own or self.above
        return known is not None and known.unchanged

    def key(self, name: str) -> "_Ratchet":
        if self.own is None:
            return self
        if self.above is None and name in ("apiVersion", "kind"):
            return _Ratchet(None, None)
        return _Ratchet(self.own.key(name), self.own)

    def item(self, new: Any, old: Any) -> "_Ratchet":
        return self if self.own is None else _Ratchet(self.own.item(new, old), self.own)


class _Stop(Exception):
    """The budget is spent: the walk ends here."""


class Walk:
    """One check of one document. Raises TakesLong within `at_once`."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._errors: list[FieldError] = []
        self._warnings: list[FieldError] = []

    def whole(self, part: Part, doc: Any, old: Any) -> Findings:
        own = None if old is None else Correlation(doc, old, part.node)
        with suppress(_Stop):
            self._value(part, "", doc, old, _Ratchet(own, None))
        return Findings(self._errors, self._warnings)

    def _value(self, part: Part, path: str, value: Any, old: Any, ratchet: _Ratchet) -> None:
        if value is None:
            return
        if part.rules:
            self._rules(part, path or ROOT, value, old, ratchet)
        if isinstance(value, list):
            self._list(part, path, value, old, ratchet)
        elif isinstance(value, dict):
            self._object(part, path, value, old, ratchet)

    def _list(self, part: Part, path: str, value: list[Any], old: Any, ratchet: _Ratchet) -> None:
        if part.items is None:
            return
        before = OldItems(part.node, old)
        for at, item in enumerate(value):
            same = before.get(item)
            self._value(part.items, f"{path}[{at}]", item, same, ratchet.item(item, same))

    def _object(
        self, part: Part, path: str, value: dict[str, Any], old: Any, ratchet: _Ratchet
    ) -> None:
        before = old if isinstance(old, dict) else {}
        if part.additional is not None:
            for name, item in value.items():
                was = before.get(name)
                self._value(part.additional, f"{path}[{name}]", item, was, ratchet.key(name))
        for name, inner in part.properties.items():
            if name in value:
                below = f"{path}.{name}" if path else name
                self._value(inner, below, value[name], before.get(name), ratchet.key(name))

    def _rules(self, part: Part, path: str, value: Any, old: Any, ratchet: _Ratchet) -> None:
        if self._budget <= 0:
            self._errors.append(invalid(path, part.node.type, _OUT_OF_BUDGET))
            raise _Stop
        convert = part.convert
        shown = value if convert is None else convert(value)
        was: Any = None
        for rule in part.rules:
            values: dict[str, Any] = {"self": shown}
            if rule.transition:
                if old is None and not rule.rule.optional_old_self:
                    continue
                if old is not None and was is None:
                    was = old if convert is None else convert(old)
                values["oldSelf"] = _optional(was) if rule.rule.optional_old_self else was
            result = self._evaluate(part, path, rule, values)
            if result is False:
                self._failed(part, path, rule, values, value, ratchet)

    def _spend(self, part: Part, path: str, cost: int) -> None:
        if cost > self._budget:
            self._errors.append(invalid(path, part.node.type, _OUT_OF_BUDGET))
            raise _Stop
        self._budget -= cost

    def _evaluate(
        self, part: Part, path: str, rule: CompiledRule, values: Mapping[str, Any]
    ) -> Any:
        result, cost = evaluate(rule.program.run, values, MOST_PER_EXPRESSION)
        self._spend(part, path, cost)
        if not isinstance(result, CelError):
            return result
        text, named = str(result), _named(rule.rule)
        if text.startswith(NO_SUCH_OVERLOAD):
            detail = (
                f"'{text}': call arguments did not match a supported operator, function or macro "
                f"signature for rule: {named}"
            )
        elif result.fatal:
            detail = (
                f"'{text}': no further validation rules will be run due to call cost exceeds limit "
                f"for rule: {named}"
            )
        else:
            detail = f"{text} evaluating rule: {named}"
        self._errors.append(invalid(path, part.node.type, detail))
        if result.fatal:
            raise _Stop
        return None

    def _failed(
        self,
        part: Part,
        path: str,
        rule: CompiledRule,
        values: Mapping[str, Any],
        value: Any,
        ratchet: _Ratchet,
    ) -> None:
        field = path
        if rule.field:
            field = rule.field if path == ROOT else _join(path, rule.field)
        try:
            detail = self._message(part, field, rule, values)
        except _OutOfBudgetError as error:
            self._add(rule, ratchet, invalid(field, part.node.type, str(error)))
            raise _Stop from None
        omitted = part.node.type in ("object", "array")
        self._add(rule, ratchet, _error(rule.rule.reason, field, value, detail, omitted=omitted))

    def _add(self, rule: CompiledRule, ratchet: _Ratchet, error: FieldError) -> None:
        ratcheted = not rule.transition and ratchet.unchanged
        (self._warnings if ratcheted else self._errors).append(error)

    def _message(self, part: Part, path: str, rule: CompiledRule, values: Mapping[str, Any]) -> str:
        if rule.message is not None:
            made = self._made_message(rule, values)
            if made:
                return made
        return rule.rule.message.strip() or f"failed rule: {_named(rule.rule)}"

    def _made_message(self, rule: CompiledRule, values: Mapping[str, Any]) -> str:
        """What the expression says; empty: nothing that can be used."""
        if rule.message is None:
            return ""
        given = {"oldSelf": NONE if rule.rule.optional_old_self else None, **values}
        result, cost = evaluate(rule.message.run, given, MOST_PER_EXPRESSION)
        if cost > self._budget:
            raise _OutOfBudgetError(
                "messageExpression evaluation failed due to running out of cost budget, no further "
                "validation rules will be run"
            )
        if isinstance(result, CelError):
            if result.fatal:
                raise _OutOfBudgetError(
                    "no further validation rules will be run due to call cost exceeds limit for "
                    f'messageExpression: "{rule.rule.message_expression}"'
                )
            self._budget -= cost
            return ""
        self._budget -= cost
        text = result.strip() if isinstance(result, str) else ""
        return "" if "\n" in text or len(text.encode(errors="replace")) > MOST_MESSAGE else text


class _OutOfBudgetError(Exception):
    pass


def _optional(value: Any) -> Optional:
    return NONE if value is None else Optional(value)


def _join(path: str, field: str) -> str:
    return f"{path}{field}" if field.startswith("[") else f"{path}.{field}"


def _named(rule: Rule) -> str:
    return rule.message.strip() or rule.rule.strip()


def _error(reason: str, path: str, value: Any, detail: str, *, omitted: bool) -> FieldError:
    match reason:
        case "FieldValueForbidden":
            return forbidden(path, detail)
        case "FieldValueRequired":
            return required(path, detail)
        case "FieldValueDuplicate":
            if omitted:
                return FieldError(path, reason, "Duplicate value")
            return duplicate(path, value)
        case _:
            pass
    if omitted:
        return FieldError(path, "FieldValueInvalid", f"Invalid value: {detail}")
    return invalid(path, value, detail)
