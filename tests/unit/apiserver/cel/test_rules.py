"""Rules on documents: which run, and the whole text of what they say."""

from typing import Any

import pytest

from mooring.apiserver.cel.rule_check import Findings
from mooring.apiserver.cel.rules import CompiledRules, compile_rules
from mooring.apiserver.structural.parse import node_of

STRING = {"type": "string", "maxLength": 20}
INT = {"type": "integer"}


def rule(text: str, **more: Any) -> dict[str, Any]:
    return {"rule": text, **more}


def ruled(schema: dict[str, Any], *rules: dict[str, Any] | str) -> dict[str, Any]:
    entries = [rule(one) if isinstance(one, str) else one for one in rules]
    return {**schema, "x-kubernetes-validations": entries}


def an_object(*rules: dict[str, Any] | str, **properties: Any) -> dict[str, Any]:
    return ruled({"type": "object", "properties": properties}, *rules)


def a_list(items: dict[str, Any], *rules: dict[str, Any] | str, **more: Any) -> dict[str, Any]:
    return ruled({"type": "array", "items": items, "maxItems": 10, **more}, *rules)


def check(schema: dict[str, Any], doc: Any, old: Any = None, **more: Any) -> Findings:
    rules = compile_rules(node_of(an_object(spec=schema)), "schema")
    assert isinstance(rules, CompiledRules), [str(error) for error in rules]
    before = None if old is None else {"spec": old}
    return rules.check({"spec": doc}, before, **more)


def told(schema: dict[str, Any], doc: Any, old: Any = None) -> list[str]:
    found = check(schema, doc, old)
    assert not found.warnings
    return [str(error) for error in found.errors]


def test_a_rule_that_holds_says_nothing() -> None:
    assert told(ruled(INT, "self > 1"), 2) == []


def test_scalars_are_shown_and_the_rule_is_the_message() -> None:
    assert told(ruled(INT, "self > 1"), 1) == ["spec: Invalid value: 1: failed rule: self > 1"]
    assert told(ruled(STRING, "self == 'a'"), "b") == [
        "spec: Invalid value: \"b\": failed rule: self == 'a'"
    ]


def test_objects_and_lists_are_not_shown() -> None:
    assert told(an_object("has(self.a)", a=STRING), {}) == [
        "spec: Invalid value: failed rule: has(self.a)"
    ]
    assert told(a_list(INT, "size(self) > 1"), [1]) == [
        "spec: Invalid value: failed rule: size(self) > 1"
    ]


def test_at_the_root_the_field_is_nil_and_the_name_is_seen() -> None:
    node = node_of(an_object(rule("self.metadata.name.startsWith('a')", message="no")))
    rules = compile_rules(node, "schema")
    assert isinstance(rules, CompiledRules)
    found = rules.check({"kind": "K", "apiVersion": "v1", "metadata": {"name": "b"}})
    assert [str(error) for error in found.errors] == ["<nil>: Invalid value: no"]


MESSAGES = {
    "the message": ({"message": " told "}, "told"),
    "the message expression first": (
        {"message": "told", "messageExpression": "self == 1 ? 'got one' : 'got none'"},
        "got one",
    ),
    "the message when the expression fails": (
        {"message": "told", "messageExpression": "string(self / 0)"},
        "told",
    ),
    "the message when the expression says nothing": (
        {"message": "told", "messageExpression": "' '"},
        "told",
    ),
    "the message when the expression has lines": (
        {"message": "told", "messageExpression": r"'a\nb'"},
        "told",
    ),
    "the rule when nothing else does": (
        {"messageExpression": "string(self / 0)"},
        "failed rule: self > 1",
    ),
}


@pytest.mark.parametrize(("more", "wanted"), MESSAGES.values(), ids=MESSAGES)
def test_messages(more: dict[str, Any], wanted: str) -> None:
    assert told(ruled(INT, rule("self > 1", **more)), 1) == [f"spec: Invalid value: 1: {wanted}"]


def test_a_message_over_5_kib_is_left_out() -> None:
    text = {"type": "string", "maxLength": 5000}
    long = ruled(text, rule("false", message="told", messageExpression="self + self"))
    assert told(long, "x" * 3000) == [f'spec: Invalid value: "{"x" * 3000}": told']


REASONS = {
    "FieldValueInvalid": ("spec: Invalid value: 1: no", "FieldValueInvalid"),
    "FieldValueForbidden": ("spec: Forbidden: no", "FieldValueForbidden"),
    "FieldValueRequired": ("spec: Required value: no", "FieldValueRequired"),
    "FieldValueDuplicate": ("spec: Duplicate value: 1", "FieldValueDuplicate"),
}


@pytest.mark.parametrize(("reason", "wanted"), REASONS.items(), ids=REASONS)
def test_reasons(reason: str, wanted: tuple[str, str]) -> None:
    found = check(ruled(INT, rule("false", message="no", reason=reason)), 1).errors
    assert [(str(error), error.reason) for error in found] == [wanted]


def test_the_field_path_names_a_field_below() -> None:
    schema = an_object(rule("false", message="no", fieldPath=".a.b"), a=an_object(b=STRING))
    assert told(schema, {}) == ["spec.a.b: Invalid value: no"]
    labels = {"type": "object", "additionalProperties": STRING}
    schema = an_object(rule("false", message="no", fieldPath=".m['x.y']"), m=labels)
    assert told(schema, {}) == ["spec.m[x.y]: Invalid value: no"]


def test_an_absent_or_null_value_is_not_checked() -> None:
    schema = an_object(a=ruled({**STRING, "nullable": True}, "false"))
    assert told(schema, {}) == []
    assert told(schema, {"a": None}) == []


def test_null_items_are_equal_to_nothing_else() -> None:
    nullable = {**STRING, "nullable": True}
    assert told(a_list(nullable, "self[0] != 'a' && !(self[0] == self[1])"), [None, "a"]) == []


def test_null_is_absent_to_has() -> None:
    schema = an_object("!has(self.a)", a={**STRING, "nullable": True})
    assert told(schema, {"a": None}) == []


ERRORS = {
    "an absent field": (
        an_object("self.a == 'x'", a=STRING),
        {},
        "spec: Invalid value: \"object\": no such key: a evaluating rule: self.a == 'x'",
    ),
    "an absent field, with a message": (
        an_object(rule("self.a == 'x'", message="told"), a=STRING),
        {},
        'spec: Invalid value: "object": no such key: a evaluating rule: told',
    ),
    "arithmetic": (
        ruled(INT, "1 / self > 0"),
        0,
        'spec: Invalid value: "integer": division by zero evaluating rule: 1 / self > 0',
    ),
    "an index": (
        a_list(INT, "self[1] > 0"),
        [1],
        'spec: Invalid value: "array": index out of bounds: 1 evaluating rule: self[1] > 0',
    ),
    "a type that only the value tells": (
        ruled({"x-kubernetes-int-or-string": True}, "self > 1"),
        "a",
        "spec: Invalid value: \"\": 'no such overload': call arguments did not match a supported "
        "operator, function or macro signature for rule: self > 1",
    ),
}


@pytest.mark.parametrize(("schema", "doc", "wanted"), ERRORS.values(), ids=ERRORS)
def test_evaluation_errors(schema: dict[str, Any], doc: Any, wanted: str) -> None:
    assert told(schema, doc) == [wanted]


def test_paths_of_items_and_entries() -> None:
    items = a_list(ruled(INT, "self > 1"))
    assert told(an_object(l=items), {"l": [2, 1]}) == [
        "spec.l[1]: Invalid value: 1: failed rule: self > 1"
    ]
    entries = {"type": "object", "additionalProperties": ruled(INT, "self > 1")}
    assert told(an_object(m=entries), {"m": {"a.b": 1}}) == [
        "spec.m[a.b]: Invalid value: 1: failed rule: self > 1"
    ]


IMMUTABLE = rule("self == oldSelf", message="immutable")


def test_transition_rules_run_only_where_there_was_a_value() -> None:
    schema = an_object(a=ruled(STRING, IMMUTABLE))
    assert told(schema, {"a": "x"}) == []
    assert told(schema, {"a": "x"}, {}) == []
    assert told(schema, {}, {"a": "x"}) == []
    assert told(schema, {"a": "x"}, {"a": "x"}) == []
    assert told(schema, {"a": "y"}, {"a": "x"}) == ['spec.a: Invalid value: "y": immutable']


def test_a_rule_on_the_parent_sees_a_removal() -> None:
    schema = an_object(rule("!has(oldSelf.a) || has(self.a)", message="stays"), a=STRING)
    assert told(schema, {}, {"a": "x"}) == ["spec: Invalid value: stays"]
    assert told(schema, {"a": "y"}, {"a": "x"}) == []


def test_items_of_a_map_list_are_compared_with_those_of_their_key() -> None:
    item = an_object(name=STRING, v=ruled(INT, IMMUTABLE))
    item["required"] = ["name"]
    typed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    schema = a_list(item, **typed)
    old = [{"name": "a", "v": 1}, {"name": "b", "v": 2}]
    assert told(schema, [{"name": "b", "v": 2}, {"name": "a", "v": 1}], old) == []
    assert told(schema, [{"name": "b", "v": 1}, {"name": "c", "v": 1}], old) == [
        "spec[0].v: Invalid value: 1: immutable"
    ]


def test_entries_of_a_map_are_compared_by_key() -> None:
    schema = {"type": "object", "additionalProperties": ruled(INT, IMMUTABLE)}
    assert told(schema, {"a": 2, "b": 1}, {"a": 1}) == ["spec[a]: Invalid value: 2: immutable"]


def test_an_optional_old_value_lets_the_rule_run_always() -> None:
    text = "oldSelf.hasValue() ? self >= oldSelf.value() : self == 0"
    schema = ruled(INT, rule(text, message="no", optionalOldSelf=True))
    assert told(schema, 0) == []
    assert told(schema, 1) == ["spec: Invalid value: 1: no"]
    assert told(schema, 1, 1) == []
    assert told(schema, 1, 2) == ["spec: Invalid value: 1: no"]


EQUAL = {
    "items of a set may move": ({"x-kubernetes-list-type": "set"}, INT, [1, 2], [2, 1], True),
    "a set with another item": ({"x-kubernetes-list-type": "set"}, INT, [1, 2], [1, 3], False),
    "items of an atomic list may not": ({}, INT, [1, 2], [2, 1], False),
    "items of a map list may": (
        {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
        an_object(k=STRING, v=INT),
        [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
        [{"k": "b", "v": 2}, {"k": "a", "v": 1}],
        True,
    ),
    "their values may not": (
        {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
        an_object(k=STRING, v=INT),
        [{"k": "a", "v": 1}],
        [{"k": "a", "v": 2}],
        False,
    ),
}


@pytest.mark.parametrize(("kind", "items", "new", "old", "same"), EQUAL.values(), ids=EQUAL)
def test_equality_of_lists(
    kind: dict[str, Any], items: dict[str, Any], new: Any, old: Any, *, same: bool
) -> None:
    assert told(a_list(items, rule("self == oldSelf", message="no"), **kind), new, old) == (
        [] if same else ["spec: Invalid value: no"]
    )


def test_sums_of_sets_and_map_lists_have_no_twins() -> None:
    a_set = a_list(INT, "self + [1, 9] == [1, 2, 9]", **{"x-kubernetes-list-type": "set"})
    assert told(a_set, [1, 2]) == []
    kind = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    schema = a_list(an_object(k=STRING, v=INT), "size(self + oldSelf) == 2", **kind)
    assert told(schema, [{"k": "a", "v": 1}], [{"k": "a", "v": 2}, {"k": "b", "v": 1}]) == []


PUBLISHED = {
    "exactly one of two": (
        an_object("has(self.a) != has(self.b)", a=STRING, b=STRING),
        {"a": "x", "b": "y"},
        None,
    ),
    "a reserved word": (
        an_object("self.__namespace__ == 'x'", namespace=STRING),
        {"namespace": "y"},
        None,
    ),
    "keys of a map": (
        ruled(
            {"type": "object", "additionalProperties": STRING, "maxProperties": 5},
            "self.all(k, k.matches('^[a-z]+$'))",
        ),
        {"A": "x"},
        None,
    ),
    "a sum of conditions": (
        an_object(
            "(has(self.a) ? 1 : 0) + (has(self.b) ? 1 : 0) == 1",
            a=STRING,
            b=STRING,
        ),
        {},
        None,
    ),
    "a number that only grows": (ruled(INT, "self >= oldSelf"), 1, 2),
    "zero may change": (ruled(INT, "oldSelf == 0 || self == oldSelf"), 1, 2),
}


@pytest.mark.parametrize(("schema", "doc", "old"), PUBLISHED.values(), ids=PUBLISHED)
def test_rules_of_published_definitions_fail(schema: dict[str, Any], doc: Any, old: Any) -> None:
    [error] = told(schema, doc, old)
    assert "failed rule" in error


def test_a_rule_that_fails_on_what_did_not_change_is_a_warning() -> None:
    schema = an_object(a=ruled(INT, "self > 1"), b=INT)
    found = check(schema, {"a": 1, "b": 2}, {"a": 1, "b": 1})
    assert found.errors == []
    assert [str(one) for one in found.warnings] == [
        "spec.a: Invalid value: 1: failed rule: self > 1"
    ]


def test_below_an_atomic_list_the_whole_list_counts() -> None:
    schema = an_object(l=a_list(ruled(INT, "self > 1")))
    assert check(schema, {"l": [1, 2]}, {"l": [1, 2]}).errors == []
    assert len(check(schema, {"l": [1, 3]}, {"l": [1, 2]}).errors) == 1


def test_a_transition_rule_is_never_a_warning() -> None:
    found = check(ruled(INT, rule("self > oldSelf", message="no")), 1, 1)
    assert [str(error) for error in found.errors] == ["spec: Invalid value: 1: no"]
    assert found.warnings == []


def test_the_budget_of_an_object_ends_the_check() -> None:
    schema = an_object(a=ruled(INT, "self > 1"), b=ruled(INT, "self > 1"))
    found = check(schema, {"a": 1, "b": 1}, budget=3)
    assert [str(error) for error in found.errors] == [
        "spec.a: Invalid value: 1: failed rule: self > 1",
        'spec.b: Invalid value: "integer": validation failed due to running out of cost budget, '
        "no further validation rules will be run",
    ]


def test_the_budget_of_a_rule_ends_the_check() -> None:
    text = "[1,2,3,4,5,6,7,8,9].all(a, " * 6 + "true" + ")" * 6
    schema = an_object(rule(text, message="too much"))
    found = check(schema, {})
    assert [str(error) for error in found.errors] == [
        "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no "
        "further validation rules will be run due to call cost exceeds limit for rule: too much"
    ]


def test_an_old_object_of_another_shape_is_an_error_not_a_crash() -> None:
    schema = an_object(a=ruled(INT, rule("self > oldSelf", message="no")))
    assert told(schema, {"a": 2}, {"a": "x"}) == [
        "spec.a: Invalid value: \"integer\": 'no such overload': call arguments did not match a "
        "supported operator, function or macro signature for rule: no"
    ]
