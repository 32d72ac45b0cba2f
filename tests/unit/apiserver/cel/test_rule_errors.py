"""Rules that a definition is refused for: the whole text of each error."""

from typing import Any

import pytest

from mooring.apiserver.cel.rules import CompiledRules, compile_rules
from mooring.apiserver.structural.parse import node_of

_LIMITS = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)


def told(schema: dict[str, Any]) -> list[str]:
    rules = compile_rules(node_of({"type": "object", "properties": {"f": schema}}), "schema")
    return [] if isinstance(rules, CompiledRules) else [str(error) for error in rules]


def ruled(schema: dict[str, Any], text: str, **more: Any) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [{"rule": text, **more}]}


STRING = {"type": "string", "maxLength": 10}
OBJECT = {"type": "object", "properties": {"a": STRING, "namespace": STRING, "a-b/c.d": STRING}}
_AT = "schema.properties[f].x-kubernetes-validations[0]"


def shown(text: str, expression: str = "") -> str:
    return (
        f'{{"Rule":"{text}","Message":"","MessageExpression":"{expression}","Reason":null,'
        '"FieldPath":"","OptionalOldSelf":null}'
    )


GOOD = {
    "a field": ruled(OBJECT, "self.a == 'x'"),
    "an escaped field": ruled(OBJECT, "self.a__dash__b__slash__c__dot__d == 'x'"),
    "a reserved word, escaped": ruled(OBJECT, "self.__namespace__ == 'x'"),
    "a reserved word, as it is": ruled(OBJECT, "self.namespace == 'x'"),
    "the old value": ruled(OBJECT, "self == oldSelf"),
    "an optional old value": ruled(OBJECT, "oldSelf.hasValue()", optionalOldSelf=True),
    "a map": ruled(
        {"type": "object", "additionalProperties": STRING, "maxProperties": 5},
        "self.all(k, self[k] != '')",
    ),
    "times": ruled(
        {"type": "string", "format": "date-time"}, "self > timestamp('2020-01-01T00:00:00Z')"
    ),
    "lengths": ruled({"type": "string", "format": "duration"}, "self > duration('1s')"),
    "bytes": ruled({"type": "string", "format": "byte", "maxLength": 9}, "size(self) > 1"),
    "numbers": ruled({"type": "number"}, "self > 1.5"),
    "int or string": ruled(
        {"x-kubernetes-int-or-string": True}, "type(self) == int ? self > 1 : self != ''"
    ),
    "an embedded object": ruled(
        {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {}},
        "self.metadata.name != ''",
    ),
}


@pytest.mark.parametrize("schema", GOOD.values(), ids=GOOD)
def test_accepted(schema: dict[str, Any]) -> None:
    assert told(schema) == []


REFUSED = {
    "an undefined field": (
        ruled(OBJECT, "self.x < 'a'"),
        f"{_AT}.rule: Invalid value: " + shown(r"self.x \u003c 'a'") + ": compilation failed: "
        "ERROR: <input>:1:5: undefined field 'x'\n | self.x < 'a'\n | ....^",
    ),
    "an index into an object": (
        ruled(OBJECT, "self['a'] == ''"),
        f"{_AT}.rule: Invalid value: " + shown("self['a'] == ''") + ": compilation failed: "
        "ERROR: <input>:1:5: found no matching overload for '_[_]' applied to "
        "'(selfType, string)'\n | self['a'] == ''\n | ....^",
    ),
    "no bool": (
        ruled(STRING, "self"),
        f"{_AT}.rule: Invalid value: {shown('self')}: cel expression must evaluate to a bool",
    ),
    "int or string without a look at its type": (
        ruled({"x-kubernetes-int-or-string": True}, "self"),
        f"{_AT}.rule: Invalid value: {shown('self')}: cel expression must evaluate to a bool",
    ),
    "a message that is no string": (
        ruled(STRING, "true", messageExpression="1"),
        f"{_AT}.messageExpression: Invalid value: {shown('true', '1')}: "
        "messageExpression must evaluate to a string",
    ),
    "a message that does not compile": (
        ruled(STRING, "true", messageExpression="x"),
        f"{_AT}.messageExpression: Invalid value: {shown('true', 'x')}: messageExpression "
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n"
        " | x\n | ^",
    ),
    "what can never be evaluated": (
        ruled(STRING, "int('x') == 1"),
        f"{_AT}.rule: Invalid value: " + shown("int('x') == 1") + ": program instantiation "
        "failed: type conversion error from 'string' to 'int'",
    ),
    "an optional old value that is not used": (
        ruled(STRING, "true", optionalOldSelf=True),
        f"{_AT}.optionalOldSelf: Invalid value: true: "
        "may not be set if oldSelf is not used in rule",
    ),
    "the old value below an atomic list": (
        {"type": "array", "maxItems": 5, "items": ruled(STRING, "self == oldSelf")},
        "schema.properties[f].items.x-kubernetes-validations[0].rule: Invalid value: "
        '"self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema '
        "within schema.properties[f]",
    ),
    "a rule that may cost too much": (
        ruled({"type": "array", "items": {"type": "string"}}, "self.all(x, self.all(y, x == y))"),
        f"{_AT}.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x "
        + _LIMITS,
    ),
}


@pytest.mark.parametrize(("schema", "wanted"), REFUSED.values(), ids=REFUSED)
def test_refused(schema: dict[str, Any], wanted: str) -> None:
    assert told(schema)[0] == wanted


def test_what_has_no_type_is_not_seen() -> None:
    free = {"x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"free": free, "1a": STRING}}
    [error] = told(ruled(schema, "has(self.free)"))
    assert "undefined field 'free'" in error


def test_a_rule_below_an_atomic_list_names_the_highest_one() -> None:
    inner = {"type": "array", "maxItems": 2, "items": ruled(STRING, "self == oldSelf")}
    [error] = told({"type": "array", "maxItems": 2, "items": inner})
    assert error.endswith("within schema.properties[f]")


def test_the_total_of_a_schema_is_limited() -> None:
    items = {"type": "array", "maxItems": 1000, "items": {"type": "string", "maxLength": 200}}
    costly = ruled(items, "self.all(x, x.contains('abcdefghij') && x.contains('abcdefghij'))")
    many = {f"f{at:02d}": {"type": "array", "maxItems": 45, "items": costly} for at in range(14)}
    rules = compile_rules(node_of({"type": "object", "properties": many}), "schema")
    assert isinstance(rules, list)
    part = (
        "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire "
        "OpenAPIv3 schema"
    )
    *parts, total = [str(error) for error in rules]
    assert [one.partition(": ")[2] for one in parts] == [part] * 4
    assert total.startswith(
        "schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire "
        "OpenAPIv3 schema exceeds budget by factor of 1."
    )


def test_all_that_is_wrong_is_told() -> None:
    entries = [{"rule": "self.x"}, {"rule": "self"}]
    assert len(told({**OBJECT, "x-kubernetes-validations": entries})) == 2
