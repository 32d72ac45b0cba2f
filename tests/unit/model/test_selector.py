"""Selectors: what they choose, and how they complain."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.selector import (
    FieldTerm,
    Operator,
    from_document,
    parse_fields,
    parse_labels,
    require,
)

KEY_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

Labels = dict[str, str]

MATCHES: dict[str, tuple[str, Labels, bool]] = {
    "nothing asked matches all": ("", {}, True),
    "blanks ask nothing": (" \t", {"a": "b"}, True),
    "= the value": ("a=b", {"a": "b"}, True),
    "= another value": ("a=b", {"a": "c"}, False),
    "= of an absent label": ("a=b", {}, False),
    "== is =": ("a==b", {"a": "b"}, True),
    "= without a value is the empty one": ("a=", {"a": ""}, True),
    "!= another value": ("a!=b", {"a": "c"}, True),
    "!= the value": ("a!=b", {"a": "b"}, False),
    "!= matches objects without the label": ("a!=b", {}, True),
    "in": ("a in (b, c)", {"a": "c"}, True),
    "in: not among them": ("a in (b,c)", {"a": "d"}, False),
    "in: absent": ("a in (b,c)", {}, False),
    "in an empty set is the empty value": ("a in ()", {"a": ""}, True),
    "in: a missing value is the empty one": ("a in (b,)", {"a": ""}, True),
    "in: a value may be a keyword": ("a in (in,notin)", {"a": "notin"}, True),
    "notin: another": ("a notin (b)", {"a": "c"}, True),
    "notin: one of them": ("a notin (b,c)", {"a": "c"}, False),
    "notin matches objects without the label": ("a notin (b)", {}, True),
    "a key alone: present": ("a", {"a": ""}, True),
    "a key alone: absent": ("a", {"b": ""}, False),
    "!key: absent": ("!a", {"b": ""}, True),
    "!key: present": ("!a", {"a": ""}, False),
    "a keyword may be a key": ("in in (x)", {"in": "x"}, True),
    "> compares numbers": ("a>5", {"a": "10"}, True),
    "> is strict": ("a>5", {"a": "5"}, False),
    "< compares numbers": ("a<5", {"a": "-10"}, True),
    "< of what is no number": ("a<5", {"a": "x"}, False),
    "> of an absent label": ("a>5", {}, False),
    "> of what 64 bits do not hold": ("a>5", {"a": "9223372036854775808"}, False),
    "commas mean and": ("a=b,c", {"a": "b", "c": "d"}, True),
    "all must hold": ("a=b,c", {"a": "b"}, False),
    "the same key twice": ("a!=b,a!=c", {"a": "c"}, False),
    "prefixed keys": ("example.com/a=b", {"example.com/a": "b"}, True),
    "spaces everywhere": (" a = b , c in ( d ) ", {"a": "b", "c": "d"}, True),
}


@pytest.mark.parametrize(("text", "labels", "chosen"), MATCHES.values(), ids=MATCHES)
def test_label_selector(text: str, labels: Labels, chosen: bool) -> None:  # noqa: FBT001 - a column
    assert parse_labels(text).matches(labels) is chosen


REFUSED_LABELS = {
    "an operator first": ("=b", "found '=', expected: !, identifier, or 'end of string'"),
    "a comma at the end": ("a=b,", "found '', expected: identifier after ','"),
    "two commas": ("a,,b", "found ',', expected: identifier after ','"),
    "two values": ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    "a negated key with a value": ("!a=b", "found '=', expected: ',' or 'end of string'"),
    "two keys": (
        "a b",
        "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
    ),
    "a lonely exclamation mark": (
        "!",
        "unable to parse requirement: found '', expected: identifier",
    ),
    "an operator as value": (
        "a=!",
        "unable to parse requirement: found '!', expected: identifier",
    ),
    "a set without parenthesis": ("a in b", "unable to parse requirement: found 'b' expected: '('"),
    "an open set": ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
    "an open set after a comma": (
        "a in (b,",
        "unable to parse requirement: found '', expected: ',', or identifier",
    ),
    "an operator in a set": (
        "a in (=)",
        "unable to parse requirement: found '=', expected: ',', ')' or identifier",
    ),
    "a set without commas": (
        "a in (b c)",
        "unable to parse requirement: found 'c', expected: ',' or ')'",
    ),
    "a malformed key": (
        "-a=b",
        f'unable to parse requirement: <nil>: Invalid value: "-a": {KEY_TEXT}',
    ),
    "a malformed value": (
        "a=-b",
        f'unable to parse requirement: values[0][a]: Invalid value: "-b": {VALUE_TEXT}',
    ),
    "a bound that is no number": (
        "a>b",
        'unable to parse requirement: values[0]: Invalid value: "b": '
        "for 'Gt', 'Lt' operators, the value must be an integer",
    ),
    "a bound that is doubly wrong": (
        "a>-b",
        'unable to parse requirement: [values[0]: Invalid value: "-b": '
        "for 'Gt', 'Lt' operators, the value must be an integer, "
        f'values[0][a]: Invalid value: "-b": {VALUE_TEXT}]',
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED_LABELS.values(), ids=REFUSED_LABELS)
def test_label_selector_refused(text: str, message: str) -> None:
    assert refusal(lambda: parse_labels(text)) == message


def test_requirements_are_sorted_by_key() -> None:
    keys = [requirement.key for requirement in parse_labels("b,a,!c").requirements]
    assert keys == ["a", "b", "c"]


def test_only_a_selector_that_asks_nothing_is_empty() -> None:
    assert parse_labels("").empty
    assert parse_fields("").empty
    assert not parse_labels("a").empty
    assert not parse_fields("a=b").empty


DOCUMENTS: dict[str, tuple[dict[str, Any], Labels, bool]] = {
    "an empty document matches all": ({}, {}, True),
    "nulls are nothing": ({"matchLabels": None, "matchExpressions": None}, {"a": "b"}, True),
    "labels must be equal": ({"matchLabels": {"a": "b"}}, {"a": "b", "c": "d"}, True),
    "all labels": ({"matchLabels": {"a": "b", "c": "x"}}, {"a": "b"}, False),
    "In": (expression := {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
           {"a": "b"}, True),
    "In: absent": (expression, {}, False),
    "NotIn: absent": (
        {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, {}, True,
    ),
    "Exists": ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}, True),
    "DoesNotExist": (
        {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": ""}, False,
    ),
    "labels and expressions together": (
        {"matchLabels": {"c": "d"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]},
        {"c": "d"},
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("document", "labels", "chosen"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_selector_document(document: dict[str, Any], labels: Labels, chosen: bool) -> None:  # noqa: FBT001 - a column
    assert from_document(document).matches(labels) is chosen


def test_many_values_are_not_compared_one_by_one() -> None:
    class Counted(str):
        __slots__ = ()
        times = 0
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Counted.times += 1
            return str.__eq__(self, other)

    chosen = require("a", Operator.IN, tuple(Counted(f"v{number}") for number in range(1000)))
    for _ in range(100):
        assert not chosen.matches({"a": "none of them"})
    assert chosen.matches({"a": "v999"})
    assert Counted.times < 1000


REFUSED_DOCUMENTS = {
    "an unknown operator": (
        {"key": "a", "operator": "Gt", "values": ["1"]},
        '"Gt" is not a valid label selector operator',
    ),
    "In of nothing": (
        {"key": "a", "operator": "In"},
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
    ),
    "Exists with values": (
        {"key": "a", "operator": "Exists", "values": ["b"]},
        'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
    ),
    "a malformed key": (
        {"key": "-a", "operator": "Exists"},
        f'key: Invalid value: "-a": {KEY_TEXT}',
    ),
}


@pytest.mark.parametrize(
    ("expression", "message"), REFUSED_DOCUMENTS.values(), ids=REFUSED_DOCUMENTS
)
def test_selector_document_refused(expression: dict[str, Any], message: str) -> None:
    assert refusal(lambda: from_document({"matchExpressions": [expression]})) == message


@pytest.mark.parametrize("values", [(), ("b", "c")], ids=["none", "two"])
def test_equality_takes_one_value(values: tuple[str, ...]) -> None:
    assert "exact-match compatibility requires one single value" in refusal(
        lambda: require("a", Operator.EQUALS, values)
    )


FIELDS: dict[str, tuple[str, tuple[FieldTerm, ...]]] = {
    "nothing": ("", ()),
    "=": ("metadata.name=a", (FieldTerm("metadata.name", "=", "a"),)),
    "== is =": ("a==b", (FieldTerm("a", "=", "b"),)),
    "!=": ("a!=b", (FieldTerm("a", "!=", "b"),)),
    "an empty value": ("spec.nodeName=", (FieldTerm("spec.nodeName", "=", ""),)),
    "sorted, empty terms dropped": (
        ",b=c,,a=d,",
        (FieldTerm("a", "=", "d"), FieldTerm("b", "=", "c")),
    ),
    "the same term twice": ("a=b,a=b", (FieldTerm("a", "=", "b"), FieldTerm("a", "=", "b"))),
    "escapes": (r"a=b\,c\=d\\", (FieldTerm("a", "=", "b,c=d\\"),)),
    "a bare operator asks nothing": ("=", ()),
}


@pytest.mark.parametrize(("text", "terms"), FIELDS.values(), ids=FIELDS)
def test_field_selector(text: str, terms: tuple[FieldTerm, ...]) -> None:
    assert parse_fields(text).terms == terms


REFUSED_FIELDS = {
    "no operator": ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
    "label grammar": ("a in (b)", "invalid selector: 'a in (b)'; can't understand 'a in (b)'"),
    "a bare = in the value": (
        "a=b=c",
        "invalid field selector: unescaped character in value: 61",
    ),
    "an unknown escape": (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
    "a backslash at the end": ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED_FIELDS.values(), ids=REFUSED_FIELDS)
def test_field_selector_refused(text: str, message: str) -> None:
    assert refusal(lambda: parse_fields(text)) == message


FIELD_MATCHES = {
    "equal": ("a=1", True),
    "not equal": ("a=2", False),
    "unequal": ("a!=2", True),
    "an absent field is empty": ("zz=", True),
    "all must hold": ("a=1,b!=2", False),
}


@pytest.mark.parametrize(("text", "chosen"), FIELD_MATCHES.values(), ids=FIELD_MATCHES)
def test_field_matching(text: str, chosen: bool) -> None:  # noqa: FBT001 - a column
    fields = {"a": "1", "b": "2"}
    assert parse_fields(text).matches(lambda field: fields.get(field, "")) is chosen


@given(st.text(alphabet="ab,=\\!.", max_size=12))
def test_an_escaped_value_comes_back_whole(value: str) -> None:
    escaped = value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
    assert parse_fields(f"f={escaped}").terms == (FieldTerm("f", "=", value),)


label_maps = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "x", "5", "y"]))


@given(st.sampled_from("abc"), st.sampled_from(["x", "5", ""]), label_maps)
def test_an_operator_and_its_opposite_never_agree(key: str, value: str, labels: Labels) -> None:
    def chosen(text: str) -> bool:
        return parse_labels(text).matches(labels)

    assert chosen(f"{key}={value}") != chosen(f"{key}!={value}")
    assert chosen(f"{key} in ({value})") != chosen(f"{key} notin ({value})")
    assert chosen(key) != chosen(f"!{key}")


@given(st.text(alphabet="ab5-/.=!(),<> \tin", max_size=14))
def test_any_text_is_understood_or_refused_with_a_value_error(text: str) -> None:
    with suppress(ValueError):
        parse_labels(text)
    with suppress(ValueError):
        parse_fields(text)


def refusal(attempt: Callable[[], object]) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - callers compare the whole text
        attempt()
    return str(caught.value)
